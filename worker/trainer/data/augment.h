// From the bytes of images to the numbers a network sees. Normative; every bit is the same on every
// machine.
//
// For each image, in this order:
//   scale        v -> float(v) / 255
//   crop         the image in a frame of `crop_padding` zeros; the window of the image's own size
//                whose top left corner is (BelowOf(crop_row, 2 p + 1), BelowOf(crop_column, 2 p +
//                1))
//   flip         left and right exchanged when the top bit of `flip` is set
//   standardise  (v / 255 - mean) / max(deviation, 1 / sqrt(n)) over the n values of the image as
//                it is now. With s and q the exact integer sums of v and v * v, in doubles:
//                mean = s / (255 n), deviation = sqrt(n q - s s) / (255 n); rounded to float last
//   cutout       zeros in the square of side c whose top left corner lies c / 2 (rounded down)
//                above and left of (BelowOf(cutout_row, height), BelowOf(cutout_column, width)),
//                as far as it lies within the image
// Without random parts (evaluation) only scale and standardise act.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/trainer_protocol/specification.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/noise/draws.h"

namespace noisefloor::trainer {

enum class Layout : uint8_t {
  kNchw,  // {images, channels, height, width}
  kNhwc,  // {images, height, width, channels}: channels_last
};

// A value; any thread.
class Augmenter {
 public:
  Augmenter(ImageShape shape, AugmentSettings settings, Layout layout);

  Layout layout() const { return layout_; }
  // Which images of a batch, and where in the epoch they are.
  struct Selection {
    uint64_t epoch = 0;
    uint64_t first_position = 0;
    std::span<const uint32_t> examples;
  };
  // Fills `out` with the augmented images; its length is that of all of them. `split` must have
  // the shape given above.
  void Training(const Split& split, const Selection& selection, const AugmentDraws& draws,
                std::span<float> out) const;
  // The same without random parts.
  void Evaluation(const Split& split, std::span<const uint32_t> examples,
                  std::span<float> out) const;

 private:
  using Table = std::array<float, 256>;  // From a byte to its value.
  // What becomes of one image. Rows and columns are those of the result.
  struct Plan {
    int64_t row_shift = 0;  // Row y shows row y + row_shift of the image, or the frame.
    int64_t column_shift = 0;
    bool flip = false;
    int64_t cut_top = 0, cut_bottom = 0, cut_left = 0, cut_right = 0;  // Half open; empty: none.
  };
  Plan MakePlan(const AugmentWords& words) const;
  Table TableFor(const uint8_t* image, const Plan& plan) const;
  void Write(const uint8_t* image, const Plan& plan, float* out) const;
  void WriteRow(const uint8_t* row, const Plan& plan, const Table& table, float* out) const;
  void Cut(const Plan& plan, float* out) const;
  // The columns [first, last) of the result that show the image rather than the frame.
  struct Visible {
    int64_t first = 0, last = 0;
  };
  Visible VisibleColumns(const Plan& plan) const;

  ImageShape shape_;
  AugmentSettings settings_;
  Layout layout_;
  int64_t column_stride_;
  int64_t row_stride_;
  int64_t channel_stride_;
  Table scaled_;
};

}  // namespace noisefloor::trainer
