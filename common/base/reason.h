// Why something was refused, for programs: a word that stays, beside the code that says what to do
// and the message for people. They travel in google.rpc.ErrorInfo; proto/README.md has the table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

enum class Reason : uint8_t {
  kAlreadyThere,
  kArtifactNotFound,
  kBadSweep,
  kCancelled,
  kDataDamaged,
  kDeadlinePassed,
  kInternal,
  kInvalidRequest,
  kLeaseNotLive,
  kLimitReached,
  kMemberNotFound,
  kNotFound,
  kReplaced,
  kRequestIdTaken,
  kRoleTooLow,
  kStackNotOffered,
  kStorageFull,
  kSweepNotFound,
  kTokenRefused,
  kTooBusy,
  kUnavailable,
  kWorkerNotFound,
  kWrongState,
};
inline constexpr int kReasonCount = static_cast<int>(Reason::kWrongState) + 1;

// "SWEEP_NOT_FOUND". It never changes.
std::string_view Name(Reason reason);
std::optional<Reason> ParseReason(std::string_view name);

// What a refusal is about: "sweep" -> "s3".
using ReasonMetadata = std::map<std::string, std::string>;
struct WhyRefused {
  Reason reason = Reason::kInternal;
  ReasonMetadata metadata;
};

// The same status with its reason. `status` is not OK.
absl::Status Because(absl::Status status, Reason reason, const ReasonMetadata& metadata = {});
// Likewise for a status of that code that has no reason yet; any other comes back as it is.
absl::Status BecauseIf(absl::StatusCode code, absl::Status status, Reason reason,
                       const ReasonMetadata& metadata = {});
// What Because put in; else what a refusal of its code stands for. `status` is not OK.
WhyRefused WhyOf(const absl::Status& status);

}  // namespace noisefloor
