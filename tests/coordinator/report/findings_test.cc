// What a study says beside its comparisons of hardware: who learned too little, which sources
// act on nothing, where a fixed draw lies, what blocks say together.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/detectable.h"
#include "coordinator/report/export.h"
#include "coordinator/report/words.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/has_warning.h"
#include "tests/coordinator/report/ten_classes.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(UnderTrainedTest, APlanAtAPointOfTheAxesIsJudgedOverItsHardwareAndBlocks) {
  // Chance is 10 %: 20 % is asked. 18 % and 24 % of one setting are 21 %: above, both cells.
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a", 0, Rate("0.1"));
  tiny.AddMember(TenClassAnswers(82));
  tiny.AddCell("algo", Algo(), "cpu-b", 0, Rate("0.1"));
  tiny.AddMember(TenClassAnswers(76));
  // 18 % and 21 % are 19.5 %: below, both cells, and one that has no member yet.
  tiny.AddCell("algo", Algo(), "cpu-a", 0, Rate("0.2"));
  tiny.AddMember(TenClassAnswers(82));
  tiny.AddCell("algo", Algo(), "cpu-b", 1, Rate("0.2"));
  tiny.AddMember(TenClassAnswers(79));
  tiny.AddCell("algo", Algo(), "cpu-c", 0, Rate("0.2"));
  // Another plan at that point stands for itself.
  tiny.AddCell("impl", Impl(), "cpu-a", 0, Rate("0.2"));
  tiny.AddMember(TenClassAnswers(80));

  const Study study = BuildStudy(tiny.input);

  std::vector<bool> under_trained;
  for (const Cohort& cohort : study.cohorts) under_trained.push_back(cohort.under_trained);
  EXPECT_THAT(under_trained, ElementsAre(false, false, true, true, true, false));
  const auto about_training = Field(&Warning::text, HasSubstr("Under-trained"));
  EXPECT_EQ(std::ranges::count_if(study.warnings,
                                  [](const Warning& warning) {
                                    return warning.text.find("Under-trained") != std::string::npos;
                                  }),
            1);
  EXPECT_THAT(study.warnings,
              Contains(AllOf(about_training,
                             Field(&Warning::text,
                                   HasSubstr("algo, learning_rate=0.2 (19.5 % < 20.0 %). Top-1 is "
                                             "the mean over hardware and members; it should reach "
                                             "twice the share of the largest class")))));
}

TEST(UnderTrainedTest, AReferenceAccuracyOfTheSweepIsTheMeasure) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  tiny.AddMember(TenClassAnswers(15));
  tiny.AddCell("algo", Algo(), "cpu-b");
  tiny.AddMember(TenClassAnswers(26));  // The mean is 79.5 %.
  EXPECT_FALSE(BuildStudy(tiny.input).cohorts[0].under_trained);
  tiny.input.sweep.reference_accuracy = 0.795;
  EXPECT_FALSE(BuildStudy(tiny.input).cohorts[0].under_trained);
  tiny.input.sweep.reference_accuracy = 0.8;

  const Study study = BuildStudy(tiny.input);

  EXPECT_TRUE(study.cohorts[0].under_trained);
  EXPECT_TRUE(study.cohorts[1].under_trained);
  EXPECT_THAT(study.warnings, Warns("algo (79.5 % < 80.0 %). Top-1 is the mean over hardware and "
                                    "members; it should reach the reference accuracy that the "
                                    "sweep states."));
  EXPECT_THAT(study.headlines, ElementsAre(HasSubstr("Every cell is under-trained")));
}

TEST(EndsTest, DivergedMembersAreAFinding) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(10));
  tiny.input.members[1].state = MemberState::kDiverged;

  EXPECT_THAT(BuildStudy(tiny.input).headlines,
              Contains("1 of 3 members diverged: they are in no mean."));
}

TEST(FixedDrawTest, ADrawOutsideAllFreeOnesIsNamed) {
  TinyStudy tiny(kExamples, 10);
  for (const char* plan : {"control", "impl"}) {
    tiny.AddCell(plan, std::string(plan) == "impl" ? Impl() : Control(), "cpu-a");
    for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(28));
  }
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    tiny.AddCell("algo", Algo(), hardware);
    for (const int64_t wrong : {20, 23, 26, 24}) tiny.AddMember(TenClassAnswers(wrong));
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.fixed_draws.size(), 1u);
  EXPECT_DOUBLE_EQ(study.fixed_draws[0].accuracy, 0.72);
  EXPECT_DOUBLE_EQ(study.fixed_draws[0].lowest, 0.74);
  EXPECT_DOUBLE_EQ(study.fixed_draws[0].highest, 0.80);
  EXPECT_EQ(study.fixed_draws[0].free_draws, 4);
  EXPECT_THAT(study.warnings,
              Warns("The one draw of init, data_order, augment and dropout that control and impl "
                    "hang on has a mean top-1 of 72.00 % on cpu-a, below all 4 draws of algo "
                    "(74.00 % to 80.00 %): what is said of it may not hold for others. By chance "
                    "one draw lies outside 4 others in 40 %."));

  for (MemberInput& member : tiny.input.members) {
    if (member.cell < 2) member.final_metrics["top1"] = 0.745;
  }
  for (MemberInput& member : tiny.input.members) member.predictions = {};
  EXPECT_THAT(BuildStudy(tiny.input).fixed_draws, IsEmpty());
}

TEST(FixedDrawTest, OfSeveralDrawsTheOneOutsideIsNamedByItsBlock) {
  TinyStudy tiny(kExamples, 10);
  for (const uint32_t block : {0u, 1u}) {
    tiny.AddCell("control", Control(), "cpu-a", block);
    for (int r = 0; r < 2; ++r) tiny.AddMember(TenClassAnswers(block == 0 ? 23 : 10));
  }
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (const int64_t wrong : {20, 23, 26, 24}) tiny.AddMember(TenClassAnswers(wrong));

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.fixed_draws.size(), 1u);
  EXPECT_EQ(study.fixed_draws[0].block, 1u);
  EXPECT_THAT(study.fixed_draws[0].text,
              HasSubstr("The draw of block 1 of init, data_order, augment and dropout that control "
                        "hangs on has a mean top-1 of 90.00 %, above all 4 draws of algo (74.00 % "
                        "to 80.00 %)"));
}

// A plan without augmentation does worse, whatever it draws.
TEST(FixedDrawTest, WhatAPlanTurnsOffIsNoDraw) {
  const auto outside = [](SourceState of_held, SourceState of_free) {
    States impl = Impl();
    States algo = Algo();
    impl[NoiseSource::kAugment] = of_held;
    algo[NoiseSource::kAugment] = of_free;
    TinyStudy tiny(kExamples, 10);
    tiny.AddCell("impl", impl, "cpu-a");
    for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(28));
    tiny.AddCell("algo", algo, "cpu-a");
    for (const int64_t wrong : {20, 23, 26, 24}) tiny.AddMember(TenClassAnswers(wrong));
    return BuildStudy(tiny.input).fixed_draws.size();
  };
  EXPECT_EQ(outside(SourceState::kOff, SourceState::kFree), 0u);
  EXPECT_EQ(outside(SourceState::kOff, SourceState::kOff), 1u);
  EXPECT_EQ(outside(SourceState::kFixed, SourceState::kFree), 1u);
}

TEST(FixedDrawTest, ADrawIsSetAgainstThoseOfItsClassAndStack) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("impl", Impl(), "cpu-b");
  for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(34));
  tiny.AddCell("impl", Impl(), "cpu-a").stack = "another";
  for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(44));
  const auto add_draws = [&](const std::string& hardware) {
    tiny.AddCell("algo", Algo(), hardware);
    for (const int64_t wrong : {20, 23, 26, 24}) tiny.AddMember(TenClassAnswers(wrong));
  };
  add_draws("cpu-a");
  EXPECT_THAT(BuildStudy(tiny.input).fixed_draws, IsEmpty());
  add_draws("cpu-b");

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.fixed_draws.size(), 1u);
  EXPECT_THAT(study.fixed_draws[0].text,
              HasSubstr("that impl hangs on has a mean top-1 of 66.00 % on cpu-b, stack, below all "
                        "4 draws of algo (74.00 % to 80.00 %)"));
}

// It would bring the draws of all that it holds as one more of the free ones.
TEST(FixedDrawTest, APlanThatFreesSomeSourcesAndHoldsOthersIsOnNeitherSide) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("control", Control(), "cpu-a");
  for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(28));
  tiny.AddCell("init", StatesWithFree({NoiseSource::kInit}), "cpu-a");
  for (const int64_t wrong : {28, 10, 40, 30}) tiny.AddMember(TenClassAnswers(wrong));
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (const int64_t wrong : {20, 23, 26, 24}) tiny.AddMember(TenClassAnswers(wrong));

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.fixed_draws.size(), 1u);
  EXPECT_DOUBLE_EQ(study.fixed_draws[0].accuracy, 0.72);
  EXPECT_DOUBLE_EQ(study.fixed_draws[0].lowest, 0.74);
  EXPECT_DOUBLE_EQ(study.fixed_draws[0].highest, 0.80);
  EXPECT_THAT(study.fixed_draws[0].text, HasSubstr("below all 4 draws of algo ("));
}

TEST(IdleSourceTest, APlanThatFreesOnlyWhatActsOnNothingIsAControl) {
  TinyStudy tiny(kExamples, 10);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    tiny.AddCell("dropout", StatesWithFree({NoiseSource::kDropout}), hardware).idle = {
        {NoiseSource::kDropout, "small_cnn has no dropout"}};
    for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(10));
  }
  tiny.AddCell("algo", Algo(), "cpu-a").idle = {
      {NoiseSource::kDropout, "small_cnn has no dropout"},
      {NoiseSource::kAugment, "no crop, flip or cutout is on"}};
  for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(10 + r));

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.cohorts[0].idle, ElementsAre("dropout"));
  EXPECT_THAT(study.cohorts[0].acting, IsEmpty());
  EXPECT_TRUE(study.cohorts[0].all_fixed);
  EXPECT_EQ(study.controls.size(), 2u);
  EXPECT_EQ(study.hardware[0].draws, 1);
  EXPECT_THAT(study.warnings,
              Contains(AllOf(Field(&Warning::severity, "warning"),
                             Field(&Warning::text,
                                   "dropout frees what acts on nothing: dropout (small_cnn has no "
                                   "dropout). It frees nothing else: its members must be "
                                   "bit-identical."))));
  EXPECT_THAT(study.cohorts[2].acting, ElementsAre("init", "data_order"));
  EXPECT_THAT(study.warnings,
              Contains(AllOf(Field(&Warning::severity, "note"),
                             Field(&Warning::text,
                                   "algo frees what acts on nothing: augment (no crop, flip or "
                                   "cutout is on) and dropout (small_cnn has no dropout)."))));
  EXPECT_THAT(study.headlines, Contains(HasSubstr("algo (frees init and data_order): ")));
}

// A source that is fixed and acts on nothing is no draw that a conclusion hangs on.
TEST(IdleSourceTest, WhatIsHeldAndIdleHoldsNothing) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("seeds", StatesWithFree({NoiseSource::kInit, NoiseSource::kDataOrder}), "cpu-a")
      .idle = {{NoiseSource::kDropout, "x"}, {NoiseSource::kAugment, "y"}};
  for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(10 + r));

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.cohorts[0].held, IsEmpty());
  EXPECT_THAT(study.headlines, Contains(HasSubstr("two trainings disagree on")));
}

// Nor is a load that every member has.
TEST(HeldSourceTest, AFixedLoadIsASettingAndNoDraw) {
  States loaded = Algo();
  loaded[NoiseSource::kLoad] = SourceState::kFixed;
  TinyStudy tiny(kExamples, 10);
  for (const uint32_t block : {0u, 1u}) {
    tiny.AddCell("algo", loaded, "cpu-a", block);
    for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(10 + r));
  }
  loaded[NoiseSource::kInit] = SourceState::kFixed;
  tiny.AddCell("all but init", loaded, "cpu-a");
  for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(10 + r));

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.cohorts.at(0).held, IsEmpty());
  EXPECT_THAT(study.cohorts.at(1).held, IsEmpty());
  EXPECT_THAT(study.cohorts.at(2).held, ElementsAre("init"));
}

TEST(BoundTest, ControlsSayWhatSoManyRunsLeaveOpen) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("control", Control(), "cpu-a");
  for (int r = 0; r < 5; ++r) tiny.AddMember(TenClassAnswers(10));

  const Study study = BuildStudy(tiny.input);

  EXPECT_NEAR(*study.controls[0].upper_bound, 0.5271291954984121, 1e-12);
  EXPECT_EQ(study.controls[0].text,
            "5 members are bit-identical: final weights and logits: at most 52.7 % of runs differ "
            "from this result, at 95 % (1 - 0.05^(1/4)).");
  EXPECT_THAT(study.headlines,
              Contains("The control cohort is bit-identical (at most 53 % of runs of one could "
                       "differ from its result, at 95 %)."));

  tiny.input.members[0].duplicates = {tiny.input.members[0].hashes};  // A sixth run.
  const Study six = BuildStudy(tiny.input);
  EXPECT_NEAR(*six.controls[0].upper_bound, 1 - std::pow(0.05, 0.2), 1e-12);
  EXPECT_THAT(StudyToCsv(six), HasSubstr(fmt::format("identical,upper_bound,{},,,6,",
                                                     *six.controls[0].upper_bound)));
  tiny.input.members[0].duplicates[0].weights = "other";
  EXPECT_FALSE(BuildStudy(tiny.input).controls[0].upper_bound.has_value());
}

TEST(BlocksTest, TheSpreadInsideBlocksIsPooled) {
  TinyStudy tiny(kExamples, 10);
  const std::vector<std::vector<int64_t>> wrong = {{30, 28}, {20, 17, 19}, {25}};
  for (uint32_t block = 0; block < 3; ++block) {
    tiny.AddCell("impl", Impl(), "cpu-a", block);
    for (const int64_t of_member : wrong[block]) tiny.AddMember(TenClassAnswers(of_member));
  }

  const Study study = BuildStudy(tiny.input);

  // As PooledSdTest: {0.70, 0.72}, {0.80, 0.83, 0.81}, {0.75} by scipy.
  ASSERT_EQ(study.blocks.size(), 1u);
  EXPECT_NEAR(*study.blocks[0].accuracy_sd.value, 0.01490711984999857, 1e-12);
  EXPECT_NEAR(*study.blocks[0].accuracy_sd.low, 0.008444727564971033, 1e-10);
  EXPECT_NEAR(*study.blocks[0].accuracy_sd.high, 0.055581901107149854, 1e-10);
  EXPECT_EQ(study.blocks[0].accuracy_sd.n, 5) << "members, but for one alone in its block";
  EXPECT_EQ(study.blocks[0].accuracy.n, 3);
  EXPECT_EQ(study.blocks[0].plan, "impl");
  EXPECT_EQ(study.blocks[0].label, "impl, cpu-a");
}

// As a contrast of the plan has them, over replicates or over blocks.
TEST(BlocksTest, RatiosOfSpreadsAreThoseThatContrastsSee) {
  TinyStudy tiny(kExamples, 10);
  for (uint32_t block = 0; block < 2; ++block) {
    tiny.AddCell("algo", Algo(), "cpu-a", block);
    for (const int64_t wrong : {20, 22, 25, 19, 21}) tiny.AddMember(TenClassAnswers(wrong));
    tiny.AddCell("impl", Impl(), "cpu-a", block);
    for (const int64_t wrong : {20, 22, 25, 19, 21}) tiny.AddMember(TenClassAnswers(wrong));
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.cohorts.size(), 4u);
  for (const Cohort& cohort : study.cohorts) {
    const std::optional<double> ratio =
        cohort.plan == "algo" ? analysis::DetectableSdRatio(5) : std::nullopt;
    EXPECT_EQ(cohort.accuracy_sd.detectable, ratio) << cohort.label;
  }
  ASSERT_EQ(study.blocks.size(), 2u);
  for (const BlockSummary& block : study.blocks) {
    const std::optional<double> ratio =
        block.plan == "algo" ? analysis::DetectableSdRatio(10) : std::nullopt;
    EXPECT_EQ(block.accuracy_sd.detectable, ratio) << block.label;
  }
}

TEST(BlocksTest, BlocksOfTwoStacksAreTwoGroups) {
  TinyStudy tiny(kExamples, 10);
  for (uint32_t block = 0; block < 4; ++block) {
    tiny.AddCell("impl", Impl(), "cpu-a", block / 2).stack = block % 2 == 0 ? "old" : "new";
    tiny.AddMember(TenClassAnswers(10 + block));
    tiny.AddMember(TenClassAnswers(20 + block));
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.blocks.size(), 2u);
  EXPECT_THAT(study.blocks[0].cells, ElementsAre(1, 3));  // By name: "new", "old".
  EXPECT_THAT(study.blocks[1].cells, ElementsAre(0, 2));
  EXPECT_EQ(study.blocks[0].label, "impl, cpu-a, new");
  EXPECT_EQ(study.blocks[1].label, "impl, cpu-a, old");
}

TEST(CohortFiguresTest, ChurnToErrorAndFlipsAreOfTheMembersAtHand) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  AddTossers(tiny, 6, {1, 2, 3}, 9);

  const Cohort cohort = BuildStudy(tiny.input).cohorts[0];

  const double error = 1 - *cohort.accuracy.value;
  EXPECT_NEAR(*cohort.churn_to_error.value, *cohort.churn.value / error, 1e-12);
  EXPECT_LT(*cohort.churn_to_error.low, *cohort.churn_to_error.value);
  EXPECT_LT(*cohort.churn_to_error.value, *cohort.churn_to_error.high);
  EXPECT_NEAR(*cohort.flip_share.value,
              std::pow(*cohort.flip_sd.value / *cohort.accuracy_sd.value, 2), 1e-9);
}

// Of seven members one has learnt nothing of half of the classes.
TEST(OutlierWarningTest, OneBadTrainingIsNamed) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (int64_t m = 0; m < 6; ++m) tiny.AddMember(TenClassAnswers(10 + m % 3));
  EXPECT_THAT(BuildStudy(tiny.input).warnings, Not(HasWarning("warning", "lies apart")));
  tiny.AddMember(TenClassAnswers(45));
  EXPECT_THAT(BuildStudy(tiny.input).warnings,
              HasWarning("warning", "cell 0", "s1c0r6 lies apart from the others (55.00 %, 2."));
  // Among many cells one such member is likelier by chance.
  for (const char* rate : {"1", "2", "3", "4", "5", "6", "7", "8", "9"}) {
    tiny.AddCell("algo", Algo(), "cpu-a", 0, Rate(rate));
    for (int64_t m = 0; m < 7; ++m) tiny.AddMember(TenClassAnswers(10 + m % 3 + (m == 6 ? 8 : 0)));
  }
  EXPECT_THAT(BuildStudy(tiny.input).warnings, Not(HasWarning("warning", "cell 1", "lies apart")));
}

TEST(OutlierWarningTest, OneAnswerMoreThanTheOthersIsNoBadTraining) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (int m = 0; m < 5; ++m) tiny.AddMember(TenClassAnswers(10));
  tiny.AddMember(TenClassAnswers(11));
  EXPECT_THAT(BuildStudy(tiny.input).warnings, Not(HasWarning("warning", "lies apart")));
}

TEST(CohortFiguresTest, ATimeThatWasNotMeasuredIsInNoMean) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (const double seconds : {2.0, 0.0, 4.0})
    tiny.AddMember(TenClassAnswers(10)).seconds = seconds;

  const Cohort cohort = BuildStudy(tiny.input).cohorts[0];

  EXPECT_DOUBLE_EQ(*cohort.seconds.value, 3);
  EXPECT_EQ(cohort.seconds.n, 2);
}

TEST(CohortFiguresTest, PairsWithoutHashesAreNotCalledIdentical) {
  TinyStudy tiny(kExamples, 10);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    tiny.AddCell("algo", Algo(), hardware);
    for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(10 + r));
  }
  EXPECT_EQ(BuildStudy(tiny.input).hardware[0].identical_pairs, 3);
  EXPECT_THAT(BuildStudy(tiny.input).hardware[0].text, HasSubstr("All 3 pairs are bit-identical"));
  tiny.input.members[0].hashes.logits = "others";
  EXPECT_EQ(BuildStudy(tiny.input).hardware[0].identical_pairs, 2) << "weights are not all";
  for (MemberInput& member : tiny.input.members) member.hashes = {};
  tiny.input.members[2].hashes.weights = "only here";

  const Study study = BuildStudy(tiny.input);

  EXPECT_EQ(study.hardware[0].identical_pairs, 0);
  EXPECT_THAT(study.hardware[0].text, Not(HasSubstr("bit-identical")));
}

TEST(WarningsTest, MembersOfOtherDrawsThatAnswerAlikeToTheBitAreCopies) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (const int64_t right : {5, 6, 5, 7, 5}) tiny.AddMember(TenClassAnswers(right));
  const auto text = [&] {
    for (const Warning& warning : BuildStudy(tiny.input).warnings) {
      if (warning.text.find("to the last bit") != std::string::npos) return warning.text;
    }
    return std::string();
  };

  EXPECT_THAT(text(), HasSubstr("s1c0r0 and s1c0r2 (and 1 more such) have the same logits to the "
                                "last bit, though their draws of init, data_order, augment and "
                                "dropout differ"));
  tiny.input.members[4].lanes = tiny.input.members[0].lanes;
  EXPECT_THAT(text(), HasSubstr("s1c0r0 and s1c0r2 have the same"));
  tiny.input.members[2].hashes.logits = "other";
  EXPECT_EQ(text(), "");
}

TEST(CohortFiguresTest, WeightsWithoutEffectAreCountedBesideTheDistance) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  const std::vector<float> weights = {1, 2, 3, 4};
  for (size_t r = 0; r < 3; ++r) {
    MemberInput& member = tiny.AddMember(TenClassAnswers(10));
    const Weights of = {.parameters = {std::span(weights).subspan(r, 2)}, .buffers = {}};
    member.weights = WeightsView({.content = "", .parameters = 2, .without_effect = 80},
                                 [all = std::make_shared<const Weights>(of)] { return all; });
  }

  const Cohort cohort = BuildStudy(tiny.input).cohorts[0];

  EXPECT_THAT(cohort.l2_raw.note,
              HasSubstr("without 80 parameters that no output of the training depends on"));
  EXPECT_THAT(cohort.l2_normalised_all.note, HasSubstr("without 80 parameters"));
}

TEST(PlanHeadlineTest, SaysTheMeanAndTheRangeOfItsCellsNotTheLoudest) {
  TinyStudy tiny(kExamples, 10);
  for (const char* hardware : {"cpu-a", "cpu-b", "cpu-c"}) {
    const int64_t apart = 2 * (hardware[4] - 'a' + 1);  // Churn 2, 4 and 6 %.
    tiny.AddCell("algo", Algo(), hardware);
    tiny.AddMember(TenClassAnswers(10));
    tiny.AddMember(TenClassAnswers(10 + apart));
  }

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.headlines,
              Contains(HasSubstr("algo (frees init, data_order, augment and dropout): two "
                                 "trainings disagree on 4.00 % of the examples, the mean of 3 "
                                 "cells (2.00 % to 6.00 %; n = 2 members each); accuracy 88.00 % "
                                 "with a standard deviation of 3.06 % inside a cell.")));
}

TEST(PlanHeadlineTest, OfCellsWithUnlikeManyMembersBothEndsOfNAreTold) {
  TinyStudy tiny(kExamples, 10);
  for (const char* hardware : {"cpu-a", "cpu-b", "cpu-c"}) {
    const int64_t apart = 2 * (hardware[4] - 'a' + 1);
    tiny.AddCell("algo", Algo(), hardware);
    tiny.AddMember(TenClassAnswers(10));
    for (int r = 0; r < (apart == 2 ? 1 : 2); ++r) tiny.AddMember(TenClassAnswers(10 + apart));
  }

  // Of three members two are alike: 2, 8/3 and 4 %.
  EXPECT_THAT(BuildStudy(tiny.input).headlines,
              Contains(HasSubstr("disagree on 2.89 % of the examples, the mean of 3 cells (2.00 % "
                                 "to 4.00 %; n = 2 to 3 members each)")));
}

TEST(PlanHeadlineTest, PointsOfTheAxesHaveTheirOwn) {
  TinyStudy tiny(kExamples, 10);
  for (const char* rate : {"0.1", "0.2"}) {
    tiny.AddCell("init", StatesWithFree({NoiseSource::kInit}), "cpu-a", 0, Rate(rate));
    tiny.AddMember(TenClassAnswers(10));
    tiny.AddMember(TenClassAnswers(rate[2] == '1' ? 14 : 18));
  }

  EXPECT_THAT(
      BuildStudy(tiny.input).headlines,
      AllOf(Contains(HasSubstr("init (frees init), learning_rate=0.1: two trainings at this "
                               "one data_order, augment and dropout disagree on 4.00 % of "
                               "the examples (n = 2 members)")),
            Contains(HasSubstr("init (frees init), learning_rate=0.2: two trainings at this "
                               "one data_order, augment and dropout disagree on 8.00 %"))));
}

TEST(PlanHeadlineTest, OfManyPointsTheEndsAreNamedAndNoOrderIsClaimed) {
  TinyStudy tiny(kExamples, 10);
  for (int64_t k = 1; k <= 6; ++k) {
    tiny.AddCell("algo", Algo(), "cpu-a", 0, Rate("0." + std::to_string(k)));
    tiny.AddMember(TenClassAnswers(10));
    tiny.AddMember(TenClassAnswers(10 + k));
  }

  EXPECT_THAT(BuildStudy(tiny.input).headlines,
              Contains(HasSubstr("two trainings disagree on 1.00 % of the examples at "
                                 "learning_rate=0.1 to 6.00 % at learning_rate=0.6, of 6 points of "
                                 "the axes.")));
}

// Two classes with 2, 4 and 6 %, the second without its last block.
TEST(PlanHeadlineTest, OfSeveralClassesOverBlocksMeanAndRangeAreOfTheClasses) {
  TinyStudy tiny(kExamples, 10);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    for (const uint32_t block : {0u, 1u, 2u}) {
      tiny.AddCell("impl", Impl(), hardware, block);
      const bool lacks = hardware[4] == 'b' && block == 2;
      for (const int64_t wrong : {10u, 10 + 2 * (block + 1)}) {
        tiny.AddMember(TenClassAnswers(wrong)).state =
            lacks ? MemberState::kFailed : MemberState::kDone;
      }
    }
  }

  EXPECT_THAT(BuildStudy(tiny.input).headlines,
              Contains(HasSubstr("disagree on 3.50 % of the examples, the mean of 2 means over "
                                 "blocks (3.00 % to 4.00 %; n = 2 to 3 blocks each)")));
}

TEST(PlanHeadlineTest, OverBlocksItIsTheirMean) {
  TinyStudy tiny(kExamples, 10);
  for (const uint32_t block : {0u, 1u, 2u}) {
    tiny.AddCell("impl", Impl(), "cpu-a", block);
    tiny.AddMember(TenClassAnswers(10));
    tiny.AddMember(TenClassAnswers(10 + 2 * (block + 1)));
  }

  // 2, 4 and 6 %: SD 2, t(2) = 4.302653: 4.968.
  EXPECT_THAT(BuildStudy(tiny.input).headlines,
              Contains(HasSubstr("impl (frees kernels and reduce_order): two trainings disagree on "
                                 "4.00 % [0.00, 8.97] of the examples (n = 3 blocks)")));
}

}  // namespace
}  // namespace noisefloor::report
