// Where a member is in its life.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace noisefloor::scheduler {

enum class MemberState : uint8_t {  // The numbers are in the store.
  kWaiting = 1,
  kLeased = 2,
  kDone = 3,
  kDiverged = 4,
  kFailed = 5,
  kCancelled = 6,
};
std::string_view Name(MemberState state);  // "waiting"
std::optional<MemberState> ParseMemberState(std::string_view name);
bool HasEnded(MemberState state);  // Neither waiting nor leased.

}  // namespace noisefloor::scheduler
