// The walk over rows of windows, the same for every instruction set. Only for the files that are
// compiled for one: `Block` must be of an unnamed namespace, so that no other file can be given
// this code with their instructions in it. For that reason nothing of the standard library is
// called here or there.
#pragma once

#include "worker/trainer/fused/pool_relu.h"

namespace noisefloor::trainer {

// Block has, for kPoolReluLanes channels of one window with the elements a b (above) and c d:
//   template <bool kKeep> static void Forward(const float* a, b, c, d, float* out, uint8_t*
//   winners) static void Backward(const float* gradient, const uint8_t* winners, float* a, b, c, d)
template <class Block>
struct PoolReluRows {
  static void Forward(const PoolShape& shape, const float* images, int64_t first, int64_t last,
                      float* out, uint8_t* winners) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t at = row * shape.windows_wide() * shape.channels;
      const float* top = images + FirstElement(shape, row);
      if (winners == nullptr) {
        ForwardRow<false>(shape, top, out + at, nullptr);
      } else {
        ForwardRow<true>(shape, top, out + at, winners + at);
      }
    }
  }

  static void Backward(const PoolShape& shape, const float* gradient, const uint8_t* winners,
                       int64_t first, int64_t last, float* images) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t at = row * shape.windows_wide() * shape.channels;
      BackwardRow(shape, gradient + at, winners + at, images + FirstElement(shape, row));
      const bool lowest = (row + 1) % shape.windows_high() == 0;
      if (lowest && shape.height % 2 != 0) {
        Zero(images + FirstElement(shape, row) + 2 * Line(shape), Line(shape));
      }
    }
  }

 private:
  static int64_t Line(const PoolShape& shape) { return shape.width * shape.channels; }

  static int64_t FirstElement(const PoolShape& shape, int64_t row) {
    const int64_t image = row / shape.windows_high();
    return (image * shape.height + row % shape.windows_high() * 2) * Line(shape);
  }

  // A last block that would reach too far begins sooner; both write the same where two meet.
  static int64_t BlockAt(const PoolShape& shape, int64_t i) {
    const int64_t last = shape.channels - kPoolReluLanes;
    return i < last ? i : last;
  }

  template <bool kKeep>
  static void ForwardRow(const PoolShape& shape, const float* top, float* out, uint8_t* winners) {
    const float* below = top + Line(shape);
    for (int64_t x = 0; x < shape.windows_wide(); ++x) {
      for (int64_t i = 0; i < shape.channels; i += kPoolReluLanes) {
        const int64_t at = BlockAt(shape, i);
        Block::template Forward<kKeep>(top + at, top + shape.channels + at, below + at,
                                       below + shape.channels + at, out + at,
                                       kKeep ? winners + at : nullptr);
      }
      top += 2 * shape.channels;
      below += 2 * shape.channels;
      out += shape.channels;
      if (kKeep) winners += shape.channels;
    }
  }

  static void BackwardRow(const PoolShape& shape, const float* gradient, const uint8_t* winners,
                          float* top) {
    float* below = top + Line(shape);
    for (int64_t x = 0; x < shape.windows_wide(); ++x) {
      for (int64_t i = 0; i < shape.channels; i += kPoolReluLanes) {
        const int64_t at = BlockAt(shape, i);
        Block::Backward(gradient + at, winners + at, top + at, top + shape.channels + at,
                        below + at, below + shape.channels + at);
      }
      top += 2 * shape.channels;
      below += 2 * shape.channels;
      gradient += shape.channels;
      winners += shape.channels;
    }
    if (shape.width % 2 == 0) return;
    Zero(top, shape.channels);
    Zero(below, shape.channels);
  }

  static void Zero(float* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) values[i] = 0;
  }
};

}  // namespace noisefloor::trainer
