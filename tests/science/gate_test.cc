// The gate against studies whose truth is known: how often it fails where nothing differs, how
// often it passes where B lies at the margin, whether it sees what is beyond, and whether as many
// draws as it asks for decide. Members answer each example right with a probability of its own, so
// that they have a mean answer, a churn and a spread.
//
// Seeds are fixed. NOISEFLOOR_STUDIES: how many studies of each kind; bounds are three Monte Carlo
// standard errors wide.
#include "coordinator/report/gate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;

constexpr int64_t kExamples = 400;

int StudyCount() {
  const char* asked = std::getenv("NOISEFLOOR_STUDIES");
  return asked == nullptr ? 200 : std::max(1, std::atoi(asked));
}

double Slack(double share, int studies) { return 3 * std::sqrt(share * (1 - share) / studies); }

// How likely each example is answered right; B answers the first `lost` wrong whatever A does.
std::vector<double> Easiness(Draws& draws) {
  std::vector<double> easiness;
  for (int64_t x = 0; x < kExamples; ++x) easiness.push_back(0.6 + 0.4 * draws.Uniform());
  return easiness;
}

void Fill(TinyStudy& tiny, Draws& draws, const std::vector<double>& easiness, int64_t members,
          int64_t lost) {
  tiny.input.sweep.reference_accuracy = 0.1;
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (int64_t m = 0; m < members; ++m) {
    std::vector<int16_t> answers;
    for (int64_t x = 0; x < kExamples; ++x) {
      const bool right = x >= lost && draws.Uniform() < easiness[static_cast<size_t>(x)];
      answers.push_back(static_cast<int16_t>(right ? x % 2 : 1 - x % 2));
    }
    tiny.AddMember(answers);
  }
}

Gate Compared(Draws& draws, int64_t members, int64_t lost, const Margins& margins) {
  const std::vector<double> easiness = Easiness(draws);
  TinyStudy a(kExamples, 2);
  TinyStudy b(kExamples, 2);
  Fill(a, draws, easiness, members, 0);
  Fill(b, draws, easiness, members, lost);
  b.input.sweep.seed = 1;
  absl::StatusOr<Gate> gate = CompareStudies(a.input, b.input, {.margins = margins});
  EXPECT_TRUE(gate.ok()) << gate.status();
  return *std::move(gate);
}

const GateFigure& Top1(const Gate& gate) { return gate.settings.at(0).figures.at(1); }

TEST(GateLevelTest, OfSweepsOfOtherSeedsThatAreAlikeAtMostOneInTwentyFails) {
  const int studies = StudyCount();
  for (const int64_t members : {5, 10, 30}) {
    Draws draws(static_cast<uint64_t>(members));
    int failed = 0;
    for (int k = 0; k < studies; ++k) {
      // Margins so narrow that all of the level could be used up.
      failed += Compared(draws, members, 0, {1e-5, 1e-5, 1e-5}).verdict == Verdict::kFail;
    }
    std::printf("n = %d: %d of %d gates fail where nothing differs\n", static_cast<int>(members),
                failed, studies);
    EXPECT_LE(failed, (0.05 + Slack(0.05, studies)) * studies);
  }
}

// An example that is lost costs its easiness in top-1: 0.8 of 1 / 400 in the mean.
TEST(GateLevelTest, AtTheMarginAtMostOneInTwentyPasses) {
  const int studies = StudyCount();
  Draws draws(7);
  int passed = 0;
  for (int k = 0; k < studies; ++k) {
    const std::vector<double> easiness = Easiness(draws);
    double lost = 0;
    for (int x = 0; x < 10; ++x) lost += easiness[static_cast<size_t>(x)] / kExamples;
    TinyStudy a(kExamples, 2);
    TinyStudy b(kExamples, 2);
    Fill(a, draws, easiness, 20, 0);
    Fill(b, draws, easiness, 20, 10);
    b.input.sweep.seed = 1;
    const absl::StatusOr<Gate> gate =
        CompareStudies(a.input, b.input, {.margins = {.churn = 1, .top1 = lost, .shift = 1}});
    ASSERT_TRUE(gate.ok()) << gate.status();
    passed += Top1(*gate).verdict == Verdict::kPass;
  }
  std::printf("%d of %d gates pass though top-1 lies at the margin\n", passed, studies);
  EXPECT_LE(passed, (0.05 + Slack(0.05, studies)) * studies);
}

// Equal seeds: draw by draw B has A's answers, but for such a share of draws, in which it answers
// the first tenth wrong.
Gate OfSpoiledDraws(Draws& draws, int64_t members, double spoiled) {
  const std::vector<double> easiness = Easiness(draws);
  TinyStudy a(kExamples, 2);
  TinyStudy b(kExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    tiny->input.sweep.reference_accuracy = 0.1;
    tiny->AddCell("algo", Algo(), "cpu-a");
  }
  for (int64_t m = 0; m < members; ++m) {
    std::vector<int16_t> answers;
    for (int64_t x = 0; x < kExamples; ++x) {
      const bool right = draws.Uniform() < easiness[static_cast<size_t>(x)];
      answers.push_back(static_cast<int16_t>(right ? x % 2 : 1 - x % 2));
    }
    a.AddMember(answers);
    if (draws.Uniform() < spoiled) {
      for (size_t x = 0; x < kExamples / 10; ++x) answers[x] = static_cast<int16_t>(1 - x % 2);
    }
    b.AddMember(answers);
  }
  absl::StatusOr<Gate> gate = CompareStudies(a.input, b.input, {});
  EXPECT_TRUE(gate.ok()) << gate.status();
  return *std::move(gate);
}

// Equal answers are no test: B that spoils one draw in twenty passes by them more often than not.
// What is said of them holds: where as many draws answer otherwise as they allow, they come about
// in one gate of twenty.
TEST(GateLevelTest, EqualAnswersBoundTheShareOfDrawsThatAnswerOtherwise) {
  const int studies = StudyCount();
  for (const int64_t members : {3, 10}) {
    Draws draws(static_cast<uint64_t>(100 + members));
    const double most = *Top1(OfSpoiledDraws(draws, members, 0)).most_otherwise;
    const double unspoiled = std::pow(0.95, static_cast<double>(members));
    int at_most = 0;
    int rare = 0;
    for (int k = 0; k < studies; ++k) {
      at_most += Top1(OfSpoiledDraws(draws, members, most)).most_otherwise.has_value();
      rare += Top1(OfSpoiledDraws(draws, members, 0.05)).most_otherwise.has_value();
    }
    std::printf(
        "n = %d: equal answers in %d of %d gates where %.0f %% of draws are spoiled, in %d "
        "where 5 %% are\n",
        static_cast<int>(members), at_most, studies, 100 * most, rare);
    EXPECT_LE(at_most, (0.05 + Slack(0.05, studies)) * studies);
    EXPECT_NEAR(rare, unspoiled * studies, Slack(unspoiled, studies) * studies);
  }
}

TEST(GatePowerTest, AShiftOfTwoPercentFailsAtAMarginOfOneHalf) {
  const int studies = std::max(20, StudyCount() / 4);
  Draws draws(8);
  int failed = 0;
  for (int k = 0; k < studies; ++k) {
    failed += Compared(draws, 30, 12, {.churn = 0.05, .top1 = 0.005, .shift = 0.005}).verdict ==
              Verdict::kFail;
  }
  std::printf("%d of %d gates fail where 3 %% of the examples are lost\n", failed, studies);
  EXPECT_GE(failed, 0.8 * studies);
}

TEST(GatePowerTest, AsManyDrawsAsItAsksForDecide) {
  const int studies = StudyCount();
  const Margins margins = {.churn = 1, .top1 = 0.012, .shift = 1};
  Draws draws(9);
  int open = 0;
  int passed = 0;
  for (int k = 0; k < studies; ++k) {
    const Gate pilot = Compared(draws, 8, 0, margins);
    if (!Top1(pilot).draws_to_decide) continue;
    ++open;
    const int64_t asked = *Top1(pilot).draws_to_decide;
    passed += Top1(Compared(draws, asked, 0, margins)).verdict == Verdict::kPass;
  }
  std::printf("%d of %d gates that were not decided pass with the draws that were asked for\n",
              passed, open);
  ASSERT_GT(open, studies / 4);
  EXPECT_GE(passed, (0.8 - Slack(0.8, open)) * open);
}

}  // namespace
}  // namespace noisefloor::report
