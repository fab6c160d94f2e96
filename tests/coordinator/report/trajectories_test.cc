// How trainings part, where predictions or weights of every evaluation were kept.
#include <algorithm>
#include <cmath>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/report/table.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr size_t kEpochExamples = 40;

// Members whose answers part by so many examples at each evaluation, each on examples of its own.
class Parting {
 public:
  Parting() : tiny(kEpochExamples, 10) {}

  void AddMember(size_t number, const std::vector<size_t>& wrong) {
    std::vector<int16_t> right(kEpochExamples);
    for (size_t x = 0; x < kEpochExamples; ++x) right[x] = static_cast<int16_t>(x % 10);
    MemberInput& member = tiny.AddMember(right);
    for (size_t k = 0; k < wrong.size(); ++k) {
      std::vector<int16_t>& answers = answers_.emplace_back(right);
      for (size_t i = 0; i < wrong[k]; ++i) {
        int16_t& answer = answers[(number * 10 + i) % kEpochExamples];
        answer = static_cast<int16_t>((answer + 1) % 10);
      }
      member.answers_at[static_cast<int64_t>(k) + 1] = answers;
      member.curves["test_top1"].push_back(
          {static_cast<int64_t>(100 * (k + 1)), static_cast<double>(k) + 1, 0.5});
    }
  }

  // The member that was added last: at each evaluation the direction of its two weights, by angle.
  // Each member's have a length of their own.
  void AddWeights(const std::vector<double>& angles) {
    MemberInput& member = tiny.input.members.back();
    const double length = 1 + 0.5 * member.replicate;
    for (size_t k = 0; k < angles.size(); ++k) {
      const std::vector<float>& weights = weights_.emplace_back(
          std::vector<float>{static_cast<float>(length * std::cos(angles[k])),
                             static_cast<float>(length * std::sin(angles[k]))});
      member.weights_at.emplace(static_cast<int64_t>(k) + 1,
                                Weights{.parameters = {weights}, .buffers = {}});
    }
  }

  TinyStudy tiny;

 private:
  std::deque<std::vector<int16_t>> answers_;
  std::deque<std::vector<float>> weights_;
};

// Of two directions so far apart.
double Chord(double angle) { return 2 * std::sin(angle / 2); }

std::vector<double> Values(const Trajectory& trajectory) {
  std::vector<double> values;
  for (const Estimate& churn : trajectory.churn) values.push_back(*churn.value);
  return values;
}

TEST(TrajectoriesTest, ChurnInsideACellAtEachEvaluation) {
  Parting parting;
  parting.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 3; ++m) parting.AddMember(m, {0, 1, 4});

  const Study study = BuildStudy(parting.tiny.input);

  ASSERT_THAT(study.trajectories, SizeIs(1));
  const Trajectory& of = study.trajectories[0];
  EXPECT_FALSE(of.factor.has_value());
  EXPECT_EQ(of.label, study.cohorts[0].label);
  EXPECT_THAT(of.cells, ElementsAre(0));
  EXPECT_THAT(of.steps, ElementsAre(100, 200, 300));
  EXPECT_THAT(of.epochs, ElementsAre(1, 2, 3));
  EXPECT_THAT(Values(of), ElementsAre(DoubleEq(0), DoubleEq(2.0 / 40),
                                      DoubleEq(8.0 / 40)));  // On either one's examples.
  EXPECT_EQ(of.churn[1].n, 3);
}

TEST(TrajectoriesTest, TheIntervalIsThatOfChurn) {
  Parting parting;
  parting.tiny.AddCell("algo", Algo(), "cpu-a");
  parting.AddMember(0, {1});
  parting.AddMember(1, {4});
  parting.AddMember(2, {9});
  analysis::PredictionMatrix answers(kEpochExamples, 10);
  for (const MemberInput& member : parting.tiny.input.members) {
    ASSERT_TRUE(answers.AddAnswers(member.answers_at.at(1)).ok());
  }
  const Estimate slow = analysis::MeanChurn(answers);

  const Study study = BuildStudy(parting.tiny.input);

  const Estimate& churn = study.trajectories.at(0).churn.at(0);
  EXPECT_EQ(*churn.value, *slow.value);
  EXPECT_EQ(*churn.low, *slow.low);
  EXPECT_EQ(*churn.high, *slow.high);
}

TEST(TrajectoriesTest, ComparisonsFollowTheSameDrawsOnBothSides) {
  Parting parting;
  parting.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 3; ++m) parting.AddMember(m, {0, 2});
  parting.tiny.AddCell("algo", Algo(), "cpu-b");
  for (size_t m = 0; m < 3; ++m) parting.AddMember(m, {0, 2 + m});  // The first 2 are the same.

  const Study study = BuildStudy(parting.tiny.input);

  ASSERT_THAT(study.trajectories, SizeIs(3));
  const Trajectory& across = study.trajectories[2];
  EXPECT_EQ(across.factor, Factor::kHardware);
  EXPECT_EQ(across.label, study.hardware[0].label);
  EXPECT_THAT(across.cells, ElementsAre(0, 1));
  EXPECT_THAT(Values(across), ElementsAre(DoubleEq(0), DoubleEq((0 + 1 + 2) / 3.0 / 40)));
  EXPECT_EQ(across.churn[1].n, 3);
  EXPECT_TRUE(across.churn[1].low.has_value());
}

// 0 and 1: Student's t of one degree goes far beyond what a share of the answers can be.
TEST(TrajectoriesTest, TheIntervalOfAShareEndsAtOne) {
  Parting parting;
  for (const size_t wrong : {size_t{0}, kEpochExamples}) {
    parting.tiny.AddCell("algo", Algo(), wrong == 0 ? "cpu-a" : "cpu-b");
    parting.AddMember(0, {0});
    parting.AddMember(1, {wrong});
  }
  const Study study = BuildStudy(parting.tiny.input);
  const Estimate& churn = study.trajectories.back().churn.at(0);
  EXPECT_DOUBLE_EQ(*churn.value, 0.5);
  EXPECT_DOUBLE_EQ(*churn.low, 0);
  EXPECT_DOUBLE_EQ(*churn.high, 1);
}

TEST(TrajectoriesTest, AnswersOnOtherExamplesAreNotCounted) {
  Parting parting;
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    parting.tiny.AddCell("algo", Algo(), hardware);
    for (size_t m = 0; m < 3; ++m) parting.AddMember(m, {hardware[4] == 'a' ? 0 : m + 1});
  }
  std::span<const int16_t>& answers = parting.tiny.input.members.back().answers_at.at(1);
  answers = answers.first(kEpochExamples - 1);

  const Study study = BuildStudy(parting.tiny.input);

  ASSERT_THAT(study.trajectories, SizeIs(3));
  EXPECT_EQ(study.trajectories[0].churn.at(0).n, 3);
  EXPECT_EQ(study.trajectories[1].churn.at(0).n, 2);
  EXPECT_EQ(study.trajectories[2].churn.at(0).n, 2);
  EXPECT_DOUBLE_EQ(*study.trajectories[2].churn[0].value, 1.5 / 40);
}

TEST(TrajectoriesTest, StacksAreFollowedAsClassesAre) {
  Parting parting;
  for (const char* stack : {"ours", "theirs"}) {
    parting.tiny.AddCell("algo", Algo(), "cpu-a").stack = stack;
    for (size_t m = 0; m < 3; ++m) parting.AddMember(m, {stack[0] == 'o' ? 0u : 2u});
  }
  const Study study = BuildStudy(parting.tiny.input);
  ASSERT_THAT(study.trajectories, SizeIs(3));
  EXPECT_EQ(study.trajectories[2].factor, Factor::kStack);
  EXPECT_EQ(study.trajectories[2].label, study.stacks.at(0).label);
  EXPECT_THAT(Values(study.trajectories[2]), ElementsAre(DoubleEq(2.0 / 40)));
}

// Two with a draw in common have more in common than two trainings.
TEST(TrajectoriesTest, MembersThatShareDrawsAreNotFollowed) {
  Parting parting;
  parting.tiny.AddCell("crossed", Algo(), "cpu-a");
  for (size_t m = 0; m < 4; ++m) {
    parting.AddMember(m, {1, 2});
    parting.tiny.input.members.back().lanes[NoiseSource::kInit] = {
        0, static_cast<uint32_t>(m / 2 + 1)};
  }
  EXPECT_THAT(BuildStudy(parting.tiny.input).trajectories, IsEmpty());
}

TEST(TrajectoriesTest, DistanceInsideACellAtEachEvaluation) {
  Parting parting;
  parting.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 3; ++m) {
    parting.AddMember(m, {1, 2});
    parting.AddWeights({0, 0.3 * static_cast<double>(m)});
  }

  const Study study = BuildStudy(parting.tiny.input);

  ASSERT_THAT(study.trajectories, SizeIs(1));
  const std::vector<Estimate>& distance = study.trajectories[0].l2_normalised;
  ASSERT_THAT(distance, SizeIs(2));
  EXPECT_NEAR(*distance[0].value, 0, 1e-7);
  EXPECT_NEAR(*distance[1].value, (2 * Chord(0.3) + Chord(0.6)) / 3, 1e-6);
  EXPECT_EQ(distance[1].n, 3);
  EXPECT_TRUE(distance[1].low.has_value());
}

TEST(TrajectoriesTest, DistanceOfTheSameDrawsOnBothSides) {
  Parting parting;
  for (const double turned : {0.0, 0.2}) {
    parting.tiny.AddCell("algo", Algo(), turned == 0 ? "cpu-a" : "cpu-b");
    for (size_t m = 0; m < 3; ++m) {
      const double angle = 0.5 * static_cast<double>(m);
      parting.AddMember(m, {1, 1});
      parting.AddWeights({angle, angle + turned * static_cast<double>(m)});
    }
  }

  const Study study = BuildStudy(parting.tiny.input);

  const Trajectory& across = study.trajectories.back();
  ASSERT_TRUE(across.factor.has_value());
  EXPECT_NEAR(*across.l2_normalised.at(0).value, 0, 1e-7);
  EXPECT_NEAR(*across.l2_normalised.at(1).value, (Chord(0.2) + Chord(0.4)) / 3, 1e-6);
  EXPECT_EQ(across.l2_normalised[1].n, 3);
}

TEST(TrajectoriesTest, EvaluationsOfWhichOnlyWeightsOrOnlyPredictionsWereKept) {
  Parting parting;
  parting.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 2; ++m) {
    parting.AddMember(m, {1, 2});
    parting.AddWeights({0, 0.1 * static_cast<double>(m)});
    MemberInput& member = parting.tiny.input.members.back();
    member.answers_at.erase(1);
    member.weights_at.erase(2);
  }

  const Study study = BuildStudy(parting.tiny.input);

  ASSERT_THAT(study.trajectories, SizeIs(1));
  const Trajectory& of = study.trajectories[0];
  EXPECT_THAT(of.steps, ElementsAre(100, 200));
  EXPECT_FALSE(of.churn[0].value.has_value());
  EXPECT_TRUE(of.l2_normalised[0].value.has_value());
  EXPECT_TRUE(of.churn[1].value.has_value());
  EXPECT_FALSE(of.l2_normalised[1].value.has_value());
  EXPECT_EQ(of.l2_normalised[1].note, "fewer than two are there");
}

TEST(TrajectoriesTest, TablesHaveFiveOfManyEvaluations) {
  Parting parting;
  parting.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 3; ++m) parting.AddMember(m, {0, 1, 2, 3, 4, 5, 6, 7, 8});

  const std::string tables = RenderTables(BuildStudy(parting.tiny.input));

  EXPECT_THAT(tables, ContainsRegex("cell +epoch +churn +n\n"));
  EXPECT_THAT(tables, ContainsRegex("\n +c0 algo, cpu-a +1 +0.00 %.* 3\n"
                                    " +c0 algo, cpu-a +3 +10.00 %.* 3\n"
                                    " +c0 algo, cpu-a +5 +20.00 %.* 3\n"
                                    " +c0 algo, cpu-a +7 +30.00 %.* 3\n"
                                    " +c0 algo, cpu-a +9 +40.00 %.* 3\n"));
  EXPECT_THAT(tables, Not(ContainsRegex("\n +c0 algo, cpu-a +2 ")));
}

TEST(TrajectoriesTest, TablesNameTheSidesOfAComparison) {
  Parting parting;
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    parting.tiny.AddCell("algo", Algo(), hardware);
    for (size_t m = 0; m < 3; ++m) parting.AddMember(m, {1, 2});
  }
  const Study study = BuildStudy(parting.tiny.input);

  EXPECT_THAT(RenderTables(study), ContainsRegex(study.hardware[0].label + " +2 +0.00 %.* 3\n"));
  EXPECT_THAT(RenderTables(study), HasSubstr("of two sides, of the same draws on both"));
}

TEST(TrajectoriesTest, WeightsThatWouldTakeTooLongAreNotLookedAt) {
  Parting parting;
  parting.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 2; ++m) {
    parting.AddMember(m, {1});
    parting.tiny.input.members.back().weights_at.emplace(
        1, WeightsView({.content = "c", .parameters = (size_t{1} << 36) + m},
                       []() -> SharedWeights { return nullptr; }));
  }
  const Study study = BuildStudy(parting.tiny.input);
  EXPECT_THAT(study.warnings,
              Contains(Field(&Warning::text,
                             HasSubstr("How weights part over training is not told: of every"))));
  EXPECT_TRUE(study.trajectories.at(0).churn.at(0).value.has_value());
  EXPECT_EQ(study.trajectories[0].l2_normalised.at(0).note, "fewer than two are there");
}

TEST(TrajectoriesTest, TablesHaveWhatWasKept) {
  Parting both;
  both.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 3; ++m) {
    both.AddMember(m, {1});
    if (m < 2) both.AddWeights({0.2 * static_cast<double>(m)});
  }
  Parting weights;
  weights.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 2; ++m) {
    weights.AddMember(m, {1});
    weights.tiny.input.members.back().answers_at.clear();
    weights.AddWeights({0.2 * static_cast<double>(m)});
  }

  EXPECT_THAT(RenderTables(BuildStudy(both.tiny.input)),
              ContainsRegex("cell +epoch +churn +n +L2, unit +n\n"
                            " +c0 algo, cpu-a +1 +5.00 %.* 3 +0.200 +2\n"));
  EXPECT_THAT(RenderTables(BuildStudy(weights.tiny.input)),
              ContainsRegex("cell +epoch +L2, unit +n\n +c0 algo, cpu-a +1 +0.200 +2\n"));
}

TEST(TrajectoriesTest, ReplicatesThatAreCopiesAreOneDraw) {
  Parting parting;
  parting.tiny.AddCell("control", Control(), "cpu-a");
  for (size_t m = 0; m < 3; ++m) parting.AddMember(0, {2});
  parting.tiny.AddCell("control", Control(), "cpu-b");
  for (size_t m = 0; m < 3; ++m) parting.AddMember(0, {3});

  const Study study = BuildStudy(parting.tiny.input);

  const Trajectory& across = study.trajectories.back();
  EXPECT_THAT(Values(across), ElementsAre(DoubleEq(1.0 / 40)));
  EXPECT_EQ(across.churn[0].n, 1);
  EXPECT_FALSE(across.churn[0].low.has_value());
}

TEST(TrajectoriesTest, OnlyEvaluationsOfTwoMembersThatAreDoneAreTold) {
  Parting parting;
  parting.tiny.AddCell("algo", Algo(), "cpu-a");
  parting.AddMember(0, {1, 1, 1});
  parting.AddMember(1, {1, 1});
  parting.AddMember(2, {1, 1, 1});
  parting.tiny.input.members[2].state = MemberState::kDiverged;

  const Study study = BuildStudy(parting.tiny.input);

  ASSERT_THAT(study.trajectories, SizeIs(1));
  EXPECT_THAT(study.trajectories[0].steps, ElementsAre(100, 200));
  EXPECT_EQ(study.trajectories[0].churn[0].n, 2);
}

TEST(TrajectoriesTest, WhileMembersAreStillToComeThereIsNoIntervalAndWithoutPredictionsNothing) {
  Parting coming;
  coming.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 4; ++m) {
    coming.AddMember(m, {m + 1});
    coming.AddWeights({0.1 * static_cast<double>(m)});
  }
  coming.tiny.input.members[3].state = MemberState::kWaiting;
  Parting nothing;
  nothing.tiny.AddCell("algo", Algo(), "cpu-a");
  for (size_t m = 0; m < 3; ++m) nothing.AddMember(m, {});

  const Study study = BuildStudy(coming.tiny.input);

  ASSERT_THAT(study.trajectories, SizeIs(1));
  EXPECT_TRUE(study.trajectories[0].churn[0].value.has_value());
  EXPECT_FALSE(study.trajectories[0].churn[0].low.has_value());
  EXPECT_TRUE(study.trajectories[0].l2_normalised[0].value.has_value());
  EXPECT_FALSE(study.trajectories[0].l2_normalised[0].low.has_value());
  EXPECT_THAT(BuildStudy(nothing.tiny.input).trajectories, IsEmpty());
}

}  // namespace
}  // namespace noisefloor::report
