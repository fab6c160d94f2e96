#include "worker/trainer/noise/draws.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/seed.h"
#include "worker/trainer/noise/normal.h"

namespace noisefloor::trainer {
namespace {

using ::testing::ElementsAre;

uint64_t SeedOf(NoiseSource source) { return DeriveSeed(0, source, {0, 0}); }

// The known answers here were computed by another program, in arithmetic of 40 digits, from the
// description in worker/trainer/noise/README.md.
TEST(InitDrawsTest, KnownUniformsComeOut) {
  const InitDraws draws(SeedOf(NoiseSource::kInit));
  const std::vector<float> known = {0x1.d4bb6p-1f,  0x1.679daep-1f, 0x1.d0a4p-7f,
                                    0x1.58b3b4p-2f, 0x1.2eb062p-1f, 0x1.4137e2p-1f};
  std::vector<float> values(known.size());

  draws.FillUniform("conv1.weight", 1.0f, values);

  for (size_t i = 0; i < known.size(); ++i) EXPECT_EQ(values[i], 2.0f * known[i] - 1.0f) << i;
}

TEST(InitDrawsTest, KnownNormalsComeOut) {
  const InitDraws draws(SeedOf(NoiseSource::kInit));
  std::vector<float> values(6);

  draws.FillNormal("conv1.weight", 1.0f, values);

  EXPECT_THAT(values, ElementsAre(0x1.601872p+0f, 0x1.0fff2p-1f, -0x1.189c86p+1f, -0x1.afd16p-2f,
                                  0x1.d847d8p-3f, 0x1.4cb80ep-2f));
}

TEST(InitDrawsTest, FillingGivesEachElementItsWord) {
  const InitDraws draws(42);
  const PhiloxStream stream(42, StreamOf("fc.weight"));
  std::vector<float> uniform(1003);
  std::vector<float> normal(1003);

  draws.FillUniform("fc.weight", 0.3f, uniform);
  draws.FillNormal("fc.weight", 0.01f, normal);

  for (size_t i = 0; i < uniform.size(); ++i) {
    EXPECT_EQ(uniform[i], (2.0f * UniformFloat(stream.Word(i)) - 1.0f) * 0.3f);
    EXPECT_EQ(normal[i], NormalFloat(stream.Word(i)) * 0.01f);
  }
}

TEST(InitDrawsTest, ParametersAndSeedsHaveDrawsOfTheirOwn) {
  const auto first = [](uint64_t seed, std::string_view parameter) {
    float value = 0;
    InitDraws(seed).FillUniform(parameter, 1.0f, {&value, 1});
    return value;
  };
  EXPECT_NE(first(1, "a"), first(1, "b"));
  EXPECT_NE(first(1, "a"), first(2, "a"));
}

TEST(AugmentDrawsTest, KnownWordsComeOut) {
  const AugmentDraws draws(SeedOf(NoiseSource::kAugment), AugmentKey::kExample);

  const AugmentWords words = draws.At(/*epoch=*/5, /*example=*/17, /*position=*/3);

  EXPECT_EQ(words.crop_row, 4283006578u);
  EXPECT_EQ(words.crop_column, 2785223028u);
  EXPECT_EQ(words.flip, 1141594090u);
  EXPECT_EQ(words.cutout_row, 3382608108u);
  EXPECT_EQ(words.cutout_column, 3695123554u);
}

TEST(AugmentDrawsTest, KeyIsTheExampleOrThePosition) {
  const uint64_t seed = SeedOf(NoiseSource::kAugment);
  const AugmentDraws by_example(seed, AugmentKey::kExample);
  const AugmentDraws by_position(seed, AugmentKey::kPosition);

  EXPECT_EQ(by_example.At(5, 3, 1).crop_row, 1471307928u);
  EXPECT_EQ(by_example.At(5, 3, 2).crop_row, 1471307928u);
  EXPECT_EQ(by_position.At(5, 1, 3).crop_row, 1471307928u);
  EXPECT_EQ(by_position.At(5, 2, 3).crop_row, 1471307928u);
  EXPECT_NE(by_position.At(5, 3, 4).crop_row, 1471307928u);
  EXPECT_NE(by_example.At(6, 3, 1).crop_row, 1471307928u);
}

TEST(BelowOfTest, WordsAreSharedOutEvenly) {
  EXPECT_EQ(BelowOf(0, 9), 0u);
  EXPECT_EQ(BelowOf(0xffffffff, 9), 8u);
  EXPECT_EQ(BelowOf(0x80000000, 32), 16u);
  EXPECT_EQ(BelowOf(0x12345678, 9), UniformBelow(uint64_t{0x12345678} << 32, 9));
}

TEST(DialDrawsTest, KnownNoiseComesOut) {
  const DialDraws draws(SeedOf(NoiseSource::kDial));
  const std::vector<float> gradient = {1.0f, -2.5f, 0x1.8p-15f, 0.0f, 0.1f, -1.0f, 1e-40f, 7.0f};
  std::vector<float> values = gradient;

  draws.Apply(/*step=*/9, "conv1.weight", 0, 0x1p-10f, std::span(values));
  EXPECT_THAT(values, ElementsAre(0x1.ffafa6p-1f, -0x1.3fdfb4p+1f, 0x1.7fd462p-15f, 0.0f,
                                  0x1.99e434p-4f, -0x1.000e8ap+0f, 0x1.16f9p-133f, 0x1.bf124p+2f));

  values = gradient;  // About what one rounding does: three of seven move, by a last place.
  draws.Apply(9, "conv1.weight", 0, 0x1p-24f, std::span(values));
  EXPECT_THAT(values, ElementsAre(0x1.fffffep-1f, -2.5f, 0x1.8p-15f, 0.0f, 0x1.99999cp-4f, -1.0f,
                                  0x1.16c2p-133f, 0x1.bffffcp+2f));

  std::vector<double> doubles = {1.0, -2.5, 0.1};
  draws.Apply(9, "conv1.weight", 0, 0x1p-10, std::span(doubles));
  EXPECT_THAT(doubles, ElementsAre(0x1.ffafa5c18p-1, -0x1.3fdfb4cf1p+1, 0x1.996b133d33334p-4));
}

TEST(DialDrawsTest, PartsOfThreadsMakeTheWhole) {
  const DialDraws draws(1);
  std::vector<float> whole(37, 1.0f);
  draws.Apply(3, "w", 0, 0.1f, std::span(whole));

  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    std::vector<float> parts(whole.size(), 1.0f);
    draws.Apply(3, "w", 0, 0.1f, std::span(parts).first(cut));
    draws.Apply(3, "w", cut, 0.1f, std::span(parts).subspan(cut));
    EXPECT_EQ(parts, whole) << cut;
  }
}

TEST(DialDrawsTest, SeedStepAndParameterGiveOtherNoiseOfTheStatedSize) {
  const auto noise = [](uint64_t seed, uint64_t step, std::string_view parameter) {
    std::vector<float> values(20'000, 2.0f);
    DialDraws(seed).Apply(step, parameter, 0, 0.01f, std::span(values));
    return values;
  };
  const std::vector<float> values = noise(1, 0, "a");
  EXPECT_EQ(noise(1, 0, "a"), values);
  EXPECT_NE(noise(2, 0, "a"), values);
  EXPECT_NE(noise(1, 1, "a"), values);
  EXPECT_NE(noise(1, 0, "b"), values);

  const auto count = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (const float value : values) {
    const double relative = value / 2.0 - 1.0;
    mean += relative / count;
    square += relative * relative / count;
  }
  EXPECT_NEAR(mean, 0.0, 4 * 0.01 / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(square), 0.01, 4 * 0.01 / std::sqrt(2 * count));
}

TEST(DropoutDrawsTest, KnownMaskComesOut) {
  const DropoutDraws draws(SeedOf(NoiseSource::kDropout));
  std::vector<float> mask(24);

  draws.Fill(/*step=*/9, "drop1", 0.25, 0, mask);

  const float k = 4.0f / 3.0f;
  EXPECT_THAT(mask,
              ElementsAre(k, 0, k, k, k, k, k, 0, k, k, k, k, k, 0, k, k, k, k, k, 0, k, k, 0, 0));
}

// A word is below its probability's threshold or it is kept: one of them is the threshold itself.
TEST(DropoutDrawsTest, AnElementWhoseWordIsTheThresholdIsKept) {
  const PhiloxStream stream(5, StreamOf("drop"));
  for (const size_t element : {0, 3, 6}) {
    const double word = stream.Block(element / 4)[element % 4];
    std::vector<float> mask(8);
    DropoutDraws(5).Fill(/*step=*/0, "drop", word / 4294967296.0, 0, mask);
    EXPECT_GE(mask[element], 1.0f) << element;
    DropoutDraws(5).Fill(/*step=*/0, "drop", (word + 1) / 4294967296.0, 0, mask);
    EXPECT_EQ(mask[element], 0.0f) << element;
  }
}

TEST(DropoutDrawsTest, PartsOfShardsMakeTheWholeMask) {
  const DropoutDraws draws(1);
  std::vector<float> whole(101);
  draws.Fill(3, "drop", 0.5, 0, whole);

  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    std::vector<float> parts(whole.size());
    draws.Fill(3, "drop", 0.5, 0, std::span(parts).first(cut));
    draws.Fill(3, "drop", 0.5, cut, std::span(parts).subspan(cut));
    EXPECT_EQ(parts, whole) << cut;
  }
}

TEST(DropoutDrawsTest, StepAndLayerGiveOtherMasks) {
  const auto mask = [](uint64_t seed, uint64_t step, std::string_view layer) {
    std::vector<float> values(64);
    DropoutDraws(seed).Fill(step, layer, 0.5, 0, values);
    return values;
  };

  EXPECT_EQ(mask(1, 0, "a"), mask(1, 0, "a"));
  EXPECT_NE(mask(1, 1, "a"), mask(1, 0, "a"));
  EXPECT_NE(mask(1, 0, "b"), mask(1, 0, "a"));
  EXPECT_NE(mask(2, 0, "a"), mask(1, 0, "a"));
}

TEST(DropoutDrawsTest, ShareOfZerosIsTheProbability) {
  std::vector<float> mask(200'000);
  for (const double probability : {0.0, 0.1, 0.5, 0.9}) {
    DropoutDraws(5).Fill(0, "drop", probability, 0, mask);
    const auto zeros = static_cast<double>(std::count(mask.begin(), mask.end(), 0.0f));
    const double n = static_cast<double>(mask.size());
    EXPECT_NEAR(zeros / n, probability, 4 * std::sqrt(probability * (1 - probability) / n));
  }
}

TEST(DrawThreadsTest, KnownChoiceComesOutAndAllAreReached) {
  const std::vector<int64_t> choices = {1, 2, 4};
  std::vector<int> hits(5);

  EXPECT_EQ(DrawThreads(SeedOf(NoiseSource::kThreads), choices), 2);
  for (uint32_t lane = 0; lane < 300; ++lane) {
    ++hits[DrawThreads(DeriveSeed(0, NoiseSource::kThreads, {0, lane}), choices)];
  }

  EXPECT_GT(hits[1], 60);
  EXPECT_GT(hits[2], 60);
  EXPECT_GT(hits[4], 60);
}

}  // namespace
}  // namespace noisefloor::trainer
