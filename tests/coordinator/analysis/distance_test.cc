#include "coordinator/analysis/distance.h"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/analysis/slow_jackknife.h"

namespace noisefloor::analysis {
namespace {

using ::testing::HasSubstr;
using Vector = std::vector<float>;

struct SlowDistance {
  long double raw = 0, normalised = 0, cosine = 0;
};

SlowDistance Slow(const Vector& a, const Vector& b) {
  long double aa = 0, bb = 0, ab = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    aa += static_cast<long double>(a[i]) * a[i];
    bb += static_cast<long double>(b[i]) * b[i];
    ab += static_cast<long double>(a[i]) * b[i];
  }
  const long double na = std::sqrt(aa), nb = std::sqrt(bb);
  SlowDistance slow;
  for (size_t i = 0; i < a.size(); ++i) {
    const long double d = static_cast<long double>(a[i]) - b[i];
    const long double e = a[i] / na - b[i] / nb;
    slow.raw += d * d;
    slow.normalised += e * e;
  }
  return {std::sqrt(slow.raw), std::sqrt(slow.normalised), ab / (na * nb)};
}

Distances Between(const Vector& a, const Vector& b) {
  return MeanDistances(std::vector<WeightPieces>{{a}, {b}});
}

TEST(DistanceTest, AgreesWithTheSlowTwinOnRandomInputs) {
  Draws draws(4);
  for (int trial = 0; trial < 100; ++trial) {
    const size_t size = static_cast<size_t>(1 + draws.Below(50));
    Vector a(size), b(size);
    for (float& v : a) v = static_cast<float>(draws.Normal());
    for (float& v : b) v = static_cast<float>(draws.Normal() * 3);

    const Distances distance = Between(a, b);
    const SlowDistance slow = Slow(a, b);

    EXPECT_NEAR(*distance.raw.value, static_cast<double>(slow.raw), 1e-10);
    EXPECT_NEAR(*distance.normalised.value, static_cast<double>(slow.normalised), 1e-10);
    EXPECT_NEAR(*distance.cosine.value, static_cast<double>(slow.cosine), 1e-10);
  }
}

TEST(DistanceTest, IntervalsAgreeWithTheSlowJackknifeOnRandomInputs) {
  Draws draws(6);
  for (int trial = 0; trial < 40; ++trial) {
    const int64_t n = 3 + draws.Below(5);
    const size_t size = static_cast<size_t>(2 + draws.Below(20));
    std::vector<Vector> members(static_cast<size_t>(n), Vector(size));
    std::vector<WeightPieces> weights;
    for (Vector& member : members) {
      for (float& v : member) v = static_cast<float>(1 + draws.Normal());
      weights.push_back({member});
    }
    const auto slow = [&](int64_t i, int64_t j) {
      return Slow(members[static_cast<size_t>(i)], members[static_cast<size_t>(j)]);
    };
    const double infinity = std::numeric_limits<double>::infinity();

    const Distances means = MeanDistances(weights);

    ExpectJackknife(means.raw, n, 0, infinity, [&](auto i, auto j) { return slow(i, j).raw; });
    ExpectJackknife(means.normalised, n, 0, 2,
                    [&](auto i, auto j) { return slow(i, j).normalised; });
    ExpectJackknife(means.cosine, n, -1, 1, [&](auto i, auto j) { return slow(i, j).cosine; });
  }
}

TEST(DistanceTest, HandComputedCases) {
  const Distances right_angle = Between({3, 0}, {0, 4});
  EXPECT_DOUBLE_EQ(*right_angle.raw.value, 5.0);
  EXPECT_DOUBLE_EQ(*right_angle.normalised.value, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(*right_angle.cosine.value, 0.0);

  const Distances scaled = Between({1, 2}, {2, 4});
  EXPECT_DOUBLE_EQ(*scaled.raw.value, std::sqrt(5.0));
  EXPECT_NEAR(*scaled.normalised.value, 0.0, 1e-15);
  EXPECT_DOUBLE_EQ(*scaled.cosine.value, 1.0);
}

TEST(DistanceTest, OneBitInOneOfMillionWeightsIsSeen) {
  Vector a(1'000'000, 0.5f);
  Vector b = a;
  b[7] = std::nextafter(b[7], 1.0f);

  const Distances distance = Between(a, b);

  EXPECT_GT(*distance.raw.value, 0);
  EXPECT_GT(*distance.normalised.value, 0);
}

TEST(DistanceTest, WithoutADirectionThereIsNoDistance) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(Between({}, {}).raw.value.has_value());
  EXPECT_FALSE(Between({1}, {1, 2}).raw.value.has_value());
  EXPECT_FALSE(Between({0, 0}, {1, 2}).raw.value.has_value());
  EXPECT_FALSE(Between({nan, 0}, {1, 2}).raw.value.has_value());
}

TEST(DistanceTest, PiecesAreOneVectorAndTheirBitsDoNotDependOnWhereItIsCut) {
  Draws draws(5);
  Vector a(101), b(101);
  for (float& v : a) v = static_cast<float>(draws.Normal());
  for (float& v : b) v = static_cast<float>(draws.Normal());
  const auto cut = [](const Vector& v) {
    const std::span<const float> all = v;
    return WeightPieces{all.first(1), all.subspan(1, 0), all.subspan(1, 64), all.subspan(65)};
  };

  const Distances whole = Between(a, b);
  const Distances pieces = MeanDistances(std::vector<WeightPieces>{cut(a), cut(b)});
  const Distances unequal = MeanDistances(std::vector<WeightPieces>{cut(a), {b}});

  EXPECT_EQ(pieces.raw.value, whole.raw.value);
  EXPECT_EQ(pieces.normalised.value, whole.normalised.value);
  EXPECT_EQ(pieces.cosine.value, whole.cosine.value);
  EXPECT_FALSE(unequal.raw.value.has_value());
  EXPECT_THAT(unequal.raw.note, HasSubstr("1 members left out"));
}

TEST(DistanceTest, MeansAreOverPairsAndLeaveOutWhatIsUnusable) {
  const Vector a = {1, 0}, b = {0, 1}, c = {-1, 0}, odd = {1, 2, 3}, none = {};
  const std::vector<WeightPieces> weights = {{a}, {b}, {odd}, {c}, {none}};

  const Distances means = MeanDistances(weights);

  EXPECT_EQ(means.raw.n, 3);
  EXPECT_DOUBLE_EQ(*means.raw.value, (2 * std::sqrt(2.0) + 2) / 3);
  EXPECT_DOUBLE_EQ(*means.cosine.value, (0.0 + 0.0 - 1.0) / 3);
  EXPECT_THAT(means.raw.note, HasSubstr("2 members left out"));
  EXPECT_GE(*means.raw.low, 0.0);
  EXPECT_LE(*means.normalised.high, 2.0);
}

TEST(DistanceTest, WithoutWeightsTheMeanIsAbsentInWords) {
  const std::vector<WeightPieces> weights(3);

  const Distances means = MeanDistances(weights);

  EXPECT_FALSE(means.raw.value.has_value());
  EXPECT_THAT(means.raw.note, HasSubstr("needs two members, there are 0"));
  EXPECT_THAT(means.raw.note, HasSubstr("3 members left out"));
}

// Many columns, so that products are added up in several parts.
TEST(DistanceTest, BitsOfManyWeightsDoNotDependOnWhereTheyAreCut) {
  Draws draws(20);
  std::vector<std::vector<float>> weights(5);
  for (std::vector<float>& of : weights) {
    for (int i = 0; i < 2000; ++i) of.push_back(static_cast<float>(draws.Normal()));
  }
  std::vector<WeightPieces> whole;
  std::vector<WeightPieces> cut;
  for (const std::vector<float>& of : weights) {
    const std::span<const float> all(of);
    whole.push_back({all});
    cut.push_back({all.first(3), all.subspan(3, 700), all.subspan(703)});
  }
  const Distances of_whole = MeanDistances(whole);
  const Distances of_cut = MeanDistances(cut);
  EXPECT_EQ(of_whole.raw.value, of_cut.raw.value);
  EXPECT_EQ(of_whole.raw.low, of_cut.raw.low);
  EXPECT_EQ(of_whole.normalised.value, of_cut.normalised.value);
  EXPECT_EQ(of_whole.cosine.value, of_cut.cosine.value);
}

// Two that are near among others that are far, and two of one direction: products alone would lose
// what is between them.
TEST(DistanceTest, NearAmongFarHasAllItsDigits) {
  Draws draws(19);
  std::vector<std::vector<float>> weights(4);
  for (int i = 0; i < 3000; ++i) {
    const auto value = static_cast<float>(draws.Normal());
    weights[0].push_back(value);
    weights[1].push_back(value + static_cast<float>(1e-6 * draws.Normal()));
    weights[2].push_back(3 * value);
    weights[3].push_back(static_cast<float>(draws.Normal()));
  }
  std::vector<WeightPieces> pieces;
  for (const std::vector<float>& of : weights)
    pieces.push_back({std::span(of).first(700), std::span(of).subspan(700)});
  double raw = 0;
  double normalised = 0;
  double cosine = 0;
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = a + 1; b < 4; ++b) {
      long double squares = 0, dot = 0, of_a = 0, of_b = 0;
      for (size_t i = 0; i < 3000; ++i) {
        const long double x = weights[a][i];
        const long double y = weights[b][i];
        squares += (x - y) * (x - y);
        dot += x * y;
        of_a += x * x;
        of_b += y * y;
      }
      long double directions = 0;
      for (size_t i = 0; i < 3000; ++i) {
        const long double apart = weights[a][i] / std::sqrt(of_a) - weights[b][i] / std::sqrt(of_b);
        directions += apart * apart;
      }
      raw += static_cast<double>(std::sqrt(squares)) / 6;
      normalised += static_cast<double>(std::sqrt(directions)) / 6;
      cosine += static_cast<double>(dot / std::sqrt(of_a * of_b)) / 6;
    }
  }
  const Distances all = MeanDistances(pieces);
  EXPECT_NEAR(*all.raw.value, raw, 1e-10 * raw);
  EXPECT_NEAR(*all.normalised.value, normalised, 1e-10);
  EXPECT_NEAR(*all.cosine.value, cosine, 1e-12);
  const Distances near = MeanDistances(std::vector<WeightPieces>{pieces[0], pieces[1]});
  EXPECT_GT(*near.raw.value, 0);
  EXPECT_LT(*near.raw.value, 1e-3);
}

}  // namespace
}  // namespace noisefloor::analysis
