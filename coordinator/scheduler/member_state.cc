#include "coordinator/scheduler/member_state.h"

#include <array>

namespace noisefloor::scheduler {

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
  constexpr std::array kAll = {MemberState::kWaiting, MemberState::kLeased,
                               MemberState::kDone,    MemberState::kDiverged,
                               MemberState::kFailed,  MemberState::kCancelled};
  for (const MemberState state : kAll) {
    if (Name(state) == name) return state;
  }
  return std::nullopt;
}

bool HasEnded(MemberState state) {
  return state != MemberState::kWaiting && state != MemberState::kLeased;
}

}  // namespace noisefloor::scheduler
