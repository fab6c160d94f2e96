#include "coordinator/analysis/softmax.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/distance.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

using Logits = std::vector<float>;

std::vector<std::span<const float>> Views(const std::vector<Logits>& members) {
  return {members.begin(), members.end()};
}

std::vector<long double> SlowProbabilities(const Logits& logits, size_t classes) {
  std::vector<long double> p;
  for (size_t first = 0; first < logits.size(); first += classes) {
    long double sum = 0;
    for (size_t k = 0; k < classes; ++k)
      sum += std::exp(static_cast<long double>(logits[first + k]));
    for (size_t k = 0; k < classes; ++k) {
      p.push_back(std::exp(static_cast<long double>(logits[first + k])) / sum);
    }
  }
  return p;
}

double SlowSoftmaxDistance(const Logits& a, const Logits& b, size_t classes) {
  const std::vector<long double> p = SlowProbabilities(a, classes);
  const std::vector<long double> q = SlowProbabilities(b, classes);
  long double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += (p[i] - q[i]) * (p[i] - q[i]);
  return static_cast<double>(sum / 2 * static_cast<long double>(classes) /
                             static_cast<long double>(p.size()));
}

Logits RandomLogits(Draws& draws, size_t size) {
  Logits logits(size);
  for (float& v : logits) v = static_cast<float>(3 * draws.Normal());
  return logits;
}

TEST(SoftmaxTest, ProbabilitiesAddUpToOneAndStayWhereExponentialsWouldNot) {
  const Logits logits = {0, 0, 1000, 999, -1000, -1000};
  Logits p(6);
  Softmax(logits, 2, p);
  EXPECT_EQ(p[0], 0.5f);
  EXPECT_NEAR(p[2], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(p[2] + p[3], 1, 1e-6);
  EXPECT_EQ(p[4], 0.5f);
}

// More classes than columns are added up at once, so that examples are cut as well.
TEST(SoftmaxTest, DistancesAgreeWithTheSlowTwinOnRandomInputs) {
  Draws draws(31);
  for (const size_t classes : {2u, 10u, 255u, 300u, 700u}) {
    const size_t size = classes * static_cast<size_t>(3 + draws.Below(40));
    std::vector<Logits> members;
    for (int m = 0; m < 4; ++m) members.push_back(RandomLogits(draws, size));
    members.push_back(members[0]);
    members.push_back(members[1]);
    members[5][size - 1] += 1e-3f;  // So near that products would lose what is between them.

    const PairMatrix pairs = ProbabilityDistances(Views(members), static_cast<int32_t>(classes));

    ASSERT_EQ(pairs.members(), 6);
    for (size_t i = 0; i < 6; ++i) {
      for (size_t j = i + 1; j < 6; ++j) {
        const double slow = SlowSoftmaxDistance(members[i], members[j], classes);
        const double fast = pairs.At(static_cast<int64_t>(i), static_cast<int64_t>(j));
        // Probabilities are floats.
        EXPECT_NEAR(fast, slow, 1e-6 * slow + 2e-7 * std::sqrt(slow))
            << classes << " " << i << " " << j;
      }
    }
    EXPECT_EQ(pairs.At(0, 4), 0);
    EXPECT_GT(pairs.At(1, 5), 0);
  }
}

TEST(SoftmaxTest, SureAnswersDifferByTheirChurn) {
  const std::vector<Logits> members = {{900, 0, 900, 0, 900, 0}, {900, 0, 0, 900, 0, 900}};
  EXPECT_NEAR(ProbabilityDistances(Views(members), 2).At(0, 1), 2.0 / 3, 1e-12);
}

TEST(SoftmaxTest, OfOneMemberThereIsNoPair) {
  const std::vector<Logits> members = {{1, 2}};
  EXPECT_EQ(ProbabilityDistances(Views(members), 2).members(), 1);
  EXPECT_EQ(ProbabilityDistances({}, 2).members(), 0);
}

TEST(SquaredDistancesTest, AgreesWithTheSlowTwinAndSeesOneBit) {
  Draws draws(32);
  std::vector<Logits> members;
  for (int m = 0; m < 4; ++m) members.push_back(RandomLogits(draws, 1000));
  members.push_back(members[0]);
  members[4][17] = std::nextafter(members[4][17], 9.0f);
  std::vector<WeightPieces> weights;
  for (const Logits& of : members) {
    const std::span<const float> all = of;
    weights.push_back({all.first(300), all.subspan(300)});
  }

  const PairMatrix pairs = SquaredDistances(weights);

  for (size_t i = 0; i < members.size(); ++i) {
    for (size_t j = i + 1; j < members.size(); ++j) {
      long double slow = 0;
      for (size_t k = 0; k < 1000; ++k) {
        const long double gap = static_cast<long double>(members[i][k]) - members[j][k];
        slow += gap * gap / 2;
      }
      EXPECT_NEAR(pairs.At(static_cast<int64_t>(i), static_cast<int64_t>(j)),
                  static_cast<double>(slow), static_cast<double>(slow) * 1e-10);
    }
  }
  EXPECT_GT(pairs.At(0, 4), 0);
}

TEST(SquaredDistancesTest, UsableAreThoseWithADirectionAndThePiecesOfTheFirstOfThem) {
  const Logits zero = {0, 0}, a = {3, 4}, other = {1, 2, 3}, infinite = {INFINITY, 1}, b = {0, 2};
  const std::vector<WeightPieces> weights = {{}, {zero}, {a}, {other}, {infinite}, {b}};
  const std::vector<UsableWeights> usable = FindUsable(weights);
  ASSERT_EQ(usable.size(), 2u);
  EXPECT_EQ(usable[0].place, 2u);
  EXPECT_EQ(usable[0].norm, 5);
  EXPECT_EQ(usable[1].place, 5u);
}

}  // namespace
}  // namespace noisefloor::analysis
