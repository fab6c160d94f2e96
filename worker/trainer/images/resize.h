// Pictures of any size as squares of one size. Normative; integers only, so that every bit is the
// same on every machine (tests/worker/trainer/images/resize_twin.py is a twin).
//
// Of a picture the centre square is taken: side n = min(width, height), its left edge at
// (width - n) / 2 and its top edge at (height - n) / 2, both rounded down. Along each of its two
// axes value i of the S that are wanted weighs the n that are there by whole numbers w(i, j) whose
// sum over j is D:
//   n >= S   how much of [i n, (i + 1) n) lies within [j S, (j + 1) S); D = n. (The mean of the
//   area.) n <  S   with p = (2 i + 1) n - S, at least 0 and at most 2 S (n - 1), and q = p / (2 S)
//   rounded
//            down: w(i, q) = 2 S (q + 1) - p, and the rest of D = 2 S at q + 1. (Bilinear.)
// The value at row y and column x is (sum of w(y, j) w(x, k) v(j, k) + D D / 2) / (D D), both
// divisions rounded down: one rounding in all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/trainer/images/picture.h"

namespace noisefloor::trainer {

// Not thread-safe: it keeps memory between pictures.
class Resizer {
 public:
  explicit Resizer(int64_t side) : side_(side) {}

  // Fills {3, side, side} bytes: the red, the green and the blue plane.
  void Resize(const Picture& picture, std::span<uint8_t> planes);

 private:
  struct Tap {
    int64_t first = 0;  // The first value that weighs anything.
    size_t weight = 0;  // Place of its weight; the others follow.
    int64_t count = 0;
  };
  void PlanFor(int64_t length);
  // Both of the centre square, whose first value is at `corner`; rows are `stride` bytes apart.
  void Down(const uint8_t* corner, int64_t stride, const Tap& tap);
  template <typename Sum>  // Holds 256 D D.
  void Rows(const uint8_t* corner, int64_t stride, std::span<uint8_t> planes);
  template <typename Sum>
  void Across(std::vector<Sum>& sums) const;  // {3, side}

  const int64_t side_;
  int64_t planned_ = 0;  // Length that the taps are for.
  int64_t divisor_ = 1;  // D.
  std::vector<Tap> taps_;
  std::vector<uint16_t> weights_;
  std::vector<uint32_t> down_;  // A row of what is wanted, not yet weighed across: {length, 3}.
};

}  // namespace noisefloor::trainer
