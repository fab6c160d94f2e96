// Small helpers for reading rows.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/member_state.h"
#include "common/base/status.h"
#include "common/trainer_protocol/setting.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::query {

// Why members of a sweep failed that were never tried: no worker has their data
// (scheduler/time.cc).
inline constexpr char kFailedTogether[] =
    "SELECT text FROM event WHERE sweep = ? AND kind = 'members_failed' ORDER BY event DESC LIMIT "
    "1";

// The number that `text` is in decimal; 0 when it is none.
inline uint64_t UnsignedOf(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Whether the setting is what a sweep gets that does not state it. Of a trainer's own settings none
// is: only its schema knows.
bool IsDefault(const sweep::Sweep& sweep, const sweep::Setting& setting);

// The state of a member as the store writes it. DataLoss for another text.
absl::StatusOr<MemberState> StateOf(const MemberId& member, std::string_view stored);

// A JSON object {path: value} as settings; empty for a text that is none.
Settings SettingsIn(std::string_view json);

// A JSON list of numbers, of which some may be "nan", "inf" or "-inf"; empty for a text that is
// none.
std::vector<double> NumbersIn(std::string_view json);

}  // namespace noisefloor::query
