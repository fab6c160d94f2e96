#include "coordinator/cli/replay_verdict.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TrainedBy kHere = {.stack = "torch", .build = "b1"};

Specification With(NoiseSource source, int64_t shards) {
  Specification specification;
  specification.train.shards = shards;
  specification.Source(source).state = SourceState::kFree;
  return specification;
}

TEST(ReplayVerdict, EqualBitsArePromisedWhenOnlySeededSourcesAreFree) {
  for (const NoiseSource source : {NoiseSource::kInit, NoiseSource::kDataOrder,
                                   NoiseSource::kAugment, NoiseSource::kDropout}) {
    EXPECT_THAT(WhyBitsMayDiffer(With(source, 4), kHere, kHere), IsEmpty()) << Name(source);
  }
}

TEST(ReplayVerdict, AFreePhysicalSourceTakesThePromiseBack) {
  EXPECT_THAT(WhyBitsMayDiffer(With(NoiseSource::kKernels, 1), kHere, kHere),
              ElementsAre("kernels is free"));
  EXPECT_THAT(WhyBitsMayDiffer(With(NoiseSource::kAutotune, 1), kHere, kHere),
              ElementsAre("autotune is free"));
  EXPECT_THAT(WhyBitsMayDiffer(With(NoiseSource::kReduceOrder, 4), kHere, kHere),
              ElementsAre("reduce_order is free"));
}

TEST(ReplayVerdict, TheOrderOfASumOfOneIsNoReason) {
  EXPECT_THAT(WhyBitsMayDiffer(With(NoiseSource::kReduceOrder, 1), kHere, kHere), IsEmpty());
}

TEST(ReplayVerdict, AnotherStackOrBuildIsAReason) {
  EXPECT_THAT(WhyBitsMayDiffer({}, kHere, {.stack = "older", .build = "b1"}),
              ElementsAre("the stack was torch and is older here"));
  EXPECT_THAT(WhyBitsMayDiffer({}, kHere, {.stack = "torch", .build = "b2"}),
              ElementsAre("the trainer was of build b1 and is of build b2 here"));
}

TEST(ReplayVerdict, TheFirstDifferenceIsTheFirstInTheTraining) {
  const std::map<std::string, std::string> original = {
      {"init", "a"},          {"first_batches", "b"}, {"weights_at/2", "c"},
      {"weights_at/10", "d"}, {"weights", "e"},       {"logits", "f"}};
  auto replay = original;
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "");
  replay["logits"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "the final predictions");
  replay["weights"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "the final weights");
  replay["weights_at/10"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "evaluation 10");
  replay["weights_at/2"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "evaluation 2");
  replay["init"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "the initial weights");
}

TEST(ReplayVerdict, AHashThatOneSideLacksIsADifference) {
  const auto pairs = PairHashes({{"init", "a"}, {"logits", "b"}}, {{"init", "a"}});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(FirstDifference(pairs), "the final predictions");
}

TEST(ReplayVerdict, ACohortHasMeanSpreadAndAWidthForOneMore) {
  const Cohort cohort = SumUp({0.8, 0.9, 1.0});
  EXPECT_EQ(cohort.count, 3u);
  EXPECT_NEAR(cohort.mean, 0.9, 1e-12);
  EXPECT_NEAR(cohort.sd, 0.1, 1e-12);
  EXPECT_NEAR(cohort.half_width, 4.303 * 0.1 * std::sqrt(4.0 / 3.0), 1e-9);
  EXPECT_TRUE(IsLikely(cohort, 0.9 + 0.49));
  EXPECT_FALSE(IsLikely(cohort, 0.9 - 0.50));
  EXPECT_FALSE(IsLikely(cohort, std::nan("")));
}

TEST(ReplayVerdict, OneMemberSaysNothingAboutSpread) {
  EXPECT_TRUE(IsLikely(SumUp({0.5}), 0.9));
  EXPECT_EQ(SumUp({0.5}).sd, 0);
}

TEST(ReplayVerdict, EqualMembersAllowOnlyThatValue) {
  const Cohort cohort = SumUp({0.1, 0.1, 0.1});
  EXPECT_TRUE(IsLikely(cohort, 0.1));
  EXPECT_FALSE(IsLikely(cohort, 0.101));
}

}  // namespace
}  // namespace noisefloor::cli
