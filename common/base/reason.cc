#include "common/base/reason.h"

#include <utility>

#include "absl/strings/cord.h"

namespace noisefloor {

namespace {

constexpr char kPayload[] = "noisefloor/reason";
constexpr char kBetween = '\0';  // Names, keys and values: none holds one.

Reason ReasonOfCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange: return Reason::kInvalidRequest;
    case absl::StatusCode::kNotFound: return Reason::kNotFound;
    case absl::StatusCode::kAlreadyExists: return Reason::kAlreadyThere;
    case absl::StatusCode::kFailedPrecondition: return Reason::kWrongState;
    case absl::StatusCode::kResourceExhausted: return Reason::kLimitReached;
    case absl::StatusCode::kUnavailable: return Reason::kUnavailable;
    case absl::StatusCode::kPermissionDenied: return Reason::kRoleTooLow;
    case absl::StatusCode::kUnauthenticated: return Reason::kTokenRefused;
    case absl::StatusCode::kDataLoss: return Reason::kDataDamaged;
    case absl::StatusCode::kAborted: return Reason::kReplaced;
    case absl::StatusCode::kCancelled: return Reason::kCancelled;
    case absl::StatusCode::kDeadlineExceeded: return Reason::kDeadlinePassed;
    default: return Reason::kInternal;  // What follows is a mistake of ours.
  }
}

std::string WithoutBetween(std::string text) {
  std::erase(text, kBetween);
  return text;
}

std::string Encode(Reason reason, const ReasonMetadata& metadata) {
  std::string text(Name(reason));
  for (const auto& [key, value] : metadata) {
    text += kBetween + WithoutBetween(key) + kBetween + WithoutBetween(value);
  }
  return text;
}

// The text up to the next separator; takes both away.
std::string Take(std::string_view& text) {
  const size_t end = text.find(kBetween);
  std::string part(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

}  // namespace

std::string_view Name(Reason reason) {
  switch (reason) {
    case Reason::kAlreadyThere: return "ALREADY_THERE";
    case Reason::kArtifactNotFound: return "ARTIFACT_NOT_FOUND";
    case Reason::kBadSweep: return "BAD_SWEEP";
    case Reason::kCancelled: return "CANCELLED";
    case Reason::kDataDamaged: return "DATA_DAMAGED";
    case Reason::kDeadlinePassed: return "DEADLINE_PASSED";
    case Reason::kInternal: return "INTERNAL";
    case Reason::kInvalidRequest: return "INVALID_REQUEST";
    case Reason::kLeaseNotLive: return "LEASE_NOT_LIVE";
    case Reason::kLimitReached: return "LIMIT_REACHED";
    case Reason::kMemberNotFound: return "MEMBER_NOT_FOUND";
    case Reason::kNotFound: return "NOT_FOUND";
    case Reason::kReplaced: return "REPLACED";
    case Reason::kRequestIdTaken: return "REQUEST_ID_TAKEN";
    case Reason::kRoleTooLow: return "ROLE_TOO_LOW";
    case Reason::kStackNotOffered: return "STACK_NOT_OFFERED";
    case Reason::kStorageFull: return "STORAGE_FULL";
    case Reason::kSweepNotFound: return "SWEEP_NOT_FOUND";
    case Reason::kTokenRefused: return "TOKEN_REFUSED";
    case Reason::kTooBusy: return "TOO_BUSY";
    case Reason::kUnavailable: return "UNAVAILABLE";
    case Reason::kWorkerNotFound: return "WORKER_NOT_FOUND";
    case Reason::kWrongState: return "WRONG_STATE";
  }
  return "INTERNAL";
}

std::optional<Reason> ParseReason(std::string_view name) {
  for (int i = 0; i < kReasonCount; ++i) {
    if (Name(static_cast<Reason>(i)) == name) return static_cast<Reason>(i);
  }
  return std::nullopt;
}

absl::Status Because(absl::Status status, Reason reason, const ReasonMetadata& metadata) {
  status.SetPayload(kPayload, absl::Cord(Encode(reason, metadata)));
  return status;
}

absl::Status BecauseIf(absl::StatusCode code, absl::Status status, Reason reason,
                       const ReasonMetadata& metadata) {
  const bool is_it = status.code() == code && !status.GetPayload(kPayload).has_value();
  return is_it ? Because(std::move(status), reason, metadata) : status;
}

WhyRefused WhyOf(const absl::Status& status) {
  WhyRefused why{ReasonOfCode(status.code()), {}};
  const auto payload = status.GetPayload(kPayload);
  if (!payload) return why;
  const std::string text(*payload);
  std::string_view left = text;
  why.reason = ParseReason(Take(left)).value_or(why.reason);
  while (!left.empty()) {
    std::string key = Take(left);
    why.metadata[std::move(key)] = Take(left);
  }
  return why;
}

}  // namespace noisefloor
