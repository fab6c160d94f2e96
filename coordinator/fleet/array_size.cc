#include "coordinator/fleet/array_size.h"

#include <algorithm>

namespace noisefloor::fleet {

uint32_t ArraySize::Next(uint32_t most) const {
  if (refused_ == kNone) return most;
  return std::min(most, taken_ + (refused_ - taken_) / 2);
}

void ArraySize::Take(uint32_t count) {
  taken_ = std::max(taken_, count);
  if (taken_ >= refused_) refused_ = kNone;
}

// What was taken once may be too many now: others have come into the queue.
void ArraySize::Refuse(uint32_t count) {
  refused_ = std::min(refused_, count);
  if (taken_ >= refused_) taken_ = 1;
}

}  // namespace noisefloor::fleet
