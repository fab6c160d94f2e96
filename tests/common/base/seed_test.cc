#include "common/base/seed.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

// The first outputs of SplitMix64 started at 0.
TEST(SeedTest, MixIsSplitMix64) {
  EXPECT_EQ(Mix(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(Mix(0x9E3779B97F4A7C15), 0x6e789e6aa1b965f4u);
}

// Computed by another program from the description in worker/trainer/noise/README.md.
TEST(SeedTest, KnownSeedsComeOut) {
  EXPECT_EQ(DeriveSeed(0, NoiseSource::kInit, {0, 0}), 15114123258453576503u);
  EXPECT_EQ(DeriveSeed(0, NoiseSource::kInit, {0, 1}), 1743917784442841159u);
  EXPECT_EQ(DeriveSeed(0, NoiseSource::kDataOrder, {0, 1}), 3566030246231908003u);
  EXPECT_EQ(DeriveSeed(7, NoiseSource::kDropout, {1, 3}), 12748227150047101360u);
  EXPECT_EQ(DeriveSeed(~uint64_t{0}, NoiseSource::kThreads, {0xffffffff, 0xffffffff}),
            7259443468122906681u);
  EXPECT_EQ(DeriveSeed(0, NoiseSource::kDial, {0, 0}), 8791564976070070618u);
  EXPECT_EQ(DeriveSeed(0, NoiseSource::kDial, {0, 1}), 17391260521808826418u);
  EXPECT_EQ(DeriveSeed(0, NoiseSource::kLoad, {0, 0}), 3238180632783366366u);
}

TEST(SeedTest, ALaneFollowsFromTheRuleTheBlockAndTheReplicate) {
  const auto lanes = [](const LaneRule& rule) {
    std::vector<uint32_t> numbers;
    for (uint32_t replicate = 0; replicate < 6; ++replicate) {
      const Lane lane = LaneOf(rule, 7, replicate);
      EXPECT_EQ(lane.block, 7u);
      numbers.push_back(lane.number);
    }
    return numbers;
  };
  using Numbers = std::vector<uint32_t>;
  EXPECT_EQ(lanes({SourceState::kOff, {}}), (Numbers{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(lanes({SourceState::kFixed, {}}), (Numbers{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(lanes({SourceState::kFree, {}}), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(lanes({SourceState::kFree, {0, 0, 1, 1}}), (Numbers{1, 1, 2, 2, 1, 1}));
  EXPECT_EQ(lanes({SourceState::kFree, {4, 0, 2}}), (Numbers{5, 1, 3, 5, 1, 3}));
}

TEST(SeedTest, SweepSourceBlockAndLaneEachGiveAnotherSeed) {
  std::set<uint64_t> seeds;
  for (uint64_t sweep = 0; sweep < 5; ++sweep) {
    for (const NoiseSource source : kAllNoiseSources) {
      for (uint32_t block = 0; block < 10; ++block) {
        for (uint32_t number = 0; number < 50; ++number) {
          seeds.insert(DeriveSeed(sweep, source, {block, number}));
        }
      }
    }
  }

  EXPECT_EQ(seeds.size(), 5u * kAllNoiseSources.size() * 10 * 50);
}

}  // namespace
}  // namespace noisefloor
