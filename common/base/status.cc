#include "common/base/status.h"

namespace noisefloor {

namespace {
absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }
}  // namespace

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  std::string message(context);
  message.append(": ").append(Message(status));
  return MakeError(status.code(), message);
}

absl::Status MakeError(absl::StatusCode code, std::string_view message) {
  return absl::Status(code, View(message));
}

absl::Status InvalidInput(std::string_view message) {
  return MakeError(absl::StatusCode::kInvalidArgument, message);
}

std::string Message(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace noisefloor
