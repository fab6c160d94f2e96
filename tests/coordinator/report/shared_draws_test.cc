// Members that share draws by design are no independent draws: what is told of them, and what not.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kSharedExamples = 60;
constexpr const char* kWhy = "members share draws of init by design";

std::vector<int16_t> SharedAnswers(Draws& draws) {
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kSharedExamples; ++x) {
    answers.push_back(static_cast<int16_t>((x % 2) ^ (draws.Uniform() < 0.2 ? 1 : 0)));
  }
  return answers;
}

// Six members on each of two classes in so many blocks, of which `together` have each lane of init.
void AddCells(TinyStudy& tiny, const std::string& plan, uint32_t blocks, uint32_t together) {
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    Draws draws(static_cast<uint64_t>(hardware[4]));
    for (uint32_t block = 0; block < blocks; ++block) {
      tiny.AddCell(plan, Algo(), hardware, block);
      for (uint32_t r = 0; r < 6; ++r) {
        MemberInput& member = tiny.AddMember(SharedAnswers(draws));
        member.lanes[NoiseSource::kInit] = {block, r / together + 1};
        member.per_class_accuracy = {0.5, 0.75};
        member.curves["test_top1"] = {{1, 1, 0.1 * r}};
        member.final_metrics["top5"] = 0.9 + 0.01 * r;
        member.final_metrics["loss"] = 1 + 0.1 * r;
        member.seconds = 2 + r;
      }
    }
  }
}

void ExpectNone(const Estimate& estimate) {
  EXPECT_FALSE(estimate.value.has_value());
  EXPECT_FALSE(estimate.low.has_value());
  EXPECT_THAT(estimate.note, HasSubstr(kWhy));
}

TEST(SharedDrawsTest, OneBlockHasMeansWithoutAnIntervalAndNoSpread) {
  TinyStudy tiny(kSharedExamples, 2);
  AddCells(tiny, "crossed", 1, 2);
  ExampleGroups& groups = tiny.input.evaluations[0].groups.emplace_back();
  groups.column = "camera";
  groups.values = {"new", "old"};
  for (int64_t x = 0; x < kSharedExamples; ++x) groups.of_example.push_back(x % 3 == 0 ? 0 : 1);

  const Study study = BuildStudy(tiny.input);

  const Cohort& cohort = study.cohorts[0];
  EXPECT_THAT(cohort.shared, testing::ElementsAre("init"));
  double sum = 0;
  for (int r = 0; r < 6; ++r) sum += tiny.input.members[r].final_metrics.at("top1");
  EXPECT_NEAR(*cohort.accuracy.value, sum / 6, 1e-12);
  EXPECT_FALSE(cohort.accuracy.low.has_value());
  EXPECT_EQ(cohort.accuracy.n, 1) << "of independent draws";
  EXPECT_THAT(cohort.accuracy.note, HasSubstr(kWhy));
  for (const Estimate* spread :
       {&cohort.accuracy_sd, &cohort.flip_sd, &cohort.flip_share, &cohort.churn,
        &cohort.churn_to_error, &cohort.any_disagreement, &cohort.any_of_3, &cohort.l2_raw,
        &cohort.l2_normalised, &cohort.l2_raw_all, &cohort.l2_normalised_all, &cohort.cosine}) {
    ExpectNone(*spread);
  }
  EXPECT_NEAR(*cohort.top5.value, 0.925, 1e-12);
  EXPECT_NEAR(*cohort.loss.value, 1.25, 1e-12);
  EXPECT_NEAR(*cohort.seconds.value, 4.5, 1e-12);
  for (const Estimate* mean : {&cohort.top5, &cohort.loss, &cohort.seconds}) {
    EXPECT_FALSE(mean->low.has_value() || mean->high.has_value()) << mean->unit;
    EXPECT_EQ(mean->n, 1) << mean->unit;
  }
  ASSERT_EQ(cohort.per_group.size(), 2u);
  EXPECT_TRUE(cohort.per_group[1].accuracy.value.has_value());
  EXPECT_FALSE(cohort.per_group[1].accuracy.low.has_value());
  ExpectNone(cohort.per_group[1].accuracy_sd);
  ExpectNone(cohort.per_group[1].ratio);
  ExpectNone(cohort.per_group[1].churn);
  ASSERT_EQ(cohort.per_class.size(), 2u);
  EXPECT_TRUE(cohort.per_class[0].accuracy.value.has_value());
  EXPECT_FALSE(cohort.per_class[0].accuracy.low.has_value());
  ExpectNone(cohort.per_class[0].accuracy_sd);
  ExpectNone(cohort.per_class[0].range);
  ExpectNone(cohort.per_class[0].ratio);
  ExpectNone(cohort.per_class[0].churn);
  ASSERT_FALSE(study.curves.empty());
  EXPECT_TRUE(study.curves[0].mean[0].has_value());
  EXPECT_FALSE(study.curves[0].sd[0].has_value());
  EXPECT_THAT(study.headlines, Each(Not(HasSubstr("two trainings"))));
  EXPECT_EQ(study.worst_classes.text, "");
  EXPECT_TRUE(study.divergent.examples.empty());
  std::vector<std::string> warnings;
  for (const Warning& warning : study.warnings) warnings.push_back(warning.text);
  EXPECT_THAT(warnings, Contains(HasSubstr("In crossed " + std::string(kWhy))));
}

TEST(SharedDrawsTest, HardwareIsComparedOverBlocksAndNotTested) {
  TinyStudy tiny(kSharedExamples, 2);
  AddCells(tiny, "crossed", 3, 3);

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.hardware.size(), 1u);
  const Comparison& comparison = study.hardware[0];
  EXPECT_EQ(comparison.draws, 3) << "blocks, not 18 pairs";
  EXPECT_EQ(comparison.churn_paired.n, 3);
  EXPECT_TRUE(comparison.churn_paired.low.has_value());
  for (const Estimate* unpaired : {&comparison.churn_unpaired, &comparison.churn_excess,
                                   &comparison.churn_within_a, &comparison.churn_within_b}) {
    ExpectNone(*unpaired);
  }
  EXPECT_FALSE(comparison.shift.p.has_value());
  EXPECT_EQ(comparison.shift.note, "not tested: " + std::string(kWhy));
  EXPECT_TRUE(study.hardware_tests.empty());
  ASSERT_EQ(study.blocks.size(), 2u);
  EXPECT_EQ(study.blocks[0].accuracy.n, 3);
  EXPECT_TRUE(study.blocks[0].accuracy.low.has_value()) << "over blocks, which are draws";
  ExpectNone(study.blocks[0].accuracy_sd);
  ExpectNone(study.blocks[0].churn);
}

// Two copies in each of two blocks share all that they have; the second class changes 10 and 50 %
// of the answers. Mean 0.3, its error 0.2, t(1) = 12.70620: far beyond what a share can be.
TEST(SharedDrawsTest, IntervalsOverBlocksEndWhereTheFigureDoes) {
  constexpr int64_t kMany = 100;
  TinyStudy tiny(kMany, 2);
  for (const uint32_t block : {0u, 1u}) {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      tiny.AddCell("control", Control(), hardware, block);
      const int64_t wrong = hardware[4] == 'a' ? 0 : block == 0 ? 10 : 50;
      std::vector<int16_t> answers;
      for (int64_t x = 0; x < kMany; ++x) {
        answers.push_back(static_cast<int16_t>(x < wrong ? 1 - x % 2 : x % 2));
      }
      for (int copy = 0; copy < 2; ++copy) tiny.AddMember(answers);
    }
  }

  const Comparison comparison = BuildStudy(tiny.input).hardware.at(0);

  for (const Estimate* share : {&comparison.churn_paired, &comparison.churn_unpaired}) {
    EXPECT_NEAR(*share->value, 0.3, 1e-12);
    EXPECT_EQ(share->low, 0);
    EXPECT_EQ(share->high, 1);
  }
  EXPECT_NEAR(*comparison.churn_excess.value, 0.3, 1e-12);
  EXPECT_EQ(comparison.churn_excess.low, -1);
  EXPECT_EQ(comparison.churn_excess.high, 1);
  EXPECT_EQ(comparison.logits_correlation_paired.low, -1);
  EXPECT_EQ(comparison.logits_correlation_paired.high, 1);
  EXPECT_NEAR(*comparison.accuracy_difference.low, -0.3 - 0.2 * 12.7062047, 1e-6);
  EXPECT_NEAR(*comparison.accuracy_difference.high, -0.3 + 0.2 * 12.7062047, 1e-6);
}

// The rule is what members share, not how it was written.
TEST(SharedDrawsTest, LevelsThatNoTwoMembersShareAreDrawsAsAnyOthers) {
  TinyStudy free(kSharedExamples, 2);
  AddCells(free, "crossed", 1, 1);

  const Study study = BuildStudy(free.input);

  EXPECT_TRUE(study.cohorts[0].shared.empty());
  EXPECT_EQ(study.cohorts[0].accuracy.n, 6);
  EXPECT_TRUE(study.cohorts[0].churn.low.has_value());
  EXPECT_EQ(study.hardware[0].draws, 6);
  EXPECT_EQ(study.hardware_tests.size(), 1u);
}

}  // namespace
}  // namespace noisefloor::report
