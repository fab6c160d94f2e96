#include "worker/trainer/data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

constexpr int64_t kMostWidth = 65536;  // As many squares of bytes have a sum below 2^32.

constexpr std::array<double, 256> ExactShares() {
  std::array<double, 256> shares{};
  for (size_t v = 0; v < shares.size(); ++v) shares[v] = static_cast<double>(v) / 255.0;
  return shares;
}
constexpr std::array<double, 256> kExactShares = ExactShares();

// Asks for an image's memory: those of a batch lie anywhere, and none is there when it is wanted.
void Fetch(const uint8_t* image, int64_t bytes) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kMost = 4096;  // Of a larger one the processor sees itself where it goes.
  for (int64_t i = 0; i < std::min(bytes, kMost); i += kLine) __builtin_prefetch(image + i);
}

}  // namespace

Augmenter::Augmenter(ImageShape shape, AugmentSettings settings, Layout layout)
    : shape_(shape),
      settings_(settings),
      layout_(layout),
      column_stride_(layout == Layout::kNchw ? 1 : shape.channels),
      row_stride_(shape.width * column_stride_),
      channel_stride_(layout == Layout::kNchw ? shape.height * shape.width : 1) {
  NF_CHECK(shape.width <= kMostWidth);
  for (size_t v = 0; v < scaled_.size(); ++v) scaled_[v] = static_cast<float>(v) / 255.0f;
}

void Augmenter::Training(const Split& split, const Selection& selection, const AugmentDraws& draws,
                         std::span<float> out) const {
  const size_t pixels = static_cast<size_t>(shape_.pixels());
  NF_CHECK(out.size() == selection.examples.size() * pixels);
  for (size_t i = 0; i < selection.examples.size(); ++i) {
    const uint32_t example = selection.examples[i];
    if (i + 1 < selection.examples.size()) {
      Fetch(split.Image(selection.examples[i + 1]), shape_.pixels());
    }
    const AugmentWords words = draws.At(selection.epoch, example, selection.first_position + i);
    Write(split.Image(example), MakePlan(words), out.data() + i * pixels);
  }
}

void Augmenter::Evaluation(const Split& split, std::span<const uint32_t> examples,
                           std::span<float> out) const {
  const size_t pixels = static_cast<size_t>(shape_.pixels());
  NF_CHECK(out.size() == examples.size() * pixels);
  for (size_t i = 0; i < examples.size(); ++i) {
    if (i + 1 < examples.size()) Fetch(split.Image(examples[i + 1]), shape_.pixels());
    Write(split.Image(examples[i]), Plan{}, out.data() + i * pixels);
  }
}

Augmenter::Plan Augmenter::MakePlan(const AugmentWords& words) const {
  Plan plan;
  if (settings_.crop_padding > 0) {
    const auto corners = static_cast<uint32_t>(2 * settings_.crop_padding + 1);
    plan.row_shift = BelowOf(words.crop_row, corners) - settings_.crop_padding;
    plan.column_shift = BelowOf(words.crop_column, corners) - settings_.crop_padding;
  }
  plan.flip = settings_.flip && (words.flip >> 31) != 0;
  if (settings_.cutout > 0) {
    const int64_t top =
        BelowOf(words.cutout_row, static_cast<uint32_t>(shape_.height)) - settings_.cutout / 2;
    const int64_t left =
        BelowOf(words.cutout_column, static_cast<uint32_t>(shape_.width)) - settings_.cutout / 2;
    plan.cut_top = std::max<int64_t>(0, top);
    plan.cut_bottom = std::min(shape_.height, top + settings_.cutout);
    plan.cut_left = std::max<int64_t>(0, left);
    plan.cut_right = std::min(shape_.width, left + settings_.cutout);
  }
  return plan;
}

Augmenter::Visible Augmenter::VisibleColumns(const Plan& plan) const {
  const int64_t width = shape_.width;
  const int64_t first = std::clamp<int64_t>(-plan.column_shift, 0, width);
  const int64_t last = std::clamp<int64_t>(width - plan.column_shift, first, width);
  if (!plan.flip) return {first, last};
  return {width - last, width - first};
}

Augmenter::Table Augmenter::TableFor(const uint8_t* image, const Plan& plan) const {
  if (!settings_.standardise) return scaled_;
  // The frame's zeros add nothing to the sums, and a flip changes none: sum what is visible.
  const int64_t first_row = std::clamp<int64_t>(plan.row_shift, 0, shape_.height);
  const int64_t last_row = std::clamp<int64_t>(shape_.height + plan.row_shift, 0, shape_.height);
  const int64_t first_column = std::clamp<int64_t>(plan.column_shift, 0, shape_.width);
  const int64_t last_column =
      std::clamp<int64_t>(shape_.width + plan.column_shift, 0, shape_.width);
  int64_t sum = 0;
  int64_t squares = 0;
  for (int64_t channel = 0; channel < shape_.channels; ++channel) {
    for (int64_t y = first_row; y < last_row; ++y) {
      const uint8_t* row = image + (channel * shape_.height + y) * shape_.width;
      uint32_t row_sum = 0, row_squares = 0;  // Of at most kMostWidth values.
      for (int64_t x = first_column; x < last_column; ++x) {
        row_sum += row[x];
        row_squares += uint32_t{row[x]} * row[x];
      }
      sum += row_sum;
      squares += row_squares;
    }
  }
  const int64_t n = shape_.pixels();
  const double count = static_cast<double>(n);
  const double mean = static_cast<double>(sum) / (255.0 * count);
  const double deviation =
      std::sqrt(static_cast<double>(n * squares - sum * sum)) / (255.0 * count);
  const double divisor = std::max(deviation, 1.0 / std::sqrt(count));
  Table table;
  for (size_t v = 0; v < table.size(); ++v) {
    table[v] = static_cast<float>((kExactShares[v] - mean) / divisor);
  }
  return table;
}

void Augmenter::Write(const uint8_t* image, const Plan& plan, float* out) const {
  const Table table = TableFor(image, plan);
  for (int64_t channel = 0; channel < shape_.channels; ++channel) {
    for (int64_t y = 0; y < shape_.height; ++y) {
      const int64_t from = y + plan.row_shift;
      float* row = out + channel * channel_stride_ + y * row_stride_;
      if (from < 0 || from >= shape_.height) {
        for (int64_t x = 0; x < shape_.width; ++x) row[x * column_stride_] = table[0];
      } else {
        WriteRow(image + (channel * shape_.height + from) * shape_.width, plan, table, row);
      }
    }
  }
  Cut(plan, out);
}

void Augmenter::WriteRow(const uint8_t* row, const Plan& plan, const Table& table,
                         float* out) const {
  const auto [first, last] = VisibleColumns(plan);
  const int64_t stride = column_stride_;
  for (int64_t x = 0; x < first; ++x) out[x * stride] = table[0];
  if (plan.flip) {
    const int64_t mirror = shape_.width - 1 + plan.column_shift;
    for (int64_t x = first; x < last; ++x) out[x * stride] = table[row[mirror - x]];
  } else {
    for (int64_t x = first; x < last; ++x) out[x * stride] = table[row[x + plan.column_shift]];
  }
  for (int64_t x = last; x < shape_.width; ++x) out[x * stride] = table[0];
}

void Augmenter::Cut(const Plan& plan, float* out) const {
  for (int64_t channel = 0; channel < shape_.channels; ++channel) {
    for (int64_t y = plan.cut_top; y < plan.cut_bottom; ++y) {
      for (int64_t x = plan.cut_left; x < plan.cut_right; ++x) {
        out[channel * channel_stride_ + y * row_stride_ + x * column_stride_] = 0.0f;
      }
    }
  }
}

}  // namespace noisefloor::trainer
