#include "coordinator/analysis/rotations.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/philox.h"

namespace noisefloor::analysis {

int64_t DigitsFor(int64_t sides, int64_t elements) {
  int64_t digits = 0;
  for (int64_t count = 1; count < elements; count *= sides) ++digits;
  return digits;
}

RotationSums::RotationSums(int64_t sides, int64_t digits) : sides_(sides), digits_(digits) {
  for (int64_t digit = 0; digit < digits; ++digit) elements_ *= sides;
  sums_.assign(static_cast<size_t>(elements_ * sides), 0);
}

size_t RotationSums::AddReplicate() {
  std::vector<int64_t> vector(static_cast<size_t>(digits_), 0);
  if (vectors_.empty()) {
    // As it is: only what is between replicates counts.
  } else if (units_ < digits_) {
    vector[static_cast<size_t>(units_++)] = 1;
  } else {
    static const PhiloxStream stream(0, StreamOf("rotations of sides"));
    for (int64_t& digit : vector) {
      const PhiloxCounter words = stream.Block(drawn_++);
      digit = static_cast<int64_t>(
          UniformBelow(uint64_t{words[0]} << 32 | words[1], static_cast<uint64_t>(sides_)));
    }
  }
  vectors_.push_back(std::move(vector));
  return vectors_.size() - 1;
}

void RotationSums::AddPair(size_t earlier, size_t later, std::span<const int64_t> of_turn) {
  NF_CHECK(of_turn.size() == static_cast<size_t>(sides_));
  const std::vector<int64_t>& a = vectors_[earlier];
  const std::vector<int64_t>& b = vectors_[later];
  int64_t between = 0;
  for (size_t digit = a.size(); digit-- > 0;) {
    between = between * sides_ + (a[digit] - b[digit] + sides_) % sides_;
  }
  int64_t* const at = sums_.data() + between * sides_;
  for (size_t t = 0; t < of_turn.size(); ++t) at[t] += of_turn[t];
}

// With F_u what the pairs add whose vectors are u apart, an element b has the sum over u of
// F_u(<b, u>). Digit by digit: sums[.. b_i ..][t] = sum over u_i of sums[.. u_i ..][t + b_i u_i].
std::vector<int64_t> RotationSums::Take() {
  const int64_t fibre = sides_ * sides_;
  std::vector<int64_t> was(static_cast<size_t>(fibre));
  for (int64_t stride = 1; stride < elements_; stride *= sides_) {
    for (int64_t first = 0; first < elements_; ++first) {
      if (first / stride % sides_ != 0) continue;
      const auto at = [&](int64_t digit) {
        return sums_.data() + (first + digit * stride) * sides_;
      };
      for (int64_t u = 0; u < sides_; ++u) std::copy_n(at(u), sides_, was.data() + u * sides_);
      for (int64_t b = 0; b < sides_; ++b) {
        for (int64_t t = 0; t < sides_; ++t) {
          int64_t sum = 0;
          int64_t turned = t;  // t + b * u, modulo the sides.
          for (int64_t u = 0; u < sides_; ++u) {
            sum += was[static_cast<size_t>(u * sides_ + turned)];
            turned += b;
            if (turned >= sides_) turned -= sides_;
          }
          at(b)[t] = sum;
        }
      }
    }
  }
  std::vector<int64_t> sums(static_cast<size_t>(elements_));
  for (int64_t e = 0; e < elements_; ++e) {
    sums[static_cast<size_t>(e)] = sums_[static_cast<size_t>(e * sides_)];
  }
  sums_.clear();
  return sums;
}

}  // namespace noisefloor::analysis
