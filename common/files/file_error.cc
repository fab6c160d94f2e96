#include "common/files/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace noisefloor {

namespace {

absl::StatusCode CodeOf(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS: return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE: return absl::StatusCode::kResourceExhausted;
    case EISDIR:
    case ENAMETOOLONG:
    case EEXIST: return absl::StatusCode::kFailedPrecondition;
    default: return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

absl::Status FileError(const std::string& path, std::string_view action, int error_number) {
  return MakeError(CodeOf(error_number),
                   fmt::format("{}: cannot {}: {}", path, action,
                               std::generic_category().message(error_number)));
}

}  // namespace noisefloor
