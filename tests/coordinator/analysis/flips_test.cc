#include "coordinator/analysis/flips.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/outlier.h"
#include "coordinator/analysis/spread.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

using ::testing::HasSubstr;

// Where each member is wrong: with the next class of three.
const std::vector<std::vector<int>> kWrong = {{0, 1, 0, 0, 1, 1, 0, 1, 0, 1},
                                              {0, 1, 1, 0, 0, 0, 0, 1, 0, 0},
                                              {1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                                              {0, 1, 0, 0, 1, 1, 0, 1, 0, 1},
                                              {0, 0, 0, 0, 0, 1, 0, 1, 0, 0}};

std::vector<int32_t> LabelsModuloThree(int64_t examples) {
  std::vector<int32_t> labels;
  for (int64_t x = 0; x < examples; ++x) labels.push_back(static_cast<int32_t>(x % 3));
  return labels;
}

PredictionMatrix Example() {
  std::vector<std::vector<int16_t>> rows;
  for (const std::vector<int>& wrong : kWrong) {
    std::vector<int16_t>& row = rows.emplace_back();
    for (size_t x = 0; x < wrong.size(); ++x) {
      row.push_back(static_cast<int16_t>((static_cast<int>(x % 3) + wrong[x]) % 3));
    }
  }
  return AnswersFrom(rows, 3);
}

// NumPy and SciPy, the jackknife written out.
TEST(FlipsTest, KnownAnswers) {
  const FlipNoise noise = NoiseOfFlips(Example(), LabelsModuloThree(10), 1);
  EXPECT_NEAR(*noise.share.value, 0.7391304347826085, 1e-9);
  EXPECT_NEAR(*noise.share.low, 0.24176569346460072, 1e-9);
  EXPECT_NEAR(*noise.share.high, 2.2596828846683286, 1e-8);
  EXPECT_NEAR(*noise.sd.value, 0.13038404810405294, 1e-9);
  EXPECT_NEAR(*noise.sd.low, 0.09993652246052127, 1e-9);
  EXPECT_NEAR(*noise.sd.high, 0.17010798036038965, 1e-9);
  EXPECT_EQ(noise.sd.unit, "fraction");
  EXPECT_EQ(noise.share.unit, "ratio");
  EXPECT_EQ(noise.share.n, 5);
  const Estimate ratio = ChurnToError(Example(), LabelsModuloThree(10));
  EXPECT_NEAR(*ratio.value, 0.9999999999999999, 1e-9);
  EXPECT_NEAR(*ratio.low, 0.36329589054035805, 1e-9);
  EXPECT_NEAR(*ratio.high, 2.7525772408617732, 1e-9);
}

// The same answers as five examples of two decisions each; the jackknife written out.
TEST(FlipsTest, KnownAnswersOfTwoDecisions) {
  const FlipNoise noise = NoiseOfFlips(Example(), LabelsModuloThree(10), 2);
  EXPECT_NEAR(*noise.share.value, 0.9565217391304348, 1e-9);
  EXPECT_NEAR(*noise.share.low, 0.30318933463195696, 1e-9);
  EXPECT_NEAR(*noise.share.high, 3.017697962693029, 1e-8);
  EXPECT_NEAR(*noise.sd.value, 0.14832396974191325, 1e-9);
  EXPECT_NEAR(*noise.sd.low, 0.10720922592931251, 1e-9);
  EXPECT_NEAR(*noise.sd.high, 0.20520621998059677, 1e-9);
  EXPECT_THAT(noise.share.method, HasSubstr("examples that flip independently"));
}

// Each member gets an image's 40 decisions all right or all wrong, each of 100 images with p = 1/2:
// the variance of top-1 is 0.25 / 100, and all of it is that of flips.
TEST(FlipsTest, DecisionsOfOneExampleAreNoDrawsOfTheirOwn) {
  constexpr int64_t kDecisions = 40;
  Draws draws(23);
  PredictionMatrix images(100, 3);
  PredictionMatrix decisions(100 * kDecisions, 3);
  const std::vector<int32_t> labels = LabelsModuloThree(100 * kDecisions);
  for (int m = 0; m < 200; ++m) {
    std::vector<int16_t> of_image;
    std::vector<int16_t> of_decision;
    for (int64_t x = 0; x < 100; ++x) {
      const int wrong = draws.Uniform() < 0.5 ? 1 : 0;
      of_image.push_back(static_cast<int16_t>((x + wrong) % 3));
      for (int64_t d = 0; d < kDecisions; ++d) {
        of_decision.push_back(static_cast<int16_t>((x * kDecisions + d + wrong) % 3));
      }
    }
    ASSERT_TRUE(images.AddAnswers(of_image).ok());
    ASSERT_TRUE(decisions.AddAnswers(of_decision).ok());
  }
  const FlipNoise noise = NoiseOfFlips(decisions, labels, kDecisions);
  EXPECT_NEAR(*noise.sd.value, 0.05, 0.001);
  EXPECT_NEAR(*noise.share.value, 1, 0.35);
  const FlipNoise one = NoiseOfFlips(images, LabelsModuloThree(100), 1);
  EXPECT_NEAR(*noise.sd.value, *one.sd.value, 1e-12);
  EXPECT_NEAR(*noise.sd.low, *one.sd.low, 1e-12);
  EXPECT_NEAR(*noise.share.value, *one.share.value, 1e-9);
  EXPECT_NEAR(*noise.share.high, *one.share.high, 1e-9);
}

// Who is wrong once on each example, here or there, has as many right answers as all others.
TEST(FlipsTest, DecisionsThatMakeUpForEachOtherMakeNoNoise) {
  const PredictionMatrix answers = AnswersFrom({{1, 1, 2, 1}, {0, 2, 2, 1}, {1, 1, 0, 0}}, 3);
  const FlipNoise noise = NoiseOfFlips(answers, LabelsModuloThree(4), 2);
  EXPECT_EQ(*noise.sd.value, 0);
  EXPECT_EQ(noise.sd.note, "on each example all members have as many right decisions: no interval");
  EXPECT_GT(*NoiseOfFlips(answers, LabelsModuloThree(4), 1).sd.value, 0);
}

// Members who differ by nothing but independent flips, and some who differ in what they have
// learnt.
TEST(FlipsTest, FlipsAloneHaveAShareOfOneAndBetterMembersLower) {
  Draws draws(21);
  double only_flips = 0;
  double with_quality = 0;
  constexpr int kStudies = 300;
  for (int study = 0; study < kStudies; ++study) {
    for (const bool quality : {false, true}) {
      PredictionMatrix answers(300, 3);
      for (int m = 0; m < 10; ++m) {
        const double more = quality ? 0.06 * draws.Normal() : 0;
        std::vector<int16_t> row;
        for (int64_t x = 0; x < 300; ++x) {
          const double p = (x % 2 == 0 ? 0.1 : 0.4) + more;
          row.push_back(static_cast<int16_t>((x + (draws.Uniform() < p ? 1 : 0)) % 3));
        }
        ASSERT_TRUE(answers.AddAnswers(row).ok());
      }
      const FlipNoise noise = NoiseOfFlips(answers, LabelsModuloThree(300), 1);
      (quality ? with_quality : only_flips) += std::log(*noise.share.value) / kStudies;
      // 150 examples of p = 0.1 and as many of 0.4.
      if (quality) continue;
      EXPECT_NEAR(*noise.sd.value, std::sqrt((0.09 + 0.24) / 2 / 300), 0.004);
    }
  }
  EXPECT_NEAR(only_flips, 0.11, 0.1);  // E ln of chi-square(9) / 9 is -0.117.
  EXPECT_LT(with_quality, std::log(0.35));
}

TEST(FlipsTest, WhatCannotBeToldIsAbsent) {
  const PredictionMatrix two = AnswersFrom({{0, 1, 2}, {0, 1, 1}}, 3);
  EXPECT_THAT(NoiseOfFlips(two, LabelsModuloThree(3), 1).sd.note, HasSubstr("needs three members"));
  EXPECT_FALSE(NoiseOfFlips(two, LabelsModuloThree(3), 1).share.value.has_value());
  EXPECT_TRUE(ChurnToError(two, LabelsModuloThree(3)).value.has_value());
  EXPECT_FALSE(ChurnToError(two, LabelsModuloThree(3)).low.has_value());
  const PredictionMatrix right = AnswersFrom({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 3);
  EXPECT_EQ(*NoiseOfFlips(right, LabelsModuloThree(3), 1).sd.value, 0);
  EXPECT_FALSE(NoiseOfFlips(right, LabelsModuloThree(3), 1).share.value.has_value());
  EXPECT_THAT(ChurnToError(right, LabelsModuloThree(3)).note, HasSubstr("the error rate is zero"));
  const PredictionMatrix alike = AnswersFrom({{0, 1, 1}, {0, 1, 1}, {0, 1, 1}}, 3);
  EXPECT_EQ(*ChurnToError(alike, LabelsModuloThree(3)).value, 0);
}

// SciPy: Grubbs' G and its p by Student's t.
TEST(OutlierTest, KnownAnswer) {
  const std::vector<double> values = {0.81, 0.82, 0.815, 0.808, 0.822, 0.75};
  const auto farthest = FarthestValue(values);
  ASSERT_TRUE(farthest.has_value());
  EXPECT_EQ(farthest->place, 5u);
  EXPECT_NEAR(farthest->deviations, 1.9996460111630217, 1e-12);
  EXPECT_NEAR(farthest->p, 0.0037118054738865423, 1e-12);
}

TEST(OutlierTest, ItsLevelHoldsForNormalValues) {
  Draws draws(22);
  for (const int n : {4, 6, 12}) {
    int found = 0;
    constexpr int kTrials = 4000;
    for (int t = 0; t < kTrials; ++t) {
      std::vector<double> values;
      for (int i = 0; i < n; ++i) values.push_back(draws.Normal());
      found += FarthestValue(values)->p <= 0.05;
    }
    EXPECT_NEAR(static_cast<double>(found) / kTrials, 0.05, 0.012) << n;
  }
}

// G is as large as it may be, 3/2 of four values: no smaller p could be.
TEST(OutlierTest, OneThatIsApartFromEqualValuesIsAsFarAsCanBe) {
  const auto farthest = FarthestValue(std::vector<double>{0, 1, 0, 0});
  ASSERT_TRUE(farthest.has_value());
  EXPECT_EQ(farthest->place, 1u);
  EXPECT_DOUBLE_EQ(farthest->deviations, 1.5);
  EXPECT_EQ(farthest->p, 0);
}

TEST(OutlierTest, FewOrEqualValuesHaveNone) {
  EXPECT_FALSE(FarthestValue(std::vector<double>{1, 2, 9}).has_value());
  EXPECT_FALSE(FarthestValue(std::vector<double>{1, 1, 1, 1}).has_value());
  EXPECT_EQ(FarthestValue(std::vector<double>{1, std::nan(""), 1.1, 1.2, 7})->place, 4u);
}

}  // namespace
}  // namespace noisefloor::analysis
