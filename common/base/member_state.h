// Where a member is in its life.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace noisefloor {

enum class MemberState : uint8_t {
  kWaiting = 1,
  kLeased = 2,
  kDone = 3,
  kDiverged = 4,
  kFailed = 5,
  kCancelled = 6,
};
inline constexpr std::array kAllMemberStates = {MemberState::kWaiting, MemberState::kLeased,
                                                MemberState::kDone,    MemberState::kDiverged,
                                                MemberState::kFailed,  MemberState::kCancelled};
std::string_view Name(MemberState state);  // "waiting"
std::optional<MemberState> ParseMemberState(std::string_view name);
bool HasEnded(MemberState state);   // Neither waiting nor leased.
bool HasResult(MemberState state);  // Done or diverged: it was trained to an end.

}  // namespace noisefloor
