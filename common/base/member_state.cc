#include "common/base/member_state.h"

namespace noisefloor {

std::string_view Name(MemberState state) {
  switch (state) {
    case MemberState::kWaiting: return "waiting";
    case MemberState::kLeased: return "leased";
    case MemberState::kDone: return "done";
    case MemberState::kDiverged: return "diverged";
    case MemberState::kFailed: return "failed";
    case MemberState::kCancelled: return "cancelled";
  }
  return "corrupt";
}

std::optional<MemberState> ParseMemberState(std::string_view name) {
  for (const MemberState state : kAllMemberStates) {
    if (Name(state) == name) return state;
  }
  return std::nullopt;
}

bool HasEnded(MemberState state) {
  return state != MemberState::kWaiting && state != MemberState::kLeased;
}

bool HasResult(MemberState state) {
  return state == MemberState::kDone || state == MemberState::kDiverged;
}

}  // namespace noisefloor
