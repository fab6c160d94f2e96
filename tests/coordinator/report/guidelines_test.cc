// What a study says is to be done, and what it must rest on before it says so.
#include "coordinator/report/guidelines.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Estimate Of(double value, double low, double high, int64_t n) {
  Estimate estimate;
  estimate.value = value;
  estimate.low = low;
  estimate.high = high;
  estimate.n = n;
  estimate.unit = "fraction";
  return estimate;
}

// One noisy cell whose spread is not told.
Study OneCell() {
  Study study;
  Cohort& cohort = study.cohorts.emplace_back();
  cohort.plan = "algo";
  cohort.label = "algo, cpu-a";
  cohort.hardware = "cpu-a";
  cohort.stack = "torch";
  cohort.acting = {"init", "data_order"};
  cohort.counts.done = 10;
  return study;
}

SourceDecomposition Shares(double init, double init_low, double order, double additive_high) {
  SourceDecomposition of;
  of.figure = "churn";
  of.setting = "cpu-a";
  of.factors = {"init", "data_order"};
  of.blocks = 6;
  of.whole = Of(0.1, 0.09, 0.11, 6);
  of.shares = {{"first_order", {"init"}, Of(init, init_low, 2 * init - init_low, 6)},
               {"first_order", {"data_order"}, Of(order, order - 0.01, order + 0.01, 6)},
               {"total", {"init"}, Of(0.9, 0.8, 1.0, 6)},
               {"additive", {}, Of(init + order, init + order - 0.1, additive_high, 6)}};
  return of;
}

TEST(GuidelinesTest, ASourceThatGoesWithMuchOfTheChurnIsHeld) {
  Study study = OneCell();
  study.decompositions = {Shares(0.6, 0.5, 0.1, 0.9)};
  EXPECT_THAT(
      BuildGuidelines(study),
      ElementsAre(
          "Hold init: that alone takes 60.00 % [50.00, 70.00] of the churn away (cpu-a; n = 6 "
          "blocks)."));
  study.decompositions[0].blocks = 1;
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("(cpu-a; n = 6 draws).")));
}

// Above 20 % by its own interval, not by that of the best of two.
TEST(GuidelinesTest, TheBestOfSeveralIsSaidOfNoneThatOnlyLooksBest) {
  Study study = OneCell();
  study.decompositions = {Shares(0.40, 0.21, 0.1, 0.9)};
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
  study.decompositions = {Shares(0.40, 0.28, 0.1, 0.9)};
  EXPECT_THAT(BuildGuidelines(study), Contains(StartsWith("Hold init: ")));
}

TEST(GuidelinesTest, OfTwoWorthHoldingTheLargerIsNamed) {
  Study study = OneCell();
  study.decompositions = {Shares(0.6, 0.5, 0.3, 0.9)};
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(StartsWith("Hold init: ")));
  study.decompositions = {Shares(0.5, 0.4, 0.6, 1.2)};
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(StartsWith("Hold data_order: ")));
}

// Its interval holds for the two shares of one setting, and not for the four of two.
TEST(GuidelinesTest, MoreSettingsTakeWiderIntervals) {
  Study study = OneCell();
  study.decompositions = {Shares(0.40, 0.25, 0.1, 0.9)};
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(StartsWith("Hold init: ")));
  study.decompositions.push_back(study.decompositions[0]);
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
}

TEST(GuidelinesTest, OfManySettingsNothingIsSaidOfSources) {
  Study study = OneCell();
  study.decompositions.assign(2, Shares(0.6, 0.5, 0.1, 0.9));
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(StartsWith("Hold init: "), StartsWith("Hold init: ")));
  study.decompositions.assign(3, Shares(0.6, 0.5, 0.1, 0.9));
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
}

TEST(GuidelinesTest, WhereSourcesActTogetherHoldingOneIsNotWorthIt) {
  Study study = OneCell();
  study.decompositions = {Shares(0.12, 0.08, 0.1, 0.33)};
  EXPECT_THAT(
      BuildGuidelines(study),
      ElementsAre(
          "Do not expect much of holding one source: by themselves they make 22.00 % "
          "[12.00, 33.00] of the churn all together, and the rest goes only when several are "
          "held together (cpu-a; n = 6 blocks)."));
  study.decompositions = {Shares(0.12, 0.05, 0.1, 0.33)};
  EXPECT_THAT(BuildGuidelines(study), IsEmpty()) << "by the interval of both it may be above 20 %";
  study.decompositions = {Shares(0.12, 0.08, 0.1, 0.33)};
  study.decompositions[0].factors.push_back("reduce_order");
  study.decompositions[0].uncontrolled = "reduce_order";
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(StartsWith("Do not expect much of holding one source")))
      << "whatever is known of what cannot be held";
}

TEST(GuidelinesTest, WhatEqualSeedsLeaveIsSaidWhereThereIsSomething) {
  Study study = OneCell();
  SourceDecomposition of = Shares(0.2, 0.1, 0.1, 0.6);
  of.factors.push_back("reduce_order");
  of.uncontrolled = "reduce_order";
  of.shares.push_back({"total", {"reduce_order"}, Of(0.12, 0.05, 0.19, 6)});
  of.shares.push_back({"first_order", {"reduce_order"}, Of(0.9, 0.8, 1.0, 6)});
  study.decompositions = {of};
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(StartsWith(
                  "Equal seeds are not enough: reduce_order makes 12.00 % [5.00, 19.00]")))
      << "and what cannot be held is not to be held";
  study.decompositions[0].shares[4].share.low = -0.01;
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
  study.decompositions[0].shares[4].share = Of(0.12, 0.02, 0.22, 6);
  EXPECT_THAT(BuildGuidelines(study), IsEmpty()) << "above 0 by its own interval only";
}

TEST(GuidelinesTest, UnderTrainedSharesAndThoseOfTwoDrawsSayNothing) {
  Study study = OneCell();
  study.decompositions = {Shares(0.6, 0.5, 0.1, 0.9)};
  study.decompositions[0].under_trained = true;
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
  study.decompositions = {Shares(0.6, 0.5, 0.1, 0.9)};
  study.decompositions[0].whole.n = 2;
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
}

// Upper 80 % end of 0.4 % of ten: 0.4 sqrt(9 / 5.380) = 0.5173 %; 1.96 sqrt(2) of it is 1.434 %.
TEST(GuidelinesTest, HowManyTrainingsAComparisonTakes) {
  Study study = OneCell();
  study.cohorts[0].accuracy_sd = Of(0.004, 0.003, 0.007, 10);
  const double sd = 0.004 * std::sqrt(9 / 5.380053);
  int64_t n = 2;
  while (*analysis::DetectableMeanDifference(n, sd) > 0.005) ++n;
  ASSERT_EQ(n, 18);
  EXPECT_THAT(
      BuildGuidelines(study),
      ElementsAre("Do not compare one training with one: in 19 of 20 cases two of the same "
                  "recipe differ by up to 1.43 % in top-1. 18 trainings a side, with draws of "
                  "their own, see a difference of 0.50 % (80 % power at 5 %) (algo, cpu-a: SD "
                  "0.40 %, at most 0.52 % at 80 %, n = 10)."));
  study.cohorts[0].accuracy_sd.n = 4;
  EXPECT_THAT(BuildGuidelines(study), IsEmpty()) << "too few to say how far they spread";
  study.cohorts[0].accuracy_sd.n = 10;
  study.cohorts[0].under_trained = true;
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
}

TEST(GuidelinesTest, TheCellThatSpreadsMostSaysHowManyTrainings) {
  Study study = OneCell();
  study.cohorts.push_back(study.cohorts[0]);
  study.cohorts[1].label = "algo, cpu-b";
  study.cohorts[0].accuracy_sd = Of(0.004, 0.003, 0.007, 10);
  study.cohorts[1].accuracy_sd = Of(0.006, 0.004, 0.011, 10);
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("(algo, cpu-b: SD 0.60 %, at most")));
  // Of fewer, a smaller one may be larger: 0.50 sqrt(4 / 1.649) is 0.78 %, that of ten 0.67 %.
  study.cohorts[0].accuracy_sd = Of(0.005, 0.003, 0.014, 5);
  study.cohorts[1].accuracy_sd = Of(0.0052, 0.004, 0.009, 10);
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(HasSubstr("(algo, cpu-a: SD 0.50 %, at most 0.78 %")));
}

TEST(GuidelinesTest, OfSeveralPlansTheOneThatFreesMostSpeaks) {
  Study study = OneCell();
  study.cohorts[0].accuracy_sd = Of(0.006, 0.004, 0.011, 10);
  study.cohorts.push_back(study.cohorts[0]);
  study.cohorts[1].plan = "algo+impl";
  study.cohorts[1].label = "algo+impl, cpu-a";
  study.cohorts[1].acting = {"init", "data_order", "reduce_order"};
  study.cohorts[1].accuracy_sd = Of(0.004, 0.003, 0.007, 10);
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("(algo+impl, cpu-a: SD 0.40 %")));
  std::swap(study.cohorts[0], study.cohorts[1]);
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("(algo+impl, cpu-a: SD 0.40 %")));
  study.cohorts[0].shared = {"init"};
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("(algo, cpu-a: SD 0.60 %")))
      << "members that share draws are no trainings of a comparison";
  study.cohorts[0].shared = {};
  study.cohorts[0].counts.done = 1;
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("(algo, cpu-a: SD 0.60 %")))
      << "of a plan that was cancelled there is nothing to say";
}

TEST(GuidelinesTest, BeyondAHundredTrainingsTheNumberIsAsExact) {
  Study study = OneCell();
  study.cohorts[0].accuracy_sd = Of(0.012, 0.008, 0.022, 10);
  const double sd = 0.012 * std::sqrt(9 / 5.380053);
  int64_t n = 2;
  while (*analysis::DetectableMeanDifference(n, sd) > 0.005) ++n;
  ASSERT_GT(n, 146);
  ASSERT_LT(n, 160);
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(HasSubstr(". " + std::to_string(n) + " trainings a side, ")));
}

Comparison Between(const std::string& b, double high, bool shown) {
  Comparison comparison;
  comparison.plan = "algo";
  comparison.label = "algo: cpu-a against " + b;
  comparison.hardware_a = "cpu-a";
  comparison.hardware_b = b;
  comparison.churn_excess = Of(high - 0.004, high - 0.008, high, 8);
  comparison.accuracy_difference = Of(-0.001, -0.003, 0.001, 8);
  comparison.draws = 8;
  comparison.shift.shown = shown;
  return comparison;
}

// By how much more two members of a class differ than two of cpu-a.
Contrast OfChurn(const std::string& b, double low, double high) {
  Contrast contrast{.question = Question::kHardware, .a = "cpu-a", .b = b, .plan = "algo"};
  FigureContrast& churn = contrast.figures.emplace_back();
  churn.figure = "churn";
  churn.estimate = Of((low + high) / 2, low, high, 8);
  churn.settings = 1;
  return contrast;
}

TEST(GuidelinesTest, ClassesMayBeMixedWhereNoTwoShift) {
  Study study = OneCell();
  study.hardware = {Between("cpu-b", 0.004, false), Between("cpu-c", 0.007, false)};
  study.contrasts = {OfChurn("cpu-b", -0.002, 0.003), OfChurn("cpu-c", -0.006, 0.001)};
  EXPECT_THAT(
      BuildGuidelines(study),
      ElementsAre("Members of these classes may be pooled under algo: between no two does the "
                  "mean answer shift by 1.00 % or more, nor churn differ by 1.00 %, nor top-1 by "
                  "0.50 %; at most 0.70 % (algo: cpu-a against cpu-c; n = 8 draws), 0.60 % and "
                  "0.30 %."));
  study.hardware.push_back(Between("cpu-d", 0.013, false));
  EXPECT_THAT(
      BuildGuidelines(study),
      ElementsAre(
          "Whether members of different classes may be pooled under algo is open: a shift of the "
          "mean "
          "answer by up to 1.30 % is not excluded (algo: cpu-a against cpu-d; n = 8 draws)."));
  // That of all classes at once is what a claim of two rests on.
  SettingTest& test = study.hardware_tests.emplace_back();
  test.plan = "algo";
  test.setting = "algo";
  test.shift.p_holm = 0.004;
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("is open")));
  test.shift.shown = true;
  EXPECT_THAT(
      BuildGuidelines(study),
      ElementsAre(
          "Do not pool members of different classes as if of one: the mean answer shifts between "
          "them (algo, p = 0.004 after Holm); between which two so few draws do not "
          "tell."));
  study.hardware.push_back(Between("cpu-e", 0.03, true));
  EXPECT_THAT(
      BuildGuidelines(study),
      ElementsAre(
          "Do not pool members of different classes as if of one: the mean answer shifts between "
          "them (algo, p = 0.004 after Holm); algo: cpu-a against cpu-e by 2.60 % "
          "[2.20, 3.00]."));
  study.hardware_tests[0].plan = "another";
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("is open")));
}

TEST(GuidelinesTest, ClassesWhoseStacksDifferAsWellArePooledWithThese) {
  Study study = OneCell();
  study.hardware = {Between("cpu-b", 0.004, false)};
  study.hardware[0].mixes_stacks = true;
  study.contrasts = {OfChurn("cpu-b", -0.002, 0.003)};
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(StartsWith("Members of these classes, whose stacks differ as well, may "
                                     "be pooled under algo: ")));
  study.hardware = {Between("cpu-b", 0.013, false)};
  study.hardware[0].mixes_stacks = true;
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(StartsWith("Whether members of different classes, whose stacks differ as "
                                     "well, may be pooled under algo is open: ")));
}

// A shift is a squared distance: a small loss everywhere hardly shows in it.
TEST(GuidelinesTest, ClassesWhoseTop1MayDifferAreNotMixed) {
  Study study = OneCell();
  study.hardware = {Between("cpu-b", 0.004, false), Between("cpu-c", 0.003, false)};
  study.hardware[1].accuracy_difference = Of(-0.003, -0.006, 0.001, 8);
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre("Whether members of different classes may be pooled under algo is open: "
                          "a difference of top-1 by up to 0.60 % is not excluded (algo: cpu-a "
                          "against cpu-c; n = 8 draws)."));
  study.hardware[1].accuracy_difference.low = study.hardware[1].accuracy_difference.high =
      std::nullopt;
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(HasSubstr("is open: how far top-1 differs is not")));

  Contrast contrast{.question = Question::kHardware, .a = "cpu-a", .b = "cpu-c", .plan = "algo"};
  FigureContrast& top1 = contrast.figures.emplace_back();
  top1.figure = "accuracy";
  top1.estimate = Of(-0.0175, -0.0229, -0.0121, 8);
  top1.p_holm = 0.002;
  study.contrasts = {contrast};
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("is open")));
  study.contrasts[0].figures[0].shown = true;
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre("Do not pool members of different classes as if of one: what differs "
                          "under algo is top-1 between cpu-a and cpu-c (-1.75 % [-2.29, -1.21], p "
                          "= 0.002 after Holm)."));
  study.contrasts[0].plan = "another";
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("is open")));
}

// 6 and 8 %: that nothing is shown of 20 tests (p = 0.02) is not that nothing differs.
TEST(GuidelinesTest, ClassesWhoseChurnMayDifferAreNotMixed) {
  Study study = OneCell();
  study.hardware = {Between("cpu-b", 0.006, false)};
  study.contrasts = {OfChurn("cpu-b", 0.004, 0.036)};
  study.contrasts[0].figures[0].p = 0.02;
  study.contrasts[0].figures[0].p_holm = 0.4;
  const std::string open =
      "Whether members of different classes may be pooled under algo is open: a difference of "
      "churn by up to 3.60 % is not excluded (algo: cpu-a against cpu-b; n = 8 draws).";
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(open));
  study.contrasts = {OfChurn("cpu-b", -0.036, -0.004)};
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(open));
  std::swap(study.contrasts[0].a, study.contrasts[0].b);
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(open)) << "the same two the other way round";
  // Of several the one that may differ most.
  study.hardware = {Between("cpu-b", 0.006, false), Between("cpu-c", 0.003, false)};
  study.contrasts = {OfChurn("cpu-b", -0.002, 0.003), OfChurn("cpu-c", -0.012, 0.003)};
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(HasSubstr("by up to 1.20 % is not excluded (algo: cpu-a against cpu-c")));
  study.contrasts[1] = OfChurn("cpu-c", -0.009, 0.003);
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("may be pooled under algo: ")));
}

TEST(GuidelinesTest, WhereTheChurnOfTwoIsNotSetAgainstEachOtherItIsOpen) {
  Study study = OneCell();
  study.hardware = {Between("cpu-b", 0.006, false), Between("cpu-c", 0.003, false)};
  const auto open = ElementsAre(
      "Whether members of different classes may be pooled under algo is open: how far churn "
      "differs is not known of every two.");
  const Contrast other = OfChurn("cpu-c", -0.002, 0.003);
  study.contrasts = {other};
  EXPECT_THAT(BuildGuidelines(study), open);
  for (const auto& change : std::vector<void (*)(Contrast&)>{
           [](Contrast& contrast) { contrast.plan = "another"; },
           [](Contrast& contrast) { contrast.question = Question::kStack; },
           [](Contrast& contrast) { contrast.a = "cpu-d"; },
           [](Contrast& contrast) { contrast.figures[0].figure = "accuracy"; },
           [](Contrast& contrast) {
             contrast.figures[0].estimate.low = contrast.figures[0].estimate.high = std::nullopt;
           }}) {
    study.contrasts = {OfChurn("cpu-b", -0.002, 0.003), other};
    ASSERT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("may be pooled under algo: ")));
    change(study.contrasts[0]);
    EXPECT_THAT(BuildGuidelines(study), open);
  }
}

// A difference in one setting is thinned out in the mean over settings.
TEST(GuidelinesTest, OfSeveralSettingsEachHasItsOwnChurn) {
  Study study = OneCell();
  study.hardware = {Between("cpu-b", 0.006, false), Between("cpu-b", 0.003, false)};
  study.hardware[1].label = "algo, epochs=2: cpu-a against cpu-b";
  study.contrasts = {OfChurn("cpu-b", -0.002, 0.003)};
  study.contrasts[0].figures[0].settings = 2;
  for (Comparison& comparison : study.hardware) {
    comparison.churn_within_a = Of(0.060, 0.058, 0.062, 8);
    comparison.churn_within_b = Of(0.061, 0.059, 0.063, 8);
  }
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(HasSubstr("n = 8 draws), 0.50 % and 0.30 %.")));  // 0.063 - 0.058
  for (const double inside : {0.040, 0.080}) {
    study.hardware[1].churn_within_b = Of(inside, inside - 0.002, inside + 0.002, 8);
    EXPECT_THAT(BuildGuidelines(study),
                ElementsAre(HasSubstr("is open: a difference of churn by up to 2.40 % is not "
                                      "excluded (algo, epochs=2: cpu-a against cpu-b; n = 8")));
  }
  study.hardware[1].churn_within_b.high = std::nullopt;
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("how far churn differs is not known")));
}

TEST(GuidelinesTest, StacksAreMixedByWhatIsSaidOfStacks) {
  Study study = OneCell();
  study.stacks = {Between("cpu-a", 0.006, false)};
  study.stacks[0].factor = Factor::kStack;
  study.stacks[0].stack_a = "torch-a";
  study.stacks[0].stack_b = "torch-b";
  Contrast contrast = OfChurn("torch-b", -0.002, 0.003);
  contrast.a = "torch-a";
  contrast.question = Question::kStack;
  study.contrasts = {contrast};
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(StartsWith("Members of these stacks may be pooled under algo: ")));
  SettingTest& test = study.stack_tests.emplace_back();
  test.factor = Factor::kStack;
  test.plan = test.setting = "algo";
  test.shift.p_holm = 0.004;
  test.shift.shown = true;
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(StartsWith("Do not pool members of different stacks as if of one: the "
                                     "mean answer shifts between them (algo, p = 0.004 after ")));
  study.stack_tests.clear();
  study.contrasts[0].question = Question::kHardware;
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("how far churn differs is not known")));
}

// Both classes have the same twelve members, each as another replicate: nothing differs, and the
// contrasts of a real study are found.
TEST(GuidelinesTest, CellsThatOnlyMixedUpTheirMembersArePooled) {
  for (const std::vector<std::string>& rates :
       {std::vector<std::string>{"0.1"}, std::vector<std::string>{"0.1", "0.2"}}) {
    constexpr size_t kMembers = 12;
    analysis::Draws draws(31);
    std::vector<std::vector<int16_t>> members(kMembers);
    for (std::vector<int16_t>& answers : members) {
      for (int64_t x = 0; x < 2000; ++x) {
        answers.push_back(static_cast<int16_t>((x + (draws.Uniform() < 0.005 ? 1 : 0)) % 4));
      }
    }
    TinyStudy tiny(2000, 4);
    for (const std::string& rate : rates) {
      for (const size_t turned : {size_t{0}, size_t{1}}) {
        tiny.AddCell("algo", Algo(), turned == 0 ? "cpu-a" : "cpu-b", 0, Rate(rate));
        for (size_t r = 0; r < kMembers; ++r) tiny.AddMember(members[(r + turned) % kMembers]);
      }
    }
    EXPECT_THAT(BuildStudy(tiny.input).guidelines,
                Contains(StartsWith("Members of these classes may be pooled under algo: ")));
  }
}

TEST(GuidelinesTest, AComparisonWithoutAnIntervalLeavesItOpen) {
  Study study = OneCell();
  study.hardware = {Between("cpu-b", 0.004, false), Between("cpu-c", 0.003, false)};
  study.hardware[1].churn_excess.high = std::nullopt;
  EXPECT_THAT(BuildGuidelines(study),
              ElementsAre(HasSubstr("may be pooled under algo is open: how far the mean answer "
                                    "shifts is not known of every two.")));
  study.hardware[0].churn_excess.high = std::nullopt;
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
  study.hardware = {Between("cpu-b", 0.004, false), Between("cpu-c", 0.003, false)};
  study.hardware[1].under_trained = true;
  EXPECT_THAT(BuildGuidelines(study), ElementsAre(HasSubstr("is open"))) << "it was not compared";
}

// Another draw of what is held may be as far away as any.
TEST(GuidelinesTest, NothingIsSaidOfThePlanThatHoldsADraw) {
  Study study = OneCell();
  study.cohorts[0].accuracy_sd = Of(0.004, 0.003, 0.007, 10);
  study.hardware = {Between("cpu-b", 0.004, false)};
  ASSERT_EQ(BuildGuidelines(study).size(), 2u);
  study.cohorts[0].held = {"init"};
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
}

// SD 0.1 %: two differ by less than what would matter.
TEST(GuidelinesTest, WhereOneTrainingIsEnoughNothingIsSaidAgainstIt) {
  Study study = OneCell();
  study.cohorts[0].accuracy_sd = Of(0.001, 0.0008, 0.002, 10);
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
}

TEST(GuidelinesTest, ABrokenControlComesFirst) {
  Study study = OneCell();
  study.cohorts[0].accuracy_sd = Of(0.004, 0.003, 0.007, 10);
  ControlCheck& control = study.controls.emplace_back();
  control.label = "control, cpu-a";
  control.verdict = "different";
  control.first_difference = "weights at evaluation 2";
  EXPECT_THAT(
      BuildGuidelines(study).at(0),
      StartsWith("First find what is not held still: control, cpu-a differs from weights at "
                 "evaluation 2 on"));
  study.controls[0].verdict = "unproved";
  EXPECT_THAT(BuildGuidelines(study), Not(Contains(HasSubstr("held still"))));
}

TEST(GuidelinesTest, NothingOfWhatGrowsStillOrWasNotTrained) {
  Study study = OneCell();
  study.cohorts[0].accuracy_sd = Of(0.004, 0.003, 0.007, 10);
  ASSERT_THAT(BuildGuidelines(study), Not(IsEmpty()));
  study.interim = true;
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
  study.interim = false;
  study.cohorts[0].stack = "noop";
  EXPECT_THAT(BuildGuidelines(study), IsEmpty());
}

}  // namespace
}  // namespace noisefloor::report
