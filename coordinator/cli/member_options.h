// The options that choose members of a sweep, of every command that takes some of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"

#include "common/base/status.h"
#include "coordinator/cli/connection.h"

namespace noisefloor::cli {

// Lives as long as the app that it describes its options to.
class MemberOptions {
 public:
  // `states`: those that the command has a use for, as people see them.
  void Describe(CLI::App& app, const std::vector<std::string>& states);
  // Without states, classes and stacks: of a command to which --hardware and --stack say where.
  // "--trained-on" says which class the members are of.
  void DescribeTrained(CLI::App& app);
  bool empty() const;  // None was given: all members are meant.
  // FailedPrecondition when some were given and the coordinator knows of none: it would take all.
  absl::Status CheckIsUnderstood(Connection& connection) const;
  // Of the sweep. InvalidArgument names a member that is none of it.
  absl::StatusOr<v1::MemberSelection> Selection(uint64_t sweep) const;

 private:
  void DescribeRest(CLI::App& app);

  std::vector<std::string> states_;
  std::vector<std::string> plans_;
  std::vector<std::string> hardware_;
  std::vector<std::string> stacks_;
  std::vector<uint32_t> cells_;
  std::vector<std::string> members_;
  std::vector<std::string> workers_;
  std::vector<std::string> axes_;
};

}  // namespace noisefloor::cli
