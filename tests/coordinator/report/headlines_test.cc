#include "coordinator/report/headlines.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/report/example_study.h"
#include "tests/coordinator/report/ten_classes.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

TEST(HeadlinesTest, AStudyOfTheBuiltInTrainerSaysFirstThatNothingWasTrained) {
  Study study;
  study.cohorts.resize(2);
  EXPECT_THAT(BuildHeadlines(study), testing::IsEmpty());
  study.cohorts[0].stack = "noop";
  EXPECT_EQ(BuildHeadlines(study).at(0),
            "1 of 2 cohorts were not trained: the stack noop makes results up from the seeds, to "
            "try out a fleet.");
  study.cohorts[1].stack = "noop";
  EXPECT_EQ(BuildHeadlines(study).at(0),
            "Nothing was trained: the stack noop makes results up from the seeds, to try out a "
            "fleet.");
}

TEST(HeadlinesTest, TheyAnswerWhatAPersonAsks) {
  const Study study = BuildStudy(MakeExampleStudy().input);

  EXPECT_THAT(
      study.headlines,
      Contains(HasSubstr("algo (frees init, data_order, augment and dropout): two trainings "
                         "disagree on")));
  EXPECT_THAT(
      study.headlines,
      Contains(HasSubstr("impl (frees kernels, autotune and reduce_order): two trainings at "
                         "this one init, data_order, augment and dropout disagree on")));
  // Of four independent draws, not of four copies of one.
  EXPECT_THAT(study.headlines, Contains(AllOf(HasSubstr("Changing only the hardware changes"),
                                              HasSubstr("(n = 4 draws of algo; the mean of 3"))));
  EXPECT_THAT(study.headlines, Contains(HasSubstr("No shift of the mean answer by the hardware")));
  EXPECT_THAT(study.headlines, Contains(HasSubstr("algo: ")));
}

// The fourth draw is known of two classes of three: alone it would stand for all comparisons.
TEST(HeadlinesTest, WhatHardwareChangesIsOfTheDrawsThatAllComparisonsHave) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (int r = 0; r < 4; ++r) tiny.AddMember(TenClassAnswers(10));
  tiny.AddCell("algo", Algo(), "cpu-b");
  for (const int64_t wrong : {12, 12, 12, 40}) tiny.AddMember(TenClassAnswers(wrong));
  tiny.AddCell("algo", Algo(), "cpu-c");
  for (int r = 0; r < 3; ++r) tiny.AddMember(TenClassAnswers(14));

  // 2, 4 and 2 % in each of three draws.
  EXPECT_THAT(BuildStudy(tiny.input).headlines,
              Contains(AllOf(HasSubstr("Changing only the hardware changes 2.67 % "),
                             HasSubstr("(n = 3 draws of algo; the mean of 3 comparisons"))));
}

// Churn of the draws with predictions, top-1 of all; what is not tested does not count.
TEST(HeadlinesTest, WhereNoDifferenceIsShownTheFewestDrawsOfATestAreSaid) {
  Study study;
  Contrast& contrast = study.contrasts.emplace_back();
  contrast.subject = "epochs";
  contrast.draws = 6;
  for (const auto& [name, draws] :
       {std::pair("churn", 4), std::pair("accuracy", 6), std::pair("accuracy_sd", 3)}) {
    FigureContrast& figure = contrast.figures.emplace_back();
    figure.figure = name;
    figure.estimate.n = draws;
    if (figure.figure != "accuracy_sd") figure.p = 0.5;
  }
  EXPECT_THAT(BuildHeadlines(study),
              Contains("epochs: no difference of churn or top-1 is shown in 1 contrast (n = 4 or "
                       "more)."));
}

// Controls, other stacks and what cannot carry a test have no corrected p.
TEST(HeadlinesTest, ManyShiftsAreSaidOfThoseThatWereTested) {
  Study study;
  for (int k = 0; k < 9; ++k) {
    Comparison& comparison = study.hardware.emplace_back();
    if (k < 7) comparison.shift.p_holm = k < 5 ? 0.01 : 0.5;
    comparison.shift.shown = k < 5;
    comparison.under_trained = k == 6;
  }
  EXPECT_THAT(
      BuildHeadlines(study),
      ElementsAre("Of two classes, the mean answer shifts in 5 of 6 comparisons after Holm; "
                  "each is in its table."));
}

TEST(HeadlinesTest, ManyDifferencesAreSaidOfThoseThatWereTested) {
  Study study;
  for (int k = 0; k < 8; ++k) {
    Contrast& contrast = study.contrasts.emplace_back();
    contrast.subject = "epochs";
    FigureContrast& churn = contrast.figures.emplace_back();
    churn.figure = "churn";
    churn.estimate.value = 0.1;
    if (k < 6) churn.p = churn.p_holm = 0.001;
    churn.shown = k < 5;
  }
  EXPECT_THAT(BuildHeadlines(study),
              ElementsAre("epochs: in 5 of 6 contrasts a difference is shown after Holm over the 6 "
                          "tests of the study; each is in its table; 2 cannot be tested."));
}

TEST(HeadlinesTest, AControlThatIsNotProvedIsNotCalledDifferent) {
  ExampleStudy example = MakeExampleStudy({.break_control = true});
  for (const char* id : {"s1c0r1", "s1c0r2", "s1c0r3"}) {
    example.Member(id).state = MemberState::kLeased;
  }
  EXPECT_THAT(
      BuildStudy(example.input).headlines,
      Contains(
          "1 of 3 control cohorts are bit-identical, 1 not, 1 not proved yet (at most 63 % of runs "
          "of one could differ from its result, at 95 %)."));

  example.input.cells.erase(example.input.cells.begin() + 1, example.input.cells.begin() + 3);
  EXPECT_THAT(BuildStudy(example.input).headlines,
              Contains("1 control cohort not proved bit-identical yet."));

  for (const char* id : {"s1c0r1", "s1c0r2", "s1c0r3"}) {
    example.Member(id).state = MemberState::kFailed;
  }
  EXPECT_THAT(BuildStudy(example.input).headlines,
              IsSupersetOf({"3 of 36 members failed: they are in no figure; why stands among the "
                            "warnings.",
                            "1 control cohort not proved bit-identical."}));
}

}  // namespace
}  // namespace noisefloor::report
