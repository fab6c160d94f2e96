#include "worker/trainer/noise/streams.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace noisefloor::trainer {
namespace {

Specification WithSeeds() {
  Specification specification;
  for (const NoiseSource source : kAllNoiseSources) {
    specification.Source(source).seed = DeriveSeed(0, source, {0, 0});
  }
  for (const NoiseSource source : {NoiseSource::kThreads, NoiseSource::kLoad}) {
    specification.Source(source).state = SourceState::kOff;
  }
  specification.train.threads = 3;
  return specification;
}

// One draw of each source, or several where one says little.
struct Sample {
  std::vector<float> init;
  std::vector<uint32_t> order;
  uint32_t augment = 0;
  std::vector<float> mask;
  std::vector<float> gradient;
  int64_t threads = 0;
  int64_t load = 0;
};

Sample SampleOf(const Specification& specification) {
  const Streams streams = MakeStreams(specification);
  Sample sample{std::vector<float>(8),
                streams.data_order.Epoch(2, 20),
                streams.augment.At(1, 2, 3).crop_row,
                std::vector<float>(64),
                std::vector<float>(8, 1.0f),
                streams.threads,
                streams.load};
  streams.init.FillUniform("w", 1.0f, sample.init);
  streams.dropout.Fill(4, "d", 0.5, 0, sample.mask);
  streams.dial.Apply(4, "w", 0, 0.1f, std::span(sample.gradient));
  return sample;
}

std::string Differences(const Sample& a, const Sample& b) {
  std::string names;
  if (a.init != b.init) names += "init ";
  if (a.order != b.order) names += "data_order ";
  if (a.augment != b.augment) names += "augment ";
  if (a.mask != b.mask) names += "dropout ";
  if (a.gradient != b.gradient) names += "dial ";
  if (a.threads != b.threads) names += "threads ";
  if (a.load != b.load) names += "load ";
  return names;
}

TEST(StreamsTest, AnotherSeedOfOneSourceChangesOnlyItsDraws) {
  const Sample base = SampleOf(WithSeeds());

  for (const NoiseSource source : kAllNoiseSources) {
    Specification changed = WithSeeds();
    changed.Source(source).seed = DeriveSeed(0, source, {0, 1});
    const bool drawn = source == NoiseSource::kInit || source == NoiseSource::kDataOrder ||
                       source == NoiseSource::kAugment || source == NoiseSource::kDropout ||
                       source == NoiseSource::kDial;
    EXPECT_EQ(Differences(base, SampleOf(changed)), drawn ? std::string(Name(source)) + " " : "");
  }
}

TEST(StreamsTest, EqualSeedsOfTwoSourcesAreNotMixedUp) {
  Specification specification = WithSeeds();
  std::swap(specification.Source(NoiseSource::kInit).seed,
            specification.Source(NoiseSource::kDropout).seed);

  EXPECT_EQ(Differences(SampleOf(WithSeeds()), SampleOf(specification)), "init dropout ");
}

TEST(StreamsTest, ThreadsAreDrawnOnlyWhenTheSourceIsOn) {
  Specification specification = WithSeeds();
  specification.sources.thread_choices = {1, 2, 4};

  EXPECT_EQ(MakeStreams(specification).threads, 3);
  specification.Source(NoiseSource::kThreads).state = SourceState::kFree;
  EXPECT_EQ(MakeStreams(specification).threads, 2);
}

// Of known bits: worker/trainer/noise/README.md.
TEST(StreamsTest, ALoadIsDrawnOnlyWhenTheSourceIsOn) {
  Specification specification = WithSeeds();
  specification.sources.load_choices = {0, 1, 2};

  EXPECT_EQ(MakeStreams(specification).load, 0);
  SourceSpec& source = specification.Source(NoiseSource::kLoad);
  source.state = SourceState::kFree;
  std::vector<int64_t> drawn;
  for (uint32_t lane = 0; lane < 4; ++lane) {
    source.seed = DeriveSeed(0, NoiseSource::kLoad, {0, lane});
    drawn.push_back(MakeStreams(specification).load);
  }
  EXPECT_EQ(drawn, (std::vector<int64_t>{1, 2, 1, 2}));
}

TEST(StreamsTest, SettingsChooseWindowAndKey) {
  Specification specification = WithSeeds();
  specification.sources.shuffle_window = 1;
  specification.sources.augment_key = "position";
  const Streams streams = MakeStreams(specification);

  EXPECT_EQ(streams.data_order.Epoch(0, 3), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(streams.augment.At(0, 1, 9).flip, streams.augment.At(0, 2, 9).flip);
}

}  // namespace
}  // namespace noisefloor::trainer
