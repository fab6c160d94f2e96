// Partial and degenerate studies: each has a defined answer in words; none a crash, none a silent
// zero. Every study here is also rendered in every form.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/report/export.h"
#include "coordinator/report/study.h"
#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"
#include "tests/coordinator/report/example_study.h"
#include "tests/coordinator/report/has_warning.h"

namespace noisefloor::report {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void ExpectRenders(const Study& study) {
  EXPECT_TRUE(nlohmann::json::parse(StudyToJson(study), nullptr, false).is_object());
  EXPECT_THAT(RenderTables(study), HasSubstr(study.title));
  EXPECT_THAT(StudyToCsv(study), HasSubstr("table,cell,label"));
}

Study Built(const ExampleStudy& example) {
  Study study = BuildStudy(example.input);
  ExpectRenders(study);
  return study;
}

// Every estimate of a cohort that is absent says why.
void ExpectAbsentInWords(const Cohort& cohort) {
  for (const Estimate* estimate :
       {&cohort.accuracy, &cohort.accuracy_sd, &cohort.top5, &cohort.loss, &cohort.churn,
        &cohort.churn_to_error, &cohort.any_disagreement, &cohort.any_of_3, &cohort.l2_raw,
        &cohort.l2_normalised, &cohort.l2_raw_all, &cohort.l2_normalised_all, &cohort.cosine,
        &cohort.seconds}) {
    EXPECT_TRUE(estimate->value.has_value() || !estimate->note.empty());
  }
}

TEST(BadInputTest, AnEmptyStudySaysThatItIsEmpty) {
  const Study study = BuildStudy(StudyInput{});

  EXPECT_THAT(study.warnings, Warns("It has no members."));
  EXPECT_THAT(study.cohorts, IsEmpty());
  EXPECT_EQ(study.divergent.note, "No member has usable predictions.");
  ExpectRenders(study);
}

TEST(BadInputTest, OneMemberHasAnAccuracyAndNothingAboutNoise) {
  const Study study = Built(MakeExampleStudy({.replicates = 1}));

  const Cohort& cohort = study.cohorts[3];
  EXPECT_TRUE(cohort.accuracy.value.has_value());
  EXPECT_FALSE(cohort.accuracy_sd.value.has_value());
  EXPECT_FALSE(cohort.churn.value.has_value());
  EXPECT_EQ(cohort.churn.note, "needs two members, there are 1");
  EXPECT_EQ(study.controls[0].verdict, "unproved");
  EXPECT_THAT(study.physical[0].text, HasSubstr("not known, needs two runs"));
  EXPECT_FALSE(study.physical[0].upper_bound.has_value());
  EXPECT_THAT(study.hardware[3].text, HasSubstr("Too few replicates"));
  EXPECT_THAT(study.warnings, Warns("One finished member: nothing can be said about noise."));
  ExpectAbsentInWords(cohort);
}

TEST(BadInputTest, TwoMembersHaveFiguresWithoutIntervals) {
  const Study study = Built(MakeExampleStudy({.replicates = 2}));

  EXPECT_TRUE(study.cohorts[3].churn.value.has_value());
  EXPECT_FALSE(study.cohorts[3].churn.low.has_value());
  EXPECT_THAT(study.warnings, Warns("Two finished members: figures over pairs have no interval."));
  // No cohort has two members in one half.
  EXPECT_THAT(study.divergent.examples, IsEmpty());
  EXPECT_FALSE(study.divergent.subset_disagreement.value.has_value());
  EXPECT_THAT(study.divergent.note, HasSubstr("a cohort with three members"));
}

TEST(BadInputTest, WhenAllFailedEveryFigureIsAbsentAndTheFailuresAreCounted) {
  ExampleStudy example = MakeExampleStudy();
  for (MemberInput& member : example.input.members) member.state = MemberState::kFailed;

  const Study study = Built(example);

  EXPECT_EQ(study.counts.failed, 36);
  for (const Cohort& cohort : study.cohorts) {
    EXPECT_FALSE(cohort.accuracy.value.has_value());
    EXPECT_EQ(cohort.churn.note, "no member is done");
    EXPECT_FALSE(cohort.under_trained);
    ExpectAbsentInWords(cohort);
  }
  EXPECT_THAT(study.warnings, Warns("4 of 4 failed; failures are not missing"));
  EXPECT_THAT(study.curves, IsEmpty());
  EXPECT_THAT(study.environment, IsEmpty());
}

TEST(BadInputTest, WhenAllDivergedTheirCurvesAreShownAndNoMeansAreMade) {
  ExampleStudy example = MakeExampleStudy();
  for (MemberInput& member : example.input.members) {
    member.state = MemberState::kDiverged;
    member.final_metrics = {{"loss", std::numeric_limits<double>::quiet_NaN()}};
    member.curves["train_loss"].back().value = std::numeric_limits<double>::infinity();
  }

  const Study study = Built(example);

  EXPECT_EQ(study.counts.diverged, 36);
  EXPECT_FALSE(study.cohorts[3].loss.value.has_value());
  EXPECT_FALSE(study.cohorts[3].churn.value.has_value());
  ASSERT_FALSE(study.curves.empty());
  EXPECT_FALSE(study.curves[0].mean[0].has_value());
  EXPECT_EQ(study.curves[0].members.size(), 4u);
  // Diverging is deterministic too: the control check holds for diverged members.
  EXPECT_EQ(study.controls[0].verdict, "identical");
  EXPECT_THAT(StudyToJson(study), HasSubstr("\"inf\""));
  EXPECT_THAT(StudyToJson(study), HasSubstr("{\"loss\":\"nan\"}"));
}

TEST(BadInputTest, DivergedMembersLeaveTheHealthyOnesAlone) {
  ExampleStudy example = MakeExampleStudy();
  ExampleStudy three = MakeExampleStudy();
  example.Member("s1c3r3").state = MemberState::kDiverged;
  example.Member("s1c3r3").final_metrics["top1"] = std::numeric_limits<double>::quiet_NaN();
  three.input.members.erase(three.input.members.begin() + 15);

  const Study study = Built(example);

  EXPECT_EQ(study.cohorts[3].churn.value, BuildStudy(three.input).cohorts[3].churn.value);
  EXPECT_EQ(study.cohorts[3].counts.diverged, 1);
  EXPECT_THAT(study.warnings, Warns("1 of 4 diverged: a result"));
}

TEST(BadInputTest, WhatIsSaidOfManyCellsIsPrintedOnceAndKeptOfEach) {
  ExampleStudy example = MakeExampleStudy();
  for (MemberInput& member : example.input.members) member.state = MemberState::kDiverged;

  const Study study = Built(example);

  const auto diverged = [](const Warning& w) { return w.text.starts_with("4 of 4 diverged"); };
  EXPECT_EQ(std::ranges::count_if(study.warnings, diverged), 9);
  const std::string text = RenderTables(study);
  EXPECT_THAT(text, HasSubstr("warning: cell 0 (control, cpu-intel-avx2), cell 1 (control, "
                              "cpu-intel-avx512), cell 2 (control, cpu-intel-sse) and 6 more: "
                              "4 of 4 diverged"));
  EXPECT_THAT(text, ContainsRegex("and 6 more: No replicate with equal lanes is done on both"));
  EXPECT_EQ(text.find("4 of 4 diverged"), text.rfind("4 of 4 diverged"));
  EXPECT_THAT(text, Not(HasSubstr("Hardware: the same replicates")));
}

TEST(BadInputTest, AnErrorNamesEverythingThatItIsAbout) {
  Study study;
  for (int cell = 0; cell < 9; ++cell) {
    study.warnings.push_back({"error", "cell " + std::to_string(cell), "Broken."});
  }
  EXPECT_THAT(RenderTables(study), HasSubstr("error: cell 0, cell 1, cell 2, cell 3, cell 4, cell "
                                             "5, cell 6, cell 7 and cell 8: Broken."));
}

TEST(BadInputTest, WithoutPredictionsAccuracyStaysAndChurnIsAbsent) {
  ExampleStudy example = MakeExampleStudy();
  for (MemberInput& member : example.input.members) {
    member.predictions = {};
    member.per_class_accuracy = {0.5, 0.25 + 0.1 * member.replicate};
  }

  const Study study = Built(example);

  EXPECT_TRUE(study.cohorts[3].accuracy.value.has_value());
  EXPECT_EQ(study.cohorts[3].churn.note, "no member has usable predictions");
  EXPECT_EQ(study.counts.without_predictions, 36);
  EXPECT_THAT(study.warnings, Warns("churn cannot be measured"));
  EXPECT_THAT(study.heat_map.note, HasSubstr("36 members are not shown"));
  EXPECT_EQ(study.hardware[3].churn_paired.note, "no replicate has predictions on both sides");
  // What the trainers said of classes is still there.
  ASSERT_EQ(study.cohorts[3].per_class.size(), 2u);
  EXPECT_NEAR(*study.cohorts[3].per_class[1].accuracy.value, 0.4, 1e-12);
  const double sd = 0.1 * std::sqrt(5.0 / 3);  // Of 0, 1, 2 and 3 tenths.
  EXPECT_NEAR(*study.cohorts[3].per_class[1].accuracy_sd.value, sd, 1e-12);
  EXPECT_NEAR(*study.cohorts[3].per_class[1].range.value, 0.3, 1e-12);
  ASSERT_GT(*study.cohorts[3].accuracy_sd.value, 0);
  EXPECT_NEAR(*study.cohorts[3].per_class[1].ratio.value, sd / *study.cohorts[3].accuracy_sd.value,
              1e-9);
  EXPECT_EQ(study.cohorts[3].per_class[0].ratio.value, 0.0) << "its members do not differ";
  EXPECT_FALSE(study.cohorts[3].per_class[1].churn.value.has_value());
}

TEST(BadInputTest, SomeMissingPredictionsAreCountedAndTheRestUsed) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c3r0").predictions = {};

  const Study study = Built(example);

  EXPECT_EQ(study.cohorts[3].churn.n, 3);
  EXPECT_EQ(study.cohorts[3].accuracy.n, 4);
  EXPECT_EQ(study.cohorts[3].counts.without_predictions, 1);
  EXPECT_EQ(study.hardware[3].pairs, 4);
  EXPECT_EQ(study.hardware[3].churn_paired.n, 3);
  EXPECT_THAT(study.warnings, Warns("1 of 4 finished members have no usable predictions."));
}

TEST(BadInputTest, PredictionsOfAnotherSizeAreLeftOutByName) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c3r0").predictions = example.Member("s1c3r0").predictions.values().first(990);

  const Study study = Built(example);

  EXPECT_THAT(study.warnings,
              Contains(AllOf(Field(&Warning::subject, "s1c3r0"),
                             Field(&Warning::text,
                                   "predictions have 990 values, expected 120 x 10: left out."))));
  EXPECT_EQ(study.cohorts[3].churn.n, 3);
}

TEST(BadInputTest, NanLogitsAreAnswersThatEqualNothing) {
  ExampleStudy example = MakeExampleStudy();
  for (size_t r = 0; r < 4; ++r) example.logits[r][3] = std::numeric_limits<float>::quiet_NaN();

  const Study study = Built(example);

  // Control: all else equal, the one example with a nan differs in every pair.
  EXPECT_DOUBLE_EQ(*study.cohorts[0].churn.value, 1.0 / 120);
  EXPECT_THAT(study.warnings, Warns("Its trainer reports a top-1 of"));
  EXPECT_THAT(study.hardware[0].logits_correlation_paired.note, HasSubstr("4 pairs left out"));
  EXPECT_FALSE(study.hardware[0].logits_correlation_paired.value.has_value());
}

TEST(BadInputTest, EqualLogitsEverywhereAreUnderTrainedAndNotDivergent) {
  ExampleStudy example = MakeExampleStudy();
  for (std::vector<float>& logits : example.logits) logits.assign(logits.size(), 1.0f);
  for (MemberInput& member : example.input.members) member.final_metrics.clear();

  const Study study = Built(example);

  EXPECT_DOUBLE_EQ(*study.cohorts[3].accuracy.value, 0.1);  // All ties go to class 0.
  EXPECT_TRUE(study.cohorts[3].under_trained);
  EXPECT_THAT(study.warnings, Warns("(10.0 % < 20.0 %)"));
  EXPECT_THAT(study.divergent.examples, IsEmpty());
  EXPECT_THAT(study.divergent.note, HasSubstr("agree on every example"));
}

TEST(BadInputTest, WithoutLabelsThereIsChurnButNobodyToPay) {
  ExampleStudy example = MakeExampleStudy();
  example.input.evaluations[0].labels.clear();

  const Study study = Built(example);

  EXPECT_TRUE(study.cohorts[3].churn.value.has_value());
  EXPECT_THAT(study.cohorts[3].per_class, IsEmpty());
  EXPECT_EQ(study.evaluation.examples, 120);
  EXPECT_EQ(study.divergent.note, "The labels of the evaluation set are not known.");
}

TEST(BadInputTest, WithoutClassesOrEvaluationSetNothingIsGuessed) {
  ExampleStudy example = MakeExampleStudy();
  example.input.evaluations[0] = {};

  const Study study = Built(example);

  EXPECT_TRUE(study.cohorts[3].accuracy.value.has_value());
  EXPECT_FALSE(study.cohorts[3].churn.value.has_value());
  EXPECT_FALSE(study.cohorts[3].under_trained);
}

TEST(BadInputTest, ImagesOfAnotherSizeAreNotDrawn) {
  ExampleStudy example = MakeExampleStudy();
  example.input.evaluations[0].images = example.input.evaluations[0].images.first(10);

  const Study study = Built(example);

  ASSERT_THAT(study.divergent.examples, Not(IsEmpty()));
  EXPECT_EQ(study.divergent.examples[0].picture.pixels, "");
}

TEST(BadInputTest, WithoutWeightsDistancesAreAbsentInWords) {
  ExampleStudy example = MakeExampleStudy();
  for (MemberInput& member : example.input.members) member.weights = {};

  const Study study = Built(example);

  EXPECT_FALSE(study.cohorts[3].l2_raw.value.has_value());
  EXPECT_THAT(study.cohorts[3].l2_raw.note, HasSubstr("4 members left out"));
  EXPECT_EQ(study.counts.without_weights, 36);
}

TEST(BadInputTest, AMemberOfAnUnknownCellIsLeftOutByName) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c3r0").cell = 99;

  const Study study = Built(example);

  EXPECT_EQ(study.cohorts[3].counts.total, 3);
  EXPECT_THAT(study.warnings, Warns("Belongs to cell 99, which is not in the sweep"));
}

TEST(BadInputTest, BrokenEnvironmentsAndNamesDoNoHarm) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c0r0").environment_json = "{not json";
  example.Member("s1c0r1").environment_json = "[1, 2]";
  example.Member("s1c0r2").environment_json = "";
  example.input.sweep.notes = "\xff\xfe broken UTF-8";
  example.input.sweep.name = "</script><b>";

  const Study study = Built(example);

  EXPECT_EQ(study.environment[0].members, 12);
}

TEST(BadInputTest, WaitingMembersAreMissingNotFailed) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c3r2").state = MemberState::kWaiting;
  example.Member("s1c3r3").state = MemberState::kLeased;
  example.Member("s1c4r3").state = MemberState::kCancelled;

  const Study study = Built(example);

  EXPECT_EQ(study.counts.missing, 2);
  EXPECT_EQ(study.counts.cancelled, 1);
  EXPECT_THAT(study.warnings, Warns("2 of 4 are not finished yet."));
}

// Nobody knows what a run without hashes ended in: it is none of those that agree.
TEST(BadInputTest, ARunWithoutHashesIsNoneOfThoseInWhichNoNoiseIsSeen) {
  ExampleStudy example = MakeExampleStudy({.silent_impl = true});
  example.Member("s1c6r1").hashes = {};

  const Study study = Built(example);

  EXPECT_EQ(study.physical[0].cell, 6u);
  EXPECT_EQ(study.physical[0].runs, 3);
  EXPECT_NEAR(*study.physical[0].upper_bound, 1 - std::sqrt(0.05), 1e-12);
  EXPECT_THAT(study.physical[0].text, HasSubstr("no noise seen in 3 runs: at most 77.6 % of runs"));
  EXPECT_EQ(study.physical[1].runs, 4);
}

}  // namespace
}  // namespace noisefloor::report
