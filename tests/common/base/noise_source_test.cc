#include "common/base/noise_source.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(NoiseSourceTest, EveryNameIsReadBack) {
  for (const NoiseSource source : kAllNoiseSources) {
    EXPECT_EQ(ParseNoiseSource(Name(source)), source);
  }
  for (const SourceState state : {SourceState::kOff, SourceState::kFixed, SourceState::kFree}) {
    EXPECT_EQ(ParseSourceState(Name(state)), state);
  }
  EXPECT_EQ(ParseNoiseSource("Init"), std::nullopt);
  EXPECT_EQ(ParseNoiseSource(""), std::nullopt);
  EXPECT_EQ(ParseSourceState("freed"), std::nullopt);
}

TEST(NoiseSourceTest, NumbersAreThoseThatWentIntoSeeds) {
  for (size_t i = 0; i < kAllNoiseSources.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kAllNoiseSources[i]), i + 1);
  }
  EXPECT_EQ(Name(NoiseSource::kReduceOrder), "reduce_order");
  EXPECT_EQ(static_cast<int>(NoiseSource::kReduceOrder), 8);
}

TEST(NoiseSourceTest, PhysicalSourcesHaveNoDraws) {
  EXPECT_TRUE(IsPhysical(NoiseSource::kKernels));
  EXPECT_TRUE(IsPhysical(NoiseSource::kAutotune));
  EXPECT_TRUE(IsPhysical(NoiseSource::kReduceOrder));
  EXPECT_FALSE(IsPhysical(NoiseSource::kThreads));
  EXPECT_FALSE(IsPhysical(NoiseSource::kInit));
}

}  // namespace
}  // namespace noisefloor
