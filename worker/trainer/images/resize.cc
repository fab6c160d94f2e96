#include "worker/trainer/images/resize.h"

#include <algorithm>

#include "common/base/check.h"

namespace noisefloor::trainer {

void Resizer::PlanFor(int64_t length) {
  if (planned_ == length) return;
  planned_ = length;
  taps_.clear();
  weights_.clear();
  divisor_ = length >= side_ ? length : 2 * side_;
  for (int64_t i = 0; i < side_; ++i) {
    Tap tap = {.weight = weights_.size()};
    if (length >= side_) {
      const int64_t begin = i * length, end = begin + length;
      tap.first = begin / side_;
      for (int64_t j = tap.first; j * side_ < end; ++j) {
        const int64_t overlap = std::min(end, (j + 1) * side_) - std::max(begin, j * side_);
        weights_.push_back(static_cast<uint32_t>(overlap));
      }
    } else {
      const int64_t p =
          std::clamp<int64_t>((2 * i + 1) * length - side_, 0, divisor_ * (length - 1));
      tap.first = p / divisor_;
      const int64_t second = p % divisor_;
      weights_.push_back(static_cast<uint32_t>(divisor_ - second));
      if (second > 0) weights_.push_back(static_cast<uint32_t>(second));
    }
    tap.count = static_cast<int64_t>(weights_.size() - tap.weight);
    taps_.push_back(tap);
  }
}

// At most 255 D, which fits: D is at most kMostPictureSide.
void Resizer::Across(const uint8_t* row, std::vector<uint32_t>& sums) const {
  uint32_t* out = sums.data();
  for (const Tap& tap : taps_) {
    const uint8_t* from = row + tap.first * 3;
    const uint32_t* weight = weights_.data() + tap.weight;
    uint32_t red = 0, green = 0, blue = 0;
    for (int64_t j = 0; j < tap.count; ++j, from += 3) {
      red += weight[j] * from[0];
      green += weight[j] * from[1];
      blue += weight[j] * from[2];
    }
    *out++ = red;
    *out++ = green;
    *out++ = blue;
  }
}

void Resizer::Resize(const Picture& picture, std::span<uint8_t> planes) {
  const int64_t length = std::min(picture.width, picture.height);
  const auto row_values = static_cast<size_t>(side_ * 3);
  NF_CHECK(length > 0 && planes.size() == row_values * static_cast<size_t>(side_));
  PlanFor(length);
  const int64_t left = (picture.width - length) / 2, top = (picture.height - length) / 2;
  across_.resize(row_values);
  sums_.resize(row_values);
  // Exact: a quotient of whole numbers below 2^53 that is no whole number is further from the next
  // one than a double's rounding reaches, since the divisor is below 2^30.
  const auto whole = static_cast<double>(divisor_ * divisor_);
  const auto half = static_cast<uint64_t>(divisor_ * divisor_ / 2);
  const auto plane = static_cast<size_t>(side_ * side_);
  int64_t across_row = -1;  // The row that across_ is of: two neighbours may share one.
  for (int64_t y = 0; y < side_; ++y) {
    const Tap& tap = taps_[static_cast<size_t>(y)];
    std::ranges::fill(sums_, half);
    for (int64_t j = 0; j < tap.count; ++j) {
      const int64_t row = tap.first + j;
      if (row != across_row) {
        Across(picture.pixels.data() + ((top + row) * picture.width + left) * 3, across_);
        across_row = row;
      }
      const uint64_t weight = weights_[tap.weight + static_cast<size_t>(j)];
      for (size_t i = 0; i < row_values; ++i) sums_[i] += weight * across_[i];
    }
    uint8_t* out = planes.data() + y * side_;
    for (size_t x = 0; x < static_cast<size_t>(side_); ++x) {
      for (size_t c = 0; c < 3; ++c) {
        const double sum = static_cast<double>(static_cast<int64_t>(sums_[3 * x + c]));
        out[c * plane + x] = static_cast<uint8_t>(sum / whole);
      }
    }
  }
}

}  // namespace noisefloor::trainer
