#include "common/rpc/status.h"

#include <string>

#include "absl/strings/cord.h"
#include "fmt/format.h"

namespace noisefloor {

namespace {

// Debian's Abseil has a string_view of its own.
absl::string_view PayloadName() { return "noisefloor.v1.BadSweep"; }

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto payload = status.GetPayload(PayloadName());
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), Message(status),
                      payload ? std::string(*payload) : std::string());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result =
      MakeError(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  const bool may_be_bad_sweep = status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  if (may_be_bad_sweep && !status.error_details().empty()) {
    result.SetPayload(PayloadName(), absl::Cord(status.error_details()));
  }
  return result;
}

absl::Status BadSweepError(const v1::BadSweep& bad_sweep) {
  std::string message = "the sweep is refused";
  if (bad_sweep.violations_size() > 0) {
    const v1::FieldViolation& first = bad_sweep.violations(0);
    message = fmt::format("{}: {}", first.field(), first.description());
  }
  if (bad_sweep.violations_size() > 1) {
    message += fmt::format(" (and {} more)", bad_sweep.violations_size() - 1);
  }
  absl::Status status = InvalidInput(message);
  status.SetPayload(PayloadName(), absl::Cord(bad_sweep.SerializeAsString()));
  return status;
}

std::optional<v1::BadSweep> BadSweepOf(const absl::Status& status) {
  const auto payload = status.GetPayload(PayloadName());
  v1::BadSweep bad_sweep;
  if (!payload || !bad_sweep.ParseFromString(std::string(*payload))) return std::nullopt;
  return bad_sweep;
}

}  // namespace noisefloor
