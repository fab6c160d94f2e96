// Streamed answers: artifacts of members and studies of sweeps.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "coordinator/cli/connection.h"

namespace noisefloor::cli {

// Does not wait for a person: the coordinator ends a stream of which a piece is not taken within a
// minute, so that what may go to a pager is printed when all has come.
using TakePiece = std::function<absl::Status(std::string_view piece)>;

// "s1c2r0" or InvalidArgument.
absl::Status CheckMember(const std::string& text);

absl::Status GetArtifact(Connection& connection, const std::string& member, const std::string& kind,
                         const TakePiece& take);
// Into a file that is whole or absent. DataLoss when the content's SHA-256 is not `sha256` (empty:
// not checked).
absl::Status WriteArtifact(Connection& connection, const std::string& member,
                           const std::string& kind, const std::string& sha256,
                           const std::string& path);

// On context.out; tables with the colours and in the width of the terminal it is.
absl::Status PrintStudy(Connection& connection, const Context& context, uint64_t sweep,
                        v1::GetStudyRequest::Form form);
absl::StatusOr<std::string> ReadStudy(Connection& connection, uint64_t sweep,
                                      v1::GetStudyRequest::Form form);
// InvalidArgument: a study is never written there, as it is a folder, a device or a pipe.
absl::Status CheckStudyPath(const std::string& path);
// Into a file that is whole or absent, never a device or a pipe; makes its folder.
absl::Status WriteStudyText(const std::string& path, std::string_view text);
absl::Status WriteStudy(Connection& connection, uint64_t sweep, v1::GetStudyRequest::Form form,
                        const std::string& path);
// The page; false, with a note on context.err, when the coordinator was built without one.
absl::StatusOr<bool> WritePage(Connection& connection, const Context& context, uint64_t sweep,
                               const std::string& path);

}  // namespace noisefloor::cli
