#include "worker/trainer/data/whitening.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/files/sha256.h"

namespace noisefloor::trainer {
namespace {

Split SplitOf(const ImageShape& shape, uint32_t examples, const auto& byte) {
  std::vector<uint8_t> images(static_cast<size_t>(shape.pixels()) * examples);
  for (size_t i = 0; i < images.size(); ++i) images[i] = byte(i);
  return {shape, std::move(images), std::vector<int64_t>(examples)};
}

// Smooth but for the last digits; of whole numbers, so that it is the same everywhere.
Split Colours() {
  return SplitOf({3, 9, 7}, 40, [](size_t i) {
    const size_t slope = i * 9 % 200, bend = i * i / 77 % 120;
    return static_cast<uint8_t>(100 - std::min(slope, 200 - slope) / 2 + bend +
                                i * 2654435761 / 65536 % 16);
  });
}

// numpy.linalg.eigh of the 18 patches of two images.
TEST(WhiteningTest, OfAFewPatchesIsWhatNumpySays) {
  const Split split = SplitOf(
      {1, 4, 4}, 2, [](size_t i) { return static_cast<uint8_t>((i * i * 7 + 13 * i + 5) % 256); });
  const std::vector<double> filters = {1.246740906,  -0.602164258, 1.518813976,  -1.427394585,
                                       2.097722076,  1.724731630,  -1.372597272, -0.355876187,
                                       -2.000167924, 2.462625675,  0.595575923,  -2.152192063,
                                       0.772378708,  2.783269581,  3.767788797,  3.509569816};
  const std::vector<double> shifts = {-0.370193776, -1.152439344, 0.543823726, -5.680024289};

  const Whitening whitening = WhitenPatches(split);

  ASSERT_EQ(whitening.filters.size(), 2 * filters.size());
  ASSERT_EQ(whitening.shifts.size(), 2 * shifts.size());
  for (size_t i = 0; i < filters.size(); ++i) {
    EXPECT_NEAR(whitening.filters[i], filters[i], 1e-6) << i;
    EXPECT_EQ(whitening.filters[filters.size() + i], -whitening.filters[i]) << i;
  }
  for (size_t k = 0; k < shifts.size(); ++k) {
    EXPECT_NEAR(whitening.shifts[k], shifts[k], 1e-6) << k;
    EXPECT_EQ(whitening.shifts[shifts.size() + k], -whitening.shifts[k]) << k;
  }
}

// Bits that a change of the method would change, on every machine the same.
TEST(WhiteningTest, OfColoursHasTheBitsItHad) {
  const Whitening whitening = WhitenPatches(Colours());
  const auto hash = [](const std::vector<float>& values) {
    return Sha256Hex({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  };
  EXPECT_EQ(hash(whitening.filters),
            "d4f3d5aced9ad5a41560e39594677132c036dbaf8c13452762a9d0cbe5cfd548");
  EXPECT_EQ(hash(whitening.shifts),
            "cee0903d0e69f4ea7c2c206e9b2ac0913c9291bd2e958d26e57d853da2eb50d5");
}

// Of all patches of one example, by channel, row, column.
std::vector<std::vector<double>> PatchesOf(const Split& split, uint32_t example) {
  const ImageShape& shape = split.shape;
  std::vector<std::vector<double>> patches;
  for (int64_t row = 0; row + 1 < shape.height; ++row) {
    for (int64_t column = 0; column + 1 < shape.width; ++column) {
      std::vector<double>& patch = patches.emplace_back();
      for (int64_t c = 0; c < shape.channels; ++c) {
        for (const int64_t at :
             {row * shape.width + column, row * shape.width + column + 1,
              (row + 1) * shape.width + column, (row + 1) * shape.width + column + 1}) {
          patch.push_back(split.Image(example)[c * shape.height * shape.width + at] / 255.0);
        }
      }
    }
  }
  return patches;
}

// Smooth images in colour: what the filters give is centred, uncorrelated, and of variance 1 where
// there is any to speak of; the directions come by falling variance.
TEST(WhiteningTest, ColoursBecomeUncorrelated) {
  const Split split = Colours();
  constexpr size_t kSize = 12;
  const Whitening whitening = WhitenPatches(split);
  std::vector<std::vector<double>> answers;
  for (uint32_t example = 0; example < split.size(); ++example) {
    for (const std::vector<double>& patch : PatchesOf(split, example)) {
      std::vector<double>& answer = answers.emplace_back(kSize);
      for (size_t k = 0; k < kSize; ++k) {
        answer[k] = whitening.shifts[k];
        for (size_t i = 0; i < kSize; ++i) {
          answer[k] += whitening.filters[k * kSize + i] * patch[i];
        }
      }
    }
  }
  double last = 1;
  for (size_t a = 0; a < kSize; ++a) {
    double mean = 0;
    for (const auto& answer : answers) mean += answer[a] / static_cast<double>(answers.size());
    EXPECT_NEAR(mean, 0, 1e-5) << a;
    for (size_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (const auto& answer : answers) {
        sum += answer[a] * answer[b] / static_cast<double>(answers.size());
      }
      if (a != b) {
        EXPECT_NEAR(sum, 0, 1e-4) << a << " " << b;
        continue;
      }
      EXPECT_LE(sum, last + 1e-6) << a;  // l / (l + e)
      EXPECT_GT(sum, 0.5) << a;
      last = sum;
    }
  }
}

TEST(WhiteningTest, ImagesOfOneColourHaveNoDirection) {
  const Whitening whitening =
      WhitenPatches(SplitOf({3, 4, 4}, 3, [](size_t) { return uint8_t{255}; }));
  for (const float element : whitening.filters) EXPECT_EQ(element, 0);
  for (const float shift : whitening.shifts) EXPECT_EQ(shift, 0);
}

// As many images as have 2^22 patches: what lies behind changes nothing, and sums of the largest
// bytes do not overflow.
TEST(WhiteningTest, LooksAtABoundedNumberOfPatches) {
  constexpr ImageShape kShape{1, 1025, 1025};
  const auto split = [&](uint8_t last) {
    return SplitOf(kShape, 5, [&](size_t i) {
      return i >= 4 * 1025 * 1025 ? last : static_cast<uint8_t>(i % 7 == 0 ? 254 : 255);
    });
  };
  const Whitening dark = WhitenPatches(split(0)), bright = WhitenPatches(split(200));
  EXPECT_EQ(dark.filters, bright.filters);
  EXPECT_EQ(dark.shifts, bright.shifts);
  for (const float element : dark.filters) EXPECT_TRUE(std::isfinite(element));
  EXPECT_GT(std::abs(dark.filters[0]), 1);
}

}  // namespace
}  // namespace noisefloor::trainer
