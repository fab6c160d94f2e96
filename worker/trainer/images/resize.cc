#include "worker/trainer/images/resize.h"

#include <algorithm>
#include <limits>

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
        weights_.push_back(static_cast<uint16_t>(overlap));
      }
    } else {
      const int64_t p =
          std::clamp<int64_t>((2 * i + 1) * length - side_, 0, divisor_ * (length - 1));
      tap.first = p / divisor_;
      const int64_t second = p % divisor_;
      weights_.push_back(static_cast<uint16_t>(divisor_ - second));
      if (second > 0) weights_.push_back(static_cast<uint16_t>(second));
    }
    tap.count = static_cast<int64_t>(weights_.size() - tap.weight);
    taps_.push_back(tap);
  }
}

// At most 255 D each, and D is at most kMostPictureSide or twice the side.
void Resizer::Down(const uint8_t* corner, int64_t stride, const Tap& tap) {
  const uint16_t* weights = weights_.data() + tap.weight;
  const uint8_t* row = corner + tap.first * stride;
  uint32_t* const down = down_.data();
  const size_t values = down_.size();
  for (size_t i = 0; i < values; ++i) down[i] = uint32_t{weights[0]} * row[i];
  for (int64_t j = 1; j < tap.count; ++j) {
    row += stride;
    const uint16_t weight = weights[j];
    for (size_t i = 0; i < values; ++i) down[i] += uint32_t{weight} * row[i];
  }
}

template <typename Sum>
void Resizer::Across(std::vector<Sum>& sums) const {
  const Sum half = static_cast<Sum>(divisor_ * divisor_ / 2);
  Sum *red = sums.data(), *green = red + side_, *blue = green + side_;
  for (const Tap& tap : taps_) {
    const uint32_t* from = down_.data() + tap.first * 3;
    const uint16_t* weight = weights_.data() + tap.weight;
    Sum r = half, g = half, b = half;
    for (int64_t j = 0; j < tap.count; ++j, from += 3) {
      r += static_cast<Sum>(weight[j]) * static_cast<Sum>(from[0]);
      g += static_cast<Sum>(weight[j]) * static_cast<Sum>(from[1]);
      b += static_cast<Sum>(weight[j]) * static_cast<Sum>(from[2]);
    }
    *red++ = r;
    *green++ = g;
    *blue++ = b;
  }
}

template <typename Sum>
void Resizer::Rows(const uint8_t* corner, int64_t stride, std::span<uint8_t> planes) {
  // (sum + 1/2) / (D D), below 256, is at least 2^-31 from a whole number, and the two roundings
  // here move it by less than 2^-43: its whole part is that of sum / (D D).
  const double share = 1 / static_cast<double>(divisor_ * divisor_);
  const auto side = static_cast<size_t>(side_);
  std::vector<Sum> sums(3 * side);
  for (size_t y = 0; y < side; ++y) {
    Down(corner, stride, taps_[y]);
    Across(sums);
    for (size_t plane = 0; plane < 3; ++plane) {
      const Sum* from = sums.data() + plane * side;
      uint8_t* out = planes.data() + (plane * side + y) * side;
      for (size_t x = 0; x < side; ++x) {
        out[x] = static_cast<uint8_t>(
            static_cast<int32_t>((static_cast<double>(from[x]) + 0.5) * share));
      }
    }
  }
}

void Resizer::Resize(const Picture& picture, std::span<uint8_t> planes) {
  const int64_t length = std::min(picture.width, picture.height);
  NF_CHECK(length > 0 && planes.size() == static_cast<size_t>(3 * side_ * side_));
  PlanFor(length);
  const int64_t left = (picture.width - length) / 2, top = (picture.height - length) / 2;
  const int64_t stride = picture.width * 3;
  const uint8_t* corner = picture.pixels.data() + top * stride + left * 3;
  down_.resize(static_cast<size_t>(length * 3));
  if (256 * divisor_ * divisor_ <= std::numeric_limits<int32_t>::max()) {
    Rows<int32_t>(corner, stride, planes);
  } else {
    Rows<int64_t>(corner, stride, planes);
  }
}

}  // namespace noisefloor::trainer
