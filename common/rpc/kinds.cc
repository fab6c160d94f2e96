#include "common/rpc/kinds.h"

namespace noisefloor {

v1::SourceState ToProto(SourceState state) {
  switch (state) {
    case SourceState::kOff: return v1::SOURCE_STATE_OFF;
    case SourceState::kFixed: return v1::SOURCE_STATE_FIXED;
    case SourceState::kFree: return v1::SOURCE_STATE_FREE;
  }
  return v1::SOURCE_STATE_UNSPECIFIED;
}

std::optional<SourceState> SourceStateFrom(v1::SourceState state) {
  switch (state) {
    case v1::SOURCE_STATE_OFF: return SourceState::kOff;
    case v1::SOURCE_STATE_FIXED: return SourceState::kFixed;
    case v1::SOURCE_STATE_FREE: return SourceState::kFree;
    default: return std::nullopt;
  }
}

v1::Outcome::Kind ToProto(OutcomeEvent::Kind kind) {
  switch (kind) {
    case OutcomeEvent::Kind::kDone: return v1::Outcome::KIND_DONE;
    case OutcomeEvent::Kind::kDiverged: return v1::Outcome::KIND_DIVERGED;
    case OutcomeEvent::Kind::kFailed: return v1::Outcome::KIND_FAILED;
  }
  return v1::Outcome::KIND_UNSPECIFIED;
}

std::optional<OutcomeEvent::Kind> OutcomeKindFrom(v1::Outcome::Kind kind) {
  switch (kind) {
    case v1::Outcome::KIND_DONE: return OutcomeEvent::Kind::kDone;
    case v1::Outcome::KIND_DIVERGED: return OutcomeEvent::Kind::kDiverged;
    case v1::Outcome::KIND_FAILED: return OutcomeEvent::Kind::kFailed;
    default: return std::nullopt;
  }
}

}  // namespace noisefloor
