// How many jobs a cluster takes in one array, found by trying: sites bound arrays and what a person
// may have in the queue, and say nothing of it before.
#pragma once

#include <cstdint>

namespace noisefloor::fleet {

class ArraySize {
 public:
  // The most to ask for, never above `most`.
  uint32_t Next(uint32_t most) const;
  void Take(uint32_t count);    // So many were taken together,
  void Refuse(uint32_t count);  // so many, at least two, were not.

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t taken_ = 1;
  uint32_t refused_ = kNone;  // The fewest; more than were taken.
};

}  // namespace noisefloor::fleet
