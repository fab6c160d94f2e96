// Estimators against known truths: data are drawn from models whose true churn, spread and means
// are known, and the estimates must be unbiased and their intervals must cover as promised.
// Seeds are fixed; bounds are several Monte Carlo standard errors wide.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/contrast.h"
#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/hardware.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

constexpr int kTrials = 2000;
constexpr int64_t kExamples = 150;

// How often an interval held the truth, and the mean of the values.
class Tally {
 public:
  void Add(const Estimate& estimate, double truth) {
    ASSERT_TRUE(estimate.value.has_value());
    sum_ += *estimate.value;
    squares_ += *estimate.value * *estimate.value;
    ++trials_;
    if (!estimate.low || !estimate.high) return;
    covered_ += *estimate.low <= truth && truth <= *estimate.high;
    above_ += *estimate.low > truth;
  }
  double mean() const { return sum_ / trials_; }
  double standard_error() const {
    return std::sqrt((squares_ / trials_ - mean() * mean()) / trials_);
  }
  double coverage() const { return static_cast<double>(covered_) / trials_; }
  double above() const { return static_cast<double>(above_) / trials_; }
  void Print(const std::string& what, double truth) const {
    std::printf("%-44s truth %.5f mean %.5f (se %.5f) coverage %.3f\n", what.c_str(), truth, mean(),
                standard_error(), coverage());
  }

 private:
  double sum_ = 0;
  double squares_ = 0;
  int trials_ = 0;
  int covered_ = 0;
  int above_ = 0;
};

// A member flips each of two answers with a probability of its own, uniform in [low, high]. The
// churn of two members i, j is q_i (1 - q_j) + q_j (1 - q_i), of which the mean is
// 2 m (1 - m) with m = (low + high) / 2.
struct FlipModel {
  double low = 0.02;
  double high = 0.22;
  double TrueChurn() const { return (low + high) * (1 - (low + high) / 2); }
  std::vector<int16_t> Draw(Draws& draws) const {
    const double q = low + (high - low) * draws.Uniform();
    std::vector<int16_t> row;
    for (int64_t x = 0; x < kExamples; ++x) row.push_back(draws.Uniform() < q ? 1 : 0);
    return row;
  }
};

PredictionMatrix DrawMembers(Draws& draws, const FlipModel& model, int64_t members) {
  PredictionMatrix matrix(kExamples, 2);
  for (int64_t m = 0; m < members; ++m) EXPECT_TRUE(matrix.AddAnswers(model.Draw(draws)).ok());
  return matrix;
}

class CoverageTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(CoverageTest, ChurnIsUnbiasedAndItsJackknifeCovers) {
  const int64_t members = GetParam();
  const FlipModel model;
  Draws draws(100 + static_cast<uint64_t>(members));
  Tally tally;

  for (int t = 0; t < kTrials; ++t) {
    tally.Add(MeanChurn(DrawMembers(draws, model, members)), model.TrueChurn());
  }

  tally.Print("churn, R = " + std::to_string(members), model.TrueChurn());
  EXPECT_NEAR(tally.mean(), model.TrueChurn(), 4 * tally.standard_error());
  EXPECT_GE(tally.coverage(), 0.92);
  EXPECT_LE(tally.coverage(), 0.99);
}

TEST_P(CoverageTest, StandardDeviationOfNormalValuesCovers) {
  const int64_t members = GetParam();
  constexpr double kSd = 0.004;
  Draws draws(200 + static_cast<uint64_t>(members));
  Tally tally;
  Tally of_means;

  for (int t = 0; t < kTrials; ++t) {
    std::vector<double> accuracy;
    for (int64_t m = 0; m < members; ++m) accuracy.push_back(0.9 + kSd * draws.Normal());
    tally.Add(SdEstimate(accuracy, "fraction"), kSd);
    of_means.Add(MeanEstimate(accuracy, "fraction"), 0.9);
  }

  tally.Print("SD, R = " + std::to_string(members), kSd);
  of_means.Print("mean, R = " + std::to_string(members), 0.9);
  // E[s] = c4 sigma, c4 = sqrt(2 / (n - 1)) gamma(n / 2) / gamma((n - 1) / 2).
  const double n = static_cast<double>(members);
  const double c4 =
      std::sqrt(2 / (n - 1)) * std::exp(std::lgamma(n / 2) - std::lgamma((n - 1) / 2));
  EXPECT_NEAR(tally.mean(), c4 * kSd, 4 * tally.standard_error());
  EXPECT_GE(tally.coverage(), 0.93);
  EXPECT_LE(tally.coverage(), 0.97);
  EXPECT_NEAR(of_means.mean(), 0.9, 4 * of_means.standard_error());
  EXPECT_GE(of_means.coverage(), 0.93);
  EXPECT_LE(of_means.coverage(), 0.97);
}

// Both sides draw from one distribution: the hardware adds nothing, and the report must not say
// that it does more often than in 2.5 % of studies (here: clearly below 5 %).
TEST_P(CoverageTest, HardwareThatAddsNothingIsNotSaidToAdd) {
  const int64_t members = GetParam();
  const FlipModel model;
  Draws draws(300 + static_cast<uint64_t>(members));
  Tally tally;

  for (int t = 0; t < kTrials; ++t) {
    const PredictionMatrix a = DrawMembers(draws, model, members);
    const PredictionMatrix b = DrawMembers(draws, model, members);
    tally.Add(CompareSides(a, b).excess, 0);
  }

  tally.Print("excess churn, nothing added, R = " + std::to_string(members), 0);
  std::printf("%-44s %.3f\n", "  said to add", tally.above());
  EXPECT_NEAR(tally.mean(), 0, 4 * tally.standard_error());
  EXPECT_LE(tally.above(), 0.05);
}

// The second class answers a tenth of the examples the other way: the excess is then, for members
// with flip rates of mean m, 0.1 * (1 - 4 m (1 - m)).
TEST_P(CoverageTest, HardwareThatChangesATenthIsMeasuredWithoutBias) {
  const int64_t members = GetParam();
  const FlipModel model;
  const double m = (model.low + model.high) / 2;
  const double truth = 0.1 * (1 - 4 * m * (1 - m));
  Draws draws(400 + static_cast<uint64_t>(members));
  Tally tally;

  for (int t = 0; t < kTrials / 2; ++t) {
    const PredictionMatrix a = DrawMembers(draws, model, members);
    PredictionMatrix b(kExamples, 2);
    for (int64_t r = 0; r < members; ++r) {
      std::vector<int16_t> row = model.Draw(draws);
      for (int64_t x = 0; x < kExamples / 10; ++x) {
        int16_t& answer = row[static_cast<size_t>(x)];
        answer = static_cast<int16_t>(1 - answer);
      }
      ASSERT_TRUE(b.AddAnswers(row).ok());
    }
    tally.Add(CompareSides(a, b).excess, truth);
  }

  tally.Print("excess churn, a tenth, R = " + std::to_string(members), truth);
  EXPECT_NEAR(tally.mean(), truth, 4 * tally.standard_error());
  EXPECT_GE(tally.coverage(), 0.90);
}

// Replicate r has the same draws on both sides: B flips what A flips, and some more.
TEST_P(CoverageTest, ContrastsOfChurnAreUnbiasedAndCover) {
  const int64_t members = GetParam();
  constexpr double kMore = 0.02;
  const FlipModel model;
  const FlipModel of_b{model.low + kMore, model.high + kMore};
  Draws draws(800 + static_cast<uint64_t>(members));
  Tally paired;
  Tally unpaired;
  int claimed_of_nothing = 0;
  const double truth = of_b.TrueChurn() - model.TrueChurn();

  for (int t = 0; t < kTrials; ++t) {
    PredictionMatrix a(kExamples, 2);
    PredictionMatrix b(kExamples, 2);
    PredictionMatrix like_a(kExamples, 2);
    for (int64_t m = 0; m < members; ++m) {
      const double q = model.low + (model.high - model.low) * draws.Uniform();
      std::vector<int16_t> row_a;
      std::vector<int16_t> row_b;
      std::vector<int16_t> row_like;
      for (int64_t x = 0; x < kExamples; ++x) {
        const double u = draws.Uniform();
        row_a.push_back(u < q ? 1 : 0);
        row_b.push_back(u < q + kMore ? 1 : 0);
        // Half of the flips are drawn anew: alike in distribution.
        row_like.push_back((x % 2 == 0 ? u : draws.Uniform()) < q ? 1 : 0);
      }
      EXPECT_TRUE(a.AddAnswers(row_a).ok() && b.AddAnswers(row_b).ok() &&
                  like_a.AddAnswers(row_like).ok());
    }
    const Jackknifed of_a = PairMeanWithoutEach(ChurnSums(a));
    const Jackknifed of_b_side = PairMeanWithoutEach(ChurnSums(b));
    paired.Add(PairedContrast(of_a, of_b_side, Scale::kDifference, "fraction").estimate, truth);
    const Jackknifed others = PairMeanWithoutEach(ChurnSums(DrawMembers(draws, of_b, members + 2)));
    unpaired.Add(UnpairedContrast(of_a, others, Scale::kDifference, "fraction").estimate, truth);
    const Contrast nothing = PairedContrast(of_a, PairMeanWithoutEach(ChurnSums(like_a)),
                                            Scale::kDifference, "fraction");
    claimed_of_nothing += nothing.p && *nothing.p <= kLevel;
  }

  paired.Print("churn contrast, paired, R = " + std::to_string(members), truth);
  unpaired.Print("churn contrast, unpaired, R = " + std::to_string(members), truth);
  const double level = static_cast<double>(claimed_of_nothing) / kTrials;
  std::printf("%-44s %.3f\n", "  level of the paired test", level);
  for (const Tally& tally : {paired, unpaired}) {
    EXPECT_NEAR(tally.mean(), truth, 4 * tally.standard_error());
    EXPECT_GE(tally.coverage(), 0.93);
    EXPECT_LE(tally.coverage(), 0.99);
  }
  EXPECT_LE(level, 0.065);  // 5 % and three Monte Carlo standard errors.
}

// Accuracies correlated 0.9 between the sides, B half as much again.
TEST_P(CoverageTest, ContrastsOfSpreadCover) {
  const int64_t members = GetParam();
  constexpr double kRatio = 1.5;
  Draws draws(900 + static_cast<uint64_t>(members));
  Tally tally;
  int claimed_of_nothing = 0;

  for (int t = 0; t < kTrials; ++t) {
    std::vector<double> a;
    std::vector<double> b;
    std::vector<double> like_a;
    for (int64_t m = 0; m < members; ++m) {
      const double shared = draws.Normal();
      const auto side = [&] { return std::sqrt(0.9) * shared + std::sqrt(0.1) * draws.Normal(); };
      a.push_back(0.9 + 0.004 * side());
      b.push_back(0.9 + 0.004 * kRatio * side());
      like_a.push_back(0.9 + 0.004 * side());
    }
    const Jackknifed of_a = LogSdWithoutEach(a);
    tally.Add(PairedContrast(of_a, LogSdWithoutEach(b), Scale::kRatio, "fraction").estimate,
              kRatio);
    const Contrast nothing =
        PairedContrast(of_a, LogSdWithoutEach(like_a), Scale::kRatio, "fraction");
    claimed_of_nothing += nothing.p && *nothing.p <= kLevel;
  }

  tally.Print("SD ratio, paired, R = " + std::to_string(members), kRatio);
  const double level = static_cast<double>(claimed_of_nothing) / kTrials;
  std::printf("%-44s %.3f\n", "  level of its test", level);
  EXPECT_GE(tally.coverage(), 0.93);
  EXPECT_LE(tally.coverage(), 0.99);
  EXPECT_LE(level, 0.065);
}

INSTANTIATE_TEST_SUITE_P(Replicates, CoverageTest, ::testing::Values(5, 10, 30));

// Independent members with known class probabilities: the expected churn is 1 - sum of squares.
TEST(TruthTest, ChurnOfIndependentMembersIsTheirChanceToDiffer) {
  Draws draws(500);
  Tally tally;
  const double truth = 1 - (0.7 * 0.7 + 0.2 * 0.2 + 0.1 * 0.1);

  for (int t = 0; t < 400; ++t) {
    PredictionMatrix matrix(200, 3);
    for (int m = 0; m < 4; ++m) {
      std::vector<int16_t> row;
      for (int x = 0; x < 200; ++x) {
        const double u = draws.Uniform();
        row.push_back(u < 0.7 ? 0 : u < 0.9 ? 1 : 2);
      }
      ASSERT_TRUE(matrix.AddAnswers(row).ok());
    }
    tally.Add(MeanChurn(matrix), truth);
  }

  EXPECT_NEAR(tally.mean(), truth, 4 * tally.standard_error());
}

// Under calibration (a member's answer is right as often as its distribution says), pairwise
// disagreement equals the error rate: the null that churn_to_error is set against.
TEST(TruthTest, ChurnEqualsTheErrorRateUnderCalibration) {
  Draws draws(501);
  double churn = 0;
  double error = 0;
  for (int t = 0; t < 300; ++t) {
    PredictionMatrix matrix(200, 2);
    std::vector<std::vector<int16_t>> rows(5);
    std::vector<int32_t> labels;
    for (int x = 0; x < 200; ++x) {
      const double p = draws.Uniform();  // Members and label are drawn from the same p.
      labels.push_back(draws.Uniform() < p ? 1 : 0);
      for (auto& row : rows) row.push_back(draws.Uniform() < p ? 1 : 0);
    }
    for (const auto& row : rows) {
      ASSERT_TRUE(matrix.AddAnswers(row).ok());
      error += (1 - Accuracy(row, labels)) / 1500;
    }
    churn += *MeanChurn(matrix).value / 300;
  }
  EXPECT_NEAR(churn, error, 0.006);
  EXPECT_NEAR(churn, 1.0 / 3, 0.006);
}

// The promised power is reached: the interval of a contrast of two spreads at the detectable ratio,
// and the t test of two means at the detectable difference, both succeed in about 80 % of studies.
TEST(TruthTest, DetectableEffectsAreDetectedWithThePromisedPower) {
  for (const int64_t n : {10, 30}) {
    Draws draws(600 + static_cast<uint64_t>(n));
    const double degrees = static_cast<double>(n - 1);
    const double ratio = *DetectableSdRatio(n);
    const double shift = *DetectableMeanDifference(n, 1);
    const double t = TQuantile(2 * degrees, 0.975);
    int spreads = 0;
    int means = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> a, b, c;
      for (int64_t r = 0; r < n; ++r) {
        a.push_back(draws.Normal());
        b.push_back(ratio * draws.Normal());
        c.push_back(shift + draws.Normal());
      }
      const Contrast contrast =
          PairedContrast(LogSdWithoutEach(a), LogSdWithoutEach(b), Scale::kRatio, "fraction");
      spreads += contrast.estimate.low.value_or(0) > 1;
      const double pooled = std::sqrt((SdOf(a) * SdOf(a) + SdOf(c) * SdOf(c)) / 2);
      const double error = pooled * std::sqrt(2 / static_cast<double>(n));
      means += std::abs(MeanOf(c) - MeanOf(a)) / error > t;
    }
    std::printf("n = %2d: power for spreads %.3f, for means %.3f\n", static_cast<int>(n),
                static_cast<double>(spreads) / kTrials, static_cast<double>(means) / kTrials);
    EXPECT_NEAR(static_cast<double>(spreads) / kTrials, 0.8, 0.04);
    EXPECT_NEAR(static_cast<double>(means) / kTrials, 0.8, 0.04);
  }
}

// "At most x % of runs differ from this result, at 95 %". Runs have one of many results, the k-th
// with probability q_k: all n have it in q_k^n of studies, and the sentence is wrong when 1 - q_k
// is above the bound. The bound must be wrong in at most 5 % of studies whatever the q_k, and is no
// looser than it must be: for equal q_k at the edge it is wrong in just 5 %.
TEST(TruthTest, TheNoneSeenBoundHoldsForEveryDistributionOfResults) {
  const auto wrong_in = [](int64_t n, const std::vector<double>& q) {
    double studies = 0;
    for (const double share : q) {
      if (1 - share > *NoneSeenBound(n)) studies += std::pow(share, static_cast<double>(n));
    }
    return studies;
  };
  Draws draws(700);
  for (int64_t n = 2; n <= 30; ++n) {
    for (size_t results = 1; results <= 60; ++results) {
      EXPECT_LE(wrong_in(n, std::vector<double>(results, 1.0 / static_cast<double>(results))),
                0.05);
      std::vector<double> q(results);
      double sum = 0;
      for (double& share : q) sum += share = -std::log(draws.Uniform());
      for (double& share : q) share /= sum;
      EXPECT_LE(wrong_in(n, q), 0.05);
    }
    const double edge = 1 - *NoneSeenBound(n);
    EXPECT_NEAR(std::pow(edge, static_cast<double>(n - 1)), 0.05, 1e-12);
  }
}

}  // namespace
}  // namespace noisefloor::analysis
