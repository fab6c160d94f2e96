// Chance under a printed seed, for simulations.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

#include "common/base/seed.h"

namespace noisefloor::test {

class Chance {
 public:
  explicit Chance(uint64_t seed) : seed_(seed) {}

  uint64_t Below(uint64_t bound) { return Mix(seed_ + ++draws_ * 0x632BE59BD9B4E019ull) % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // In whole milliseconds, less than `bound`.
  absl::Duration Before(absl::Duration bound) {
    return absl::Milliseconds(Below(static_cast<uint64_t>(absl::ToInt64Milliseconds(bound))));
  }

 private:
  uint64_t seed_;
  uint64_t draws_ = 0;
};

}  // namespace noisefloor::test
