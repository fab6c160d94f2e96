#include "worker/trainer/fused/pool_relu.h"

#include <cmath>

namespace noisefloor::trainer {

namespace {

// Where the row of windows begins in the images.
int64_t FirstElement(const PoolShape& shape, int64_t row) {
  const int64_t image = row / shape.windows_high();
  const int64_t line = image * shape.height + row % shape.windows_high() * 2;
  return line * shape.width * shape.channels;
}

// From a window's first element to its four.
struct Steps {
  explicit Steps(const PoolShape& shape)
      : to{0, shape.channels, shape.width * shape.channels, (shape.width + 1) * shape.channels} {}
  int64_t to[4];
};

void Forward(const PoolShape& shape, const float* images, int64_t first, int64_t last, float* out,
             uint8_t* winners) {
  const Steps steps(shape);
  for (int64_t row = first; row < last; ++row) {
    for (int64_t i = 0; i < shape.windows_wide() * shape.channels; ++i) {
      const int64_t column = i / shape.channels;
      const float* window =
          images + FirstElement(shape, row) + 2 * column * shape.channels + i % shape.channels;
      uint8_t winner = 0;
      for (uint8_t place = 1; place < 4; ++place) {
        const float value = window[steps.to[place]];
        if (value > window[steps.to[winner]] || std::isnan(value)) winner = place;
      }
      const float most = window[steps.to[winner]];
      const int64_t at = row * shape.windows_wide() * shape.channels + i;
      out[at] = most < 0 ? 0 : most;
      if (winners != nullptr) winners[at] = most <= 0 ? kNoWinner : winner;
    }
  }
}

void Backward(const PoolShape& shape, const float* gradient, const uint8_t* winners, int64_t first,
              int64_t last, float* images) {
  const Steps steps(shape);
  const int64_t line = shape.width * shape.channels;
  for (int64_t row = first; row < last; ++row) {
    const bool lowest = (row + 1) % shape.windows_high() == 0;
    const int64_t lines = lowest && shape.height % 2 != 0 ? 3 : 2;
    float* top = images + FirstElement(shape, row);
    for (int64_t i = 0; i < lines * line; ++i) top[i] = 0;
    for (int64_t i = 0; i < shape.windows_wide() * shape.channels; ++i) {
      const int64_t at = row * shape.windows_wide() * shape.channels + i;
      if (winners[at] == kNoWinner) continue;
      float* window = top + i / shape.channels * 2 * shape.channels + i % shape.channels;
      window[steps.to[winners[at]]] += gradient[at];  // A negative zero becomes a positive one.
    }
  }
}

}  // namespace

const PoolRelu kPlainPoolRelu = {Forward, Backward};

const PoolRelu& PoolReluFor(InstructionSet set, int64_t channels) {
  if (channels < kPoolReluLanes) return kPlainPoolRelu;
  switch (set) {
    case InstructionSet::kSse: return kSsePoolRelu;
    case InstructionSet::kAvx2: return kAvx2PoolRelu;
    case InstructionSet::kAvx512: return kAvx512PoolRelu;
  }
  return kPlainPoolRelu;
}

}  // namespace noisefloor::trainer
