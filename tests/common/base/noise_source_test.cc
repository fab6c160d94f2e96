#include "common/base/noise_source.h"

#include <string>

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
  EXPECT_EQ(Name(NoiseSource::kDial), "dial");
  EXPECT_EQ(Name(NoiseSource::kLoad), "load");
}

TEST(NoiseSourceTest, WhatCameAfter02IsLeftOutWhereItIsOff) {
  std::string off_unless_asked, left_out;
  for (const NoiseSource source : kAllNoiseSources) {
    if (IsOffUnlessAsked(source)) off_unless_asked.append(Name(source)).append(" ");
    if (!IsTold(source, SourceState::kOff)) left_out.append(Name(source)).append(" ");
    EXPECT_TRUE(IsTold(source, SourceState::kFixed));
    EXPECT_TRUE(IsTold(source, SourceState::kFree));
  }
  EXPECT_EQ(off_unless_asked, "poke threads dial load ");
  EXPECT_EQ(left_out, "dial load ");
}

TEST(NoiseSourceTest, PhysicalSourcesHaveNoDraws) {
  EXPECT_TRUE(IsPhysical(NoiseSource::kKernels));
  EXPECT_TRUE(IsPhysical(NoiseSource::kAutotune));
  EXPECT_TRUE(IsPhysical(NoiseSource::kReduceOrder));
  EXPECT_FALSE(IsPhysical(NoiseSource::kThreads));
  EXPECT_FALSE(IsPhysical(NoiseSource::kInit));
  EXPECT_FALSE(IsPhysical(NoiseSource::kDial));
  EXPECT_FALSE(IsPhysical(NoiseSource::kLoad));
}

}  // namespace
}  // namespace noisefloor
