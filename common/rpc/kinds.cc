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

v1::MemberState ToProto(MemberState state) {
  switch (state) {
    case MemberState::kWaiting: return v1::MEMBER_STATE_WAITING;
    case MemberState::kLeased: return v1::MEMBER_STATE_LEASED;
    case MemberState::kDone: return v1::MEMBER_STATE_DONE;
    case MemberState::kDiverged: return v1::MEMBER_STATE_DIVERGED;
    case MemberState::kFailed: return v1::MEMBER_STATE_FAILED;
    case MemberState::kCancelled: return v1::MEMBER_STATE_CANCELLED;
  }
  return v1::MEMBER_STATE_UNSPECIFIED;
}

std::optional<MemberState> MemberStateFrom(v1::MemberState state) {
  switch (state) {
    case v1::MEMBER_STATE_WAITING: return MemberState::kWaiting;
    case v1::MEMBER_STATE_LEASED: return MemberState::kLeased;
    case v1::MEMBER_STATE_DONE: return MemberState::kDone;
    case v1::MEMBER_STATE_DIVERGED: return MemberState::kDiverged;
    case v1::MEMBER_STATE_FAILED: return MemberState::kFailed;
    case v1::MEMBER_STATE_CANCELLED: return MemberState::kCancelled;
    default: return std::nullopt;
  }
}

v1::Outcome::Kind ToProto(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::kDone: return v1::Outcome::KIND_DONE;
    case Outcome::Kind::kDiverged: return v1::Outcome::KIND_DIVERGED;
    case Outcome::Kind::kFailed: return v1::Outcome::KIND_FAILED;
  }
  return v1::Outcome::KIND_UNSPECIFIED;
}

std::optional<Outcome::Kind> OutcomeKindFrom(v1::Outcome::Kind kind) {
  switch (kind) {
    case v1::Outcome::KIND_DONE: return Outcome::Kind::kDone;
    case v1::Outcome::KIND_DIVERGED: return Outcome::Kind::kDiverged;
    case v1::Outcome::KIND_FAILED: return Outcome::Kind::kFailed;
    default: return std::nullopt;
  }
}

}  // namespace noisefloor
