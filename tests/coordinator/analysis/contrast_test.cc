#include "coordinator/analysis/contrast.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<double>;

const Values kA = {0.811, 0.823, 0.806, 0.835, 0.818, 0.829};
const Values kB = {0.842, 0.838, 0.829, 0.861, 0.835, 0.858};

// SciPy 1.x: ttest_rel(b, a), its confidence_interval.
TEST(ContrastTest, OfMeansItIsThePairedTTest) {
  const Contrast contrast =
      PairedContrast(MeanWithoutEach(kA), MeanWithoutEach(kB), Scale::kDifference, "fraction");
  EXPECT_NEAR(*contrast.estimate.value, 0.0235, 1e-12);
  EXPECT_NEAR(*contrast.estimate.low, 0.01673948380411809, 1e-12);
  EXPECT_NEAR(*contrast.estimate.high, 0.030260516195881874, 1e-12);
  EXPECT_NEAR(*contrast.p, 0.0002924996960623837, 1e-12);
  EXPECT_EQ(contrast.estimate.n, 6);
  EXPECT_EQ(contrast.estimate.unit, "fraction");
  Values differences;
  for (size_t i = 0; i < kA.size(); ++i) differences.push_back(kB[i] - kA[i]);
  EXPECT_NEAR(*contrast.estimate.detectable, *DetectablePairedDifference(6, SdOf(differences)),
              1e-12);
}

// SciPy 1.x: ttest_ind(b, c, equal_var=False), 4.0808 degrees of freedom.
TEST(ContrastTest, WithoutSharedDrawsItIsWelchs) {
  const Values c = {0.80, 0.79, 0.83, 0.77};
  const Contrast contrast =
      UnpairedContrast(MeanWithoutEach(c), MeanWithoutEach(kB), Scale::kDifference, "fraction");
  EXPECT_NEAR(*contrast.estimate.value, 0.04633333333333334, 1e-12);
  EXPECT_NEAR(*contrast.estimate.low, 0.008969691410036444, 1e-9);
  EXPECT_NEAR(*contrast.estimate.high, 0.08369697525663022, 1e-9);
  EXPECT_NEAR(*contrast.p, 0.026042381150236656, 1e-9);
  EXPECT_EQ(contrast.estimate.n, 4);  // Of the side with fewer.
}

// NumPy and SciPy: ln(SD b / SD a) and its jackknife over pairs, written out.
TEST(ContrastTest, OfSpreadsItIsTheirRatio) {
  const Values b = {0.842, 0.818, 0.829, 0.871, 0.825, 0.858};
  const Contrast contrast =
      PairedContrast(LogSdWithoutEach(kA), LogSdWithoutEach(b), Scale::kRatio, "fraction");
  EXPECT_NEAR(*contrast.estimate.value, 1.8859562314791143, 1e-9);
  EXPECT_NEAR(*contrast.estimate.low, 0.8964796839859568, 1e-9);
  EXPECT_NEAR(*contrast.estimate.high, 3.9675532759877017, 1e-9);
  EXPECT_NEAR(*contrast.p, 0.07980783368861098, 1e-9);
  EXPECT_EQ(contrast.estimate.unit, "ratio");
}

TEST(ContrastTest, PIsTwoSided) {  // SciPy: 2 * t.sf.
  EXPECT_NEAR(TwoSidedP(2.0, 5), 0.10193947882985835, 1e-12);
  EXPECT_NEAR(TwoSidedP(-2.0, 5), 0.10193947882985835, 1e-12);
  EXPECT_NEAR(TwoSidedP(0.5, 3.7), 0.6453356333199318, 1e-12);
  EXPECT_NEAR(TwoSidedP(12.0, 9), 7.699886222985653e-07, 1e-15);
}

// The churn of all members but one, from the matrix without its row.
double SlowChurnWithout(const PredictionMatrix& answers, int64_t without) {
  std::vector<int64_t> rest;
  for (int64_t m = 0; m < answers.members(); ++m) {
    if (m != without) rest.push_back(m);
  }
  const PredictionMatrix left = answers.Select(rest);
  double sum = 0;
  for (int64_t i = 0; i < left.members(); ++i) {
    for (int64_t j = 0; j < left.members(); ++j) {
      if (i != j) sum += Churn(left.Row(i), left.Row(j));
    }
  }
  return sum / static_cast<double>(left.members() * (left.members() - 1));
}

TEST(ContrastTest, OfChurnItLeavesOutTheSameReplicateOnBothSides) {
  Draws draws(3);
  for (int trial = 0; trial < 40; ++trial) {
    const int64_t n = 3 + draws.Below(5);
    const PredictionMatrix a = RandomAnswers(draws, n, 40, 4, trial % 2 == 0);
    const PredictionMatrix b = RandomAnswers(draws, n, 40, 4, trial % 3 == 0);
    const Contrast contrast =
        PairedContrast(PairMeanWithoutEach(ChurnSums(a)), PairMeanWithoutEach(ChurnSums(b)),
                       Scale::kDifference, "fraction");
    const double all = SlowChurnWithout(b, -1) - SlowChurnWithout(a, -1);
    ASSERT_NEAR(*contrast.estimate.value, all, 1e-12);
    double squares = 0;
    for (int64_t r = 0; r < n; ++r) {
      const double without = SlowChurnWithout(b, r) - SlowChurnWithout(a, r);
      squares += (without - all) * (without - all);
    }
    const double error = std::sqrt(squares * static_cast<double>(n - 1) / static_cast<double>(n));
    ASSERT_EQ(contrast.p.has_value(), error > 1e-12);
    if (!contrast.p) continue;
    const double half = TQuantile(static_cast<double>(n - 1), 0.975) * error;
    EXPECT_NEAR(*contrast.estimate.low, all - half, 1e-10);
    EXPECT_NEAR(*contrast.estimate.high, all + half, 1e-10);
  }
}

TEST(ContrastTest, WithoutEachIsWhatIsLeft) {
  const Jackknifed mean = MeanWithoutEach(kA);
  const Jackknifed spread = LogSdWithoutEach(kA);
  for (size_t i = 0; i < kA.size(); ++i) {
    Values rest = kA;
    rest.erase(rest.begin() + static_cast<int64_t>(i));
    EXPECT_NEAR(mean.without[i], MeanOf(rest), 1e-15);
    EXPECT_NEAR(spread.without[i], std::log(SdOf(rest)), 1e-12);
  }
}

TEST(ContrastTest, ThePooledSpreadLeavesOutWholeGroups) {
  const std::vector<Values> groups = {{1, 2, 4}, {10, 13}, {5}, {7, 7.5, 9, 6}};
  const Jackknifed spread = LogPooledSdWithoutEach(groups);
  EXPECT_EQ(spread.n, 3);  // One value has no spread.
  EXPECT_NEAR(spread.all, std::log(*PooledSdEstimate(groups, "").value), 1e-12);
  const std::vector<Values> without_first = {{10, 13}, {7, 7.5, 9, 6}};
  EXPECT_NEAR(spread.without[0], std::log(*PooledSdEstimate(without_first, "").value), 1e-12);
  const std::vector<Values> without_last = {{1, 2, 4}, {10, 13}};
  EXPECT_NEAR(spread.without[2], std::log(*PooledSdEstimate(without_last, "").value), 1e-12);
}

TEST(ContrastTest, TheMeanOfFiguresKeepsTheDrawsTogether) {
  const Jackknifed both[] = {MeanWithoutEach(kA), MeanWithoutEach(kB)};
  const Jackknifed mean = MeanOfFigures(both);
  EXPECT_EQ(mean.n, 6);
  EXPECT_NEAR(mean.all, (both[0].all + both[1].all) / 2, 1e-15);
  for (size_t i = 0; i < kA.size(); ++i) {
    EXPECT_NEAR(mean.without[i], (both[0].without[i] + both[1].without[i]) / 2, 1e-15);
  }
}

TEST(ContrastTest, BelowThreeDrawsThereIsAValueAndNoInterval) {
  const Contrast contrast =
      PairedContrast(MeanWithoutEach(Values{0.5, 0.6}), MeanWithoutEach(Values{0.7, 0.8}),
                     Scale::kDifference, "fraction");
  EXPECT_NEAR(*contrast.estimate.value, 0.2, 1e-12);
  EXPECT_FALSE(contrast.estimate.low.has_value());
  EXPECT_FALSE(contrast.p.has_value());
  EXPECT_THAT(contrast.estimate.note, HasSubstr("needs three draws, there are 2"));
  const Contrast unpaired = UnpairedContrast(MeanWithoutEach(Values{0.5, 0.6}), MeanWithoutEach(kB),
                                             Scale::kDifference, "fraction");
  EXPECT_FALSE(unpaired.p.has_value());
  EXPECT_THAT(unpaired.estimate.note, HasSubstr("needs three draws, there are 2"));
}

// scipy.stats.brunnermunzel of these: statistic 1.919954, with 8.898747 degrees; its interval by
// NumPy is 0.7833 +- 0.3344, cut at 1.
TEST(ContrastTest, TheProbabilityOfBeingAboveEqualsBrunnerMunzels) {
  const std::vector<double> a = {.81, .84, .79, .86, .83, .80};
  const std::vector<double> b = {.83, .88, .85, .82, .87};

  const Estimate above = ProbabilityAbove(MeanWithoutEach(a), MeanWithoutEach(b), false);
  const Estimate below = ProbabilityAbove(MeanWithoutEach(b), MeanWithoutEach(a), false);

  EXPECT_NEAR(*above.value, 0.7833333333333334, 1e-12);  // .83 of both counts half.
  EXPECT_NEAR(*above.low, 0.44892018805356443, 1e-9);
  EXPECT_DOUBLE_EQ(*above.high, 1);
  EXPECT_EQ(above.n, 5);
  EXPECT_NEAR(*below.value, 1 - *above.value, 1e-12);
  EXPECT_NEAR(*below.high, 1 - *above.low, 1e-9);
}

TEST(ContrastTest, OfPairedDrawsItIsTheirShareWithWilsonsInterval) {
  const std::vector<double> a = {.8, .8, .7, .9, .6};
  const std::vector<double> b = {.9, .8, .8, .8, .7};

  const Estimate above = ProbabilityAbove(MeanWithoutEach(a), MeanWithoutEach(b), true);

  EXPECT_DOUBLE_EQ(*above.value, 3.5 / 5);  // One is equal.
  EXPECT_NEAR(*above.low, WilsonInterval(3.5, 5)->low, 1e-12);
  EXPECT_NEAR(*above.high, WilsonInterval(3.5, 5)->high, 1e-12);
}

TEST(ContrastTest, SidesThatDoNotOverlapOrAreTooFewHaveNoInterval) {
  const std::vector<double> low = {.1, .2, .3};
  const std::vector<double> high = {.7, .8, .9};
  const std::vector<double> two = {.1, .8};
  const std::vector<double> one = {.5};
  const auto unpaired = [](const std::vector<double>& a, const std::vector<double>& b) {
    return ProbabilityAbove(MeanWithoutEach(a), MeanWithoutEach(b), false);
  };

  EXPECT_DOUBLE_EQ(*unpaired(low, high).value, 1);
  EXPECT_EQ(unpaired(low, high).note, "the sides do not overlap: no interval");
  EXPECT_DOUBLE_EQ(*unpaired(high, low).value, 0);
  EXPECT_NEAR(*unpaired(two, low).value, 2.5 / 6, 1e-12);
  EXPECT_EQ(unpaired(two, low).note, "fewer than three draws on a side: no interval");
  EXPECT_EQ(unpaired(one, low).note, "needs two draws on each side");
  EXPECT_FALSE(unpaired(one, low).value.has_value());
}

TEST(ContrastTest, EqualSidesDifferByNothingAndClaimNothing) {
  for (const Contrast& contrast :
       {PairedContrast(MeanWithoutEach(kA), MeanWithoutEach(kA), Scale::kDifference, "fraction"),
        PairedContrast(MeanWithoutEach(Values(5, 0.1)), MeanWithoutEach(Values(5, 0.3)),
                       Scale::kDifference, "fraction")}) {
    EXPECT_FALSE(contrast.p.has_value());
    EXPECT_THAT(contrast.estimate.note, HasSubstr("leaving out any one draw changes nothing"));
  }
}

TEST(ContrastTest, ASideThatDoesNotVaryHasNoRatio) {
  const Contrast still = PairedContrast(LogSdWithoutEach(Values(6, 0.8)), LogSdWithoutEach(kA),
                                        Scale::kRatio, "fraction");
  EXPECT_FALSE(still.estimate.value.has_value());
  EXPECT_THAT(still.estimate.note, HasSubstr("does not vary"));
  // Only one draw varies it: a spread remains, but no error of it.
  const Contrast one = PairedContrast(LogSdWithoutEach(Values{1, 1, 1, 2}),
                                      LogSdWithoutEach(Values{1, 2, 3, 5}), Scale::kRatio, "");
  EXPECT_TRUE(one.estimate.value.has_value());
  EXPECT_FALSE(one.p.has_value());
  EXPECT_THAT(one.estimate.note, HasSubstr("without one of the draws"));
}

}  // namespace
}  // namespace noisefloor::analysis
