// ReLU of 2x2 max pooling with stride 2, forward and backward, each as one pass over memory, in one
// form for each instruction set. Every form gives the bits that LibTorch's max_pool2d, relu_ and
// their gradients give: of equal values the first wins, of NaNs the last, a negative zero stays
// one, and a gradient passes unless the result is 0 or less. Pure; any thread.
#pragma once

#include <cstdint>

namespace noisefloor::trainer {

enum class InstructionSet : uint8_t { kSse, kAvx2, kAvx512 };

// Of one image, {height, width, channels} in memory: at least 2 high and 2 wide. A last odd row or
// column is in no window.
struct PoolShape {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  int64_t windows_high() const { return height / 2; }
  int64_t windows_wide() const { return width / 2; }
};

// In place of a winner's place (0 to 3, row by row): nothing of the window has a gradient.
inline constexpr uint8_t kNoWinner = 4;

// Both work on the rows [first, last) of windows, counted over all images, and touch nothing else:
// threads may share an array by rows.
struct PoolRelu {
  // out {images, windows_high, windows_wide, channels}. winners: of the same shape, or null when no
  // gradient will be asked for.
  void (*forward)(const PoolShape& shape, const float* images, int64_t first, int64_t last,
                  float* out, uint8_t* winners);
  // Writes every element of `images` that lies in those rows, or under the last one in its image.
  void (*backward)(const PoolShape& shape, const float* gradient, const uint8_t* winners,
                   int64_t first, int64_t last, float* images);
};

// The definition: any number of channels, any processor.
extern const PoolRelu kPlainPoolRelu;
// For kPoolReluLanes channels and more, on processors that have the instructions.
inline constexpr int64_t kPoolReluLanes = 16;
extern const PoolRelu kSsePoolRelu;
extern const PoolRelu kAvx2PoolRelu;
extern const PoolRelu kAvx512PoolRelu;

const PoolRelu& PoolReluFor(InstructionSet set, int64_t channels);

}  // namespace noisefloor::trainer
