// How many members of a sweep have ended lately.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace noisefloor::scheduler {

// Counts by the minute over the last ten. Not thread-safe.
class Rate {
 public:
  // Something runs from now on, unless it did before.
  void Begin(absl::Time now);
  void Note(absl::Time now);
  // By the hour, over the last ten minutes or since it began, if that is later, but over a minute
  // at least; 0: none.
  double PerHour(absl::Time now) const;

  friend bool operator==(const Rate&, const Rate&) = default;

 private:
  static constexpr int64_t kMinutes = 10;

  std::optional<absl::Time> began_;
  int64_t minute_ = 0;                       // Of the newest count, since 1970.
  std::array<uint32_t, kMinutes> counts_{};  // By minute modulo kMinutes.
};

}  // namespace noisefloor::scheduler
