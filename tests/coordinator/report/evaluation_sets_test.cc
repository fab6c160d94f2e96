// Cells that are evaluated on different examples: each is told by its own, and nothing is compared
// across.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/report/study.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/example_study.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kSecondExamples = 60;

// The cells on cpu-intel-sse (2, 5 and 8) decide between two classes, on 60 examples of their own.
// Replicate r is wrong on every example whose number is r modulo 4, which makes a top-1 of 75 %.
struct TwoSets {
  TwoSets() : example(MakeExampleStudy()) {
    EvaluationSet& second = example.input.evaluations.emplace_back();
    second.data_set = "coins";
    second.classes = 2;
    second.class_names = {"heads", "tails"};
    for (size_t x = 0; x < kSecondExamples; ++x) second.labels.push_back(x % 3 == 0 ? 1 : 0);
    for (CellInput& cell : example.input.cells) {
      const bool is_second = cell.hardware == "cpu-intel-sse";
      cell.evaluation = is_second ? 1 : 0;
      cell.axes = {{"data.name", is_second ? "coins" : "example-patterns"}};
    }
    for (size_t m = 0; m < example.input.members.size(); ++m) {
      if (example.input.members[m].cell % 3 == 2) Answer(m);
    }
  }

  void Answer(size_t m) {
    const std::vector<int32_t>& labels = example.input.evaluations[1].labels;
    MemberInput& member = example.input.members[m];
    std::vector<float>& logits = example.logits[m];
    logits.assign(2 * kSecondExamples, 0);
    for (size_t x = 0; x < kSecondExamples; ++x) {
      const bool wrong = x % 4 == member.replicate;
      logits[2 * x + static_cast<size_t>(wrong ? 1 - labels[x] : labels[x])] = 1;
    }
    member.predictions = logits;
    member.final_metrics = {{"top1", 0.75}};
  }

  ExampleStudy example;
};

TEST(EvaluationSetsTest, EachCellHasTheClassesAndCountsOfItsOwnSet) {
  const TwoSets sets;

  const Study study = BuildStudy(sets.example.input);

  ASSERT_EQ(study.cohorts[5].per_class.size(), 2u);
  EXPECT_EQ(study.cohorts[5].per_class[0].name, "heads");
  EXPECT_EQ(study.cohorts[5].per_class[0].examples, 40);
  EXPECT_EQ(study.cohorts[5].per_class[1].name, "tails");
  ASSERT_EQ(study.cohorts[3].per_class.size(), 10u);
  EXPECT_EQ(study.cohorts[3].per_class[0].name, "t-shirt");
  EXPECT_EQ(study.counts.without_predictions, 0);
}

TEST(EvaluationSetsTest, ChurnIsMeasuredInsideEverySet) {
  const TwoSets sets;

  const Study study = BuildStudy(sets.example.input);

  // Two members are wrong on a quarter of the examples each, never on the same.
  EXPECT_DOUBLE_EQ(*study.cohorts[5].churn.value, 0.5);
  EXPECT_EQ(study.cohorts[3].churn.value,
            BuildStudy(MakeExampleStudy().input).cohorts[3].churn.value);
}

TEST(EvaluationSetsTest, TheRuleOfUnderTrainingTakesTheChanceOfTheCellsOwnSet) {
  TwoSets sets;
  const Study well = BuildStudy(sets.example.input);
  // Of 2/3 and 1/3 of the examples chance is 2/3: below 5/6 is under-trained.
  EXPECT_TRUE(well.cohorts[5].under_trained);
  EXPECT_FALSE(well.cohorts[3].under_trained);
  EXPECT_THAT(well.warnings, Contains(Field(&Warning::text, HasSubstr("< 83.3 %)"))));

  for (size_t x = 0; x < kSecondExamples; ++x) {
    sets.example.input.evaluations[1].labels[x] = static_cast<int32_t>(x % 2);
  }
  for (size_t m = 0; m < 36; ++m) {
    if (sets.example.input.members[m].cell % 3 == 2) sets.Answer(m);
  }

  EXPECT_FALSE(BuildStudy(sets.example.input).cohorts[5].under_trained);  // 75 % is not below 75 %.
}

TEST(EvaluationSetsTest, WithoutPredictionsTheTrainersClassesHaveTheNamesOfTheirSet) {
  TwoSets sets;
  for (MemberInput& member : sets.example.input.members) {
    if (member.cell != 5) continue;
    member.predictions = {};
    member.per_class_accuracy = {0.5, 0.25};
  }

  const Cohort cohort = BuildStudy(sets.example.input).cohorts[5];

  ASSERT_EQ(cohort.per_class.size(), 2u);
  EXPECT_EQ(cohort.per_class[1].name, "tails");
  EXPECT_EQ(cohort.per_class[1].examples, 20);
}

TEST(EvaluationSetsTest, NothingIsComparedAcrossSets) {
  TwoSets sets;
  for (CellInput& cell : sets.example.input.cells) cell.axes.clear();

  const Study study = BuildStudy(sets.example.input);

  EXPECT_EQ(study.hardware.size(), 3u) << "cpu-intel-avx2 against cpu-intel-avx512 only";
  const HeatMap& map = study.heat_map;
  ASSERT_EQ(map.members[8], "s1c2r0");
  EXPECT_TRUE(map.values[0][4].has_value());
  EXPECT_FALSE(map.values[0][8].has_value());
  EXPECT_FALSE(map.values[8][0].has_value());
  EXPECT_DOUBLE_EQ(*map.values[8][9], 0.5);
  EXPECT_THAT(map.note, HasSubstr("inside each evaluation set only"));
}

TEST(EvaluationSetsTest, TheExamplesShownAreThoseOfTheFirstSet) {
  const TwoSets sets;

  const Study study = BuildStudy(sets.example.input);

  EXPECT_EQ(study.evaluation.data_set, "example-patterns");
  ASSERT_FALSE(study.divergent.examples.empty());
  EXPECT_THAT(study.divergent.cells, Each(Not(AnyOf(2u, 5u, 8u))));
  EXPECT_EQ(study.divergent.examples[0].said.size(), study.divergent.members.size());
}

// A cell of eight members who get all decisions of an example right, or none.
Cohort AllOrNothing(int64_t decisions, int64_t attributes) {
  TinyStudy tiny(20 * decisions, 2);
  tiny.input.evaluations[0].attributes = attributes;
  tiny.AddCell("algo", Algo(), "cpu-a");
  analysis::Draws draws(9);
  for (int r = 0; r < 8; ++r) {
    std::vector<int16_t> answers;
    for (int64_t example = 0; example < 20; ++example) {
      const int wrong = draws.Uniform() < 0.3 ? 1 : 0;
      for (int64_t d = 0; d < decisions; ++d) {
        answers.push_back(static_cast<int16_t>((example * decisions + d + wrong) % 2));
      }
    }
    tiny.AddMember(answers);
  }
  return BuildStudy(tiny.input).cohorts.at(0);
}

TEST(EvaluationSetsTest, DecisionsOfOneExampleAreNoDrawsOfTheirOwn) {
  const Cohort decisions = AllOrNothing(10, 10);
  const Cohort examples = AllOrNothing(1, 0);
  EXPECT_NEAR(*decisions.flip_sd.value, *examples.flip_sd.value, 1e-12);
  EXPECT_NEAR(*decisions.flip_share.value, *examples.flip_share.value, 1e-12);
  EXPECT_NEAR(*decisions.flip_share.high, *examples.flip_share.high, 1e-9);
  EXPECT_NEAR(*AllOrNothing(10, 0).flip_share.value, *examples.flip_share.value / 10, 1e-12);

  EXPECT_DOUBLE_EQ(*decisions.any_disagreement.value, *examples.any_disagreement.value);
  EXPECT_FALSE(decisions.any_disagreement.low.has_value());
  EXPECT_FALSE(decisions.any_disagreement.high.has_value());
  EXPECT_EQ(decisions.any_disagreement.note,
            "decisions of one example are no draws of their own: no interval");
  EXPECT_TRUE(examples.any_disagreement.low.has_value());
}

TEST(EvaluationSetsTest, AWarningNamesTheSets) {
  TwoSets sets;

  const Study study = BuildStudy(sets.example.input);

  EXPECT_THAT(study.warnings,
              Contains(Field(&Warning::text,
                             HasSubstr("evaluated on 2 sets of examples: example-patterns (120 "
                                       "examples) and coins (60 examples)"))));
  sets.example.input.evaluations[1].attributes = 2;
  EXPECT_THAT(BuildStudy(sets.example.input).warnings,
              Contains(Field(&Warning::text, HasSubstr(" and coins (30 examples)"))));
  EXPECT_THAT(BuildStudy(MakeExampleStudy().input).warnings,
              Not(Contains(Field(&Warning::text, HasSubstr("sets of examples")))));
}

}  // namespace
}  // namespace noisefloor::report
