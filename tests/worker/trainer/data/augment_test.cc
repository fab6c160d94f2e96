#include "worker/trainer/data/augment.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/worker/trainer/data/data_files.h"

namespace noisefloor::trainer {
namespace {

using ::testing::ElementsAre;

Split RandomSplit(ImageShape shape, size_t count) {
  std::vector<uint8_t> images;
  std::vector<int64_t> labels;
  for (const Example& example : RandomExamples(11, count, static_cast<size_t>(shape.pixels()), 4)) {
    images.insert(images.end(), example.pixels.begin(), example.pixels.end());
    labels.push_back(example.label);
  }
  return {shape, std::move(images), std::move(labels)};
}

std::vector<uint32_t> FirstExamples(uint32_t count) {
  std::vector<uint32_t> examples(count);
  for (uint32_t i = 0; i < count; ++i) examples[i] = i;
  return examples;
}

std::vector<float> Train(const Split& split, const AugmentSettings& settings,
                         Layout layout = Layout::kNchw, uint64_t epoch = 0) {
  const std::vector<uint32_t> examples = FirstExamples(split.size());
  std::vector<float> out(split.images.size(), -77.0f);
  Augmenter(split.shape, settings, layout)
      .Training(split, {epoch, 0, examples}, AugmentDraws(5, AugmentKey::kExample), out);
  return out;
}

std::vector<float> Evaluate(const Split& split, const AugmentSettings& settings,
                            Layout layout = Layout::kNchw) {
  std::vector<float> out(split.images.size(), -77.0f);
  Augmenter(split.shape, settings, layout).Evaluation(split, FirstExamples(split.size()), out);
  return out;
}

TEST(AugmentTest, WithoutAugmentationBytesAreScaled) {
  Split split;
  split.shape = {1, 2, 2};
  split.images = {0, 51, 128, 255};
  split.labels = {0};

  EXPECT_THAT(Train(split, {}), ElementsAre(0.0f, 0.2f, 128.0f / 255.0f, 1.0f));
  EXPECT_EQ(Evaluate(split, {}), Train(split, {}));
}

TEST(AugmentTest, ChannelsLastHoldsTheSameNumbersInTheOtherLayout) {
  Split split;
  split.shape = {2, 1, 2};
  split.images = {0, 51, 102, 255};  // Channel 0: 0 51; channel 1: 102 255.
  split.labels = {0};

  EXPECT_THAT(Evaluate(split, {}, Layout::kNhwc), ElementsAre(0.0f, 0.4f, 0.2f, 1.0f));
}

// A grey image of values 1 to 6 in two rows, with the words that choose what happens.
TEST(AugmentTest, FlipExchangesLeftAndRight) {
  Split split;
  split.shape = {1, 2, 3};
  split.images = {1, 2, 3, 4, 5, 6};
  split.labels = {0};
  const std::vector<float> flipped = {3, 2, 1, 6, 5, 4};
  std::set<std::vector<float>> seen;

  for (uint64_t epoch = 0; epoch < 40; ++epoch) {
    std::vector<float> out = Train(split, {.flip = true}, Layout::kNchw, epoch);
    for (float& value : out) value = std::round(value * 255.0f);
    seen.insert(out);
  }

  EXPECT_EQ(seen, (std::set<std::vector<float>>{{1, 2, 3, 4, 5, 6}, flipped}));
}

TEST(AugmentTest, CropShowsEveryWindowOfTheFrame) {
  Split split;
  split.shape = {1, 1, 2};
  split.images = {51, 255};
  split.labels = {0};
  std::set<std::vector<float>> seen;

  for (uint64_t epoch = 0; epoch < 300; ++epoch) {
    seen.insert(Train(split, {.crop_padding = 1}, Layout::kNchw, epoch));
  }

  EXPECT_EQ(seen,
            (std::set<std::vector<float>>{{0.2f, 1.0f}, {0.0f, 0.2f}, {1.0f, 0.0f}, {0.0f, 0.0f}}));
}

TEST(AugmentTest, StandardisedImageHasMeanZeroAndDeviationOne) {
  const Split split = RandomSplit({3, 8, 8}, 3);
  const std::vector<float> out = Evaluate(split, {.standardise = true});

  for (size_t image = 0; image < 3; ++image) {
    double sum = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < 192; ++i) {
      const double value = out[image * 192 + i];
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / 192, 0.0, 1e-6);
    EXPECT_NEAR(squares / 192, 1.0, 1e-6);
  }
}

TEST(AugmentTest, FlatImageIsStandardisedWithoutDividingByZero) {
  Split split;
  split.shape = {1, 2, 2};
  split.images = {9, 9, 9, 9, 0, 0, 0, 255};
  split.labels = {0, 1};

  const std::vector<float> out = Evaluate(split, {.standardise = true});

  EXPECT_THAT(std::vector<float>(out.begin(), out.begin() + 4), ElementsAre(0, 0, 0, 0));
  // Deviation sqrt(3) / 4 is below the least divisor, 1 / sqrt(4).
  EXPECT_THAT(std::vector<float>(out.begin() + 4, out.end()),
              ElementsAre(-0.5f, -0.5f, -0.5f, 1.5f));
}

// The description in augment.h, step by step on whole images, with no thought of speed.
std::vector<float> ObviousAugment(const Split& split, uint32_t example,
                                  const AugmentSettings& settings, const AugmentWords& words) {
  const int64_t channels = split.shape.channels;
  const int64_t height = split.shape.height;
  const int64_t width = split.shape.width;
  const int64_t p = settings.crop_padding;
  std::vector<double> image(split.Image(example), split.Image(example) + split.shape.pixels());
  const auto at = [&](std::vector<double>& values, int64_t c, int64_t y, int64_t x) -> double& {
    return values[static_cast<size_t>((c * height + y) * width + x)];
  };
  std::vector<double> moved(image.size());
  const int64_t top = BelowOf(words.crop_row, static_cast<uint32_t>(2 * p + 1));
  const int64_t left = BelowOf(words.crop_column, static_cast<uint32_t>(2 * p + 1));
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const int64_t from_y = y + top - p;
        const int64_t cropped_x = settings.flip && words.flip >= 0x80000000 ? width - 1 - x : x;
        const int64_t from_x = cropped_x + left - p;
        const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
        at(moved, c, y, x) = inside ? at(image, c, from_y, from_x) : 0.0;
      }
    }
  }
  double sum = 0.0;
  double squares = 0.0;
  for (const double v : moved) {
    sum += v;
    squares += v * v;
  }
  const double n = static_cast<double>(moved.size());
  const double mean = sum / (255.0 * n);
  const double deviation = std::sqrt(n * squares - sum * sum) / (255.0 * n);
  const double divisor = std::max(deviation, 1.0 / std::sqrt(n));
  std::vector<float> out;
  for (const double v : moved) {
    out.push_back(settings.standardise ? static_cast<float>((v / 255.0 - mean) / divisor)
                                       : static_cast<float>(v) / 255.0f);
  }
  if (settings.cutout == 0) return out;
  const int64_t cut_y = BelowOf(words.cutout_row, static_cast<uint32_t>(height));
  const int64_t cut_x = BelowOf(words.cutout_column, static_cast<uint32_t>(width));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t y = static_cast<int64_t>(i) / width % height - cut_y + settings.cutout / 2;
    const int64_t x = static_cast<int64_t>(i) % width - cut_x + settings.cutout / 2;
    if (y >= 0 && y < settings.cutout && x >= 0 && x < settings.cutout) out[i] = 0.0f;
  }
  return out;
}

std::vector<float> ToNhwc(const std::vector<float>& image, const ImageShape& shape) {
  std::vector<float> out;
  const int64_t area = shape.height * shape.width;
  for (int64_t i = 0; i < area; ++i) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      out.push_back(image[static_cast<size_t>(c * area + i)]);
    }
  }
  return out;
}

void ExpectTwinAgrees(const Split& split, const AugmentSettings& settings) {
  const std::vector<uint32_t> examples = {2, 0, 5, 5};
  const AugmentDraws draws(99, AugmentKey::kPosition);
  const size_t pixels = static_cast<size_t>(split.shape.pixels());
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    std::vector<float> out(examples.size() * pixels, -77.0f);
    Augmenter(split.shape, settings, layout).Training(split, {4, 20, examples}, draws, out);
    for (size_t i = 0; i < examples.size(); ++i) {
      std::vector<float> expected =
          ObviousAugment(split, examples[i], settings, draws.At(4, examples[i], 20 + i));
      if (layout == Layout::kNhwc) expected = ToNhwc(expected, split.shape);
      const auto begin = out.begin() + static_cast<std::ptrdiff_t>(i * pixels);
      EXPECT_EQ(std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(pixels)), expected);
    }
  }
}

TEST(AugmentTest, EveryCombinationAgreesWithTheObviousTwinBitForBit) {
  for (const ImageShape shape : {ImageShape{3, 6, 5}, ImageShape{1, 4, 7}, ImageShape{2, 1, 1}}) {
    const Split split = RandomSplit(shape, 6);
    for (const int64_t padding : {0, 1, 2, 9}) {
      for (const int64_t cutout : {0, 1, 2, 3, 20}) {
        for (const bool flip : {false, true}) {
          for (const bool standardise : {false, true}) {
            SCOPED_TRACE(std::to_string(padding) + " " + std::to_string(cutout));
            ExpectTwinAgrees(split, {padding, flip, cutout, standardise});
          }
        }
      }
    }
  }
}

TEST(AugmentTest, TurningOneOperationOnDoesNotMoveAnother) {
  const Split split = RandomSplit({1, 8, 8}, 1);
  const AugmentSettings crop{.crop_padding = 2};
  const AugmentSettings both{.crop_padding = 2, .cutout = 3};

  const std::vector<float> cropped = Train(split, crop);
  const std::vector<float> cut = Train(split, both);

  int changed = 0;
  for (size_t i = 0; i < cropped.size(); ++i) {
    EXPECT_TRUE(cut[i] == cropped[i] || cut[i] == 0.0f);
    changed += cut[i] != cropped[i];
  }
  EXPECT_GT(changed, 0);
  EXPECT_LE(changed, 9);
}

TEST(AugmentTest, KeyedByExampleTheOrderDoesNotMatter) {
  const Split split = RandomSplit({1, 8, 8}, 3);
  const Augmenter augmenter(split.shape, {.crop_padding = 2, .flip = true}, Layout::kNchw);
  const AugmentDraws draws(1, AugmentKey::kExample);
  const std::vector<uint32_t> forward = {0, 1, 2};
  const std::vector<uint32_t> backward = {2, 1, 0};
  std::vector<float> a(192);
  std::vector<float> b(192);

  augmenter.Training(split, {0, 0, forward}, draws, a);
  augmenter.Training(split, {0, 7, backward}, draws, b);

  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::equal(a.begin() + static_cast<std::ptrdiff_t>(64 * i),
                           a.begin() + static_cast<std::ptrdiff_t>(64 * i + 64),
                           b.begin() + static_cast<std::ptrdiff_t>(64 * (2 - i))));
  }
}

}  // namespace
}  // namespace noisefloor::trainer
