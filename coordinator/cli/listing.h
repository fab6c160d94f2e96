// Lists, whole: page tokens are followed to the end.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/cli/connection.h"

namespace noisefloor::cli {

// `storage_problem`: why the coordinator can keep nothing at present, or empty; may be null.
absl::StatusOr<std::vector<v1::SweepSummary>> ListSweeps(Connection& connection,
                                                         std::string* storage_problem = nullptr);
// Sweep 0: the newest. Unspecified state: all.
absl::StatusOr<std::vector<v1::Member>> ListMembers(Connection& connection, uint64_t sweep,
                                                    v1::MemberState state);
absl::StatusOr<v1::Member> GetMember(Connection& connection, const std::string& member);

// Lists leave out what is long: gives each member that has ended its environment and artifacts.
absl::Status AddDetails(Connection& connection, std::vector<v1::Member>& members);

}  // namespace noisefloor::cli
