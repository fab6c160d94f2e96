#include "coordinator/report/headlines.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/report/example_study.h"

namespace noisefloor::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HeadlinesTest, TheyAnswerWhatAPersonAsks) {
  const Study study = BuildStudy(MakeExampleStudy().input);

  EXPECT_THAT(study.headlines, Contains(HasSubstr("algo: two trainings disagree on")));
  EXPECT_THAT(study.headlines, Contains(HasSubstr("impl: two trainings disagree on")));
  EXPECT_THAT(study.headlines, Contains(HasSubstr("Changing only the hardware changes")));
  EXPECT_THAT(study.headlines, Contains(HasSubstr("pays most: churn")));
}

TEST(HeadlinesTest, AControlThatIsNotProvedIsNotCalledDifferent) {
  ExampleStudy example = MakeExampleStudy({.break_control = true});
  for (const char* id : {"s1c0r1", "s1c0r2", "s1c0r3"}) {
    example.Member(id).state = MemberState::kLeased;
  }
  EXPECT_THAT(BuildStudy(example.input).headlines,
              Contains("1 of 3 control cohorts are bit-identical, 1 not, 1 not proved yet."));

  example.input.cells.erase(example.input.cells.begin() + 1, example.input.cells.begin() + 3);
  EXPECT_THAT(BuildStudy(example.input).headlines,
              Contains("1 control cohort not proved bit-identical yet."));

  for (const char* id : {"s1c0r1", "s1c0r2", "s1c0r3"}) {
    example.Member(id).state = MemberState::kFailed;
  }
  EXPECT_THAT(BuildStudy(example.input).headlines,
              Contains("1 control cohort not proved bit-identical."));
}

// A study of one plan on many classes, of which nothing but the comparisons counts.
Study StudyWith(const std::vector<Estimate>& excesses) {
  Study study;
  for (uint32_t c = 0; c <= excesses.size(); ++c) study.cohorts.emplace_back().cell = c;
  for (uint32_t c = 0; c < excesses.size(); ++c) {
    HardwareComparison& comparison = study.hardware.emplace_back();
    comparison.cell_a = c;
    comparison.cell_b = c + 1;
    comparison.label = "comparison " + std::to_string(c);
    comparison.text = "Words.";
    comparison.churn_excess = excesses[c];
  }
  return study;
}

Estimate Excess(double value, std::optional<double> low, std::optional<double> high) {
  Estimate estimate;
  estimate.value = value;
  estimate.low = low;
  estimate.high = high;
  return estimate;
}

TEST(HeadlinesTest, TheSurestAdditionOfHardwareIsSaidNotTheLargest) {
  const Study study =
      StudyWith({Excess(0.09, -0.05, 0.2), Excess(0.02, 0.01, 0.03), Excess(0.2, {}, {}),
                 Excess(0.03, 0.01, 0.05), analysis::Absent("fraction", 0, "")});

  EXPECT_THAT(BuildHeadlines(study),
              ElementsAre("comparison 3. Words. The interval of such an addition lies above 0 in "
                          "2 of 4 comparisons with free sources."));
}

TEST(HeadlinesTest, UnderTrainedCohortsAreInNone) {
  Study study = StudyWith({Excess(0.09, 0.05, 0.2), Excess(0.02, 0.01, 0.03)});
  study.cohorts[0].under_trained = true;

  EXPECT_THAT(BuildHeadlines(study), ElementsAre("comparison 1. Words."));
}

TEST(HeadlinesTest, WhereAllIsFixedItIsSaidHowManyComparisonsChangeAnAnswer) {
  const Study study = BuildStudy(MakeExampleStudy().input);

  EXPECT_THAT(study.headlines,
              Contains(HasSubstr("An answer changes in 3 of 3 comparisons of fixed cohorts.")));
}

}  // namespace
}  // namespace noisefloor::report
