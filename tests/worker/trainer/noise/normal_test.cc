#include "worker/trainer/noise/normal.h"

#include <cmath>

#include "gtest/gtest.h"

#include "common/base/philox.h"

namespace noisefloor::trainer {
namespace {

struct Known {
  uint32_t word;
  double value;
};

// sqrt(2) erfinv(2 p - 1) at p = (word + 1/2) / 2^32, in arithmetic of 40 digits.
constexpr Known kKnown[] = {
    {0u, -6.3379577545537892525},
    {1u, -6.166429517819750247},
    {1000u, -5.039851125968711549},
    {16777216u, -2.6600674585799718255},
    {268435456u, -1.5341205434059567292},
    {322122547u, -1.4395314704450153116},
    {322122548u, -1.4395314688002133017},
    {1073741824u, -0.67448974982973843215},
    {2147483647u, -2.9180993729166226723e-10},
    {2147483648u, 2.9180993729166226723e-10},
    {3221225472u, 0.67448975056242505435},
    {3972844748u, 1.4395314704450153116},
    {4294963200u, 4.7630256587264279446},
    {4294967295u, 6.3379577545537892525},
};

TEST(NormalTest, KnownValuesComeOutToTheLastDigits) {
  for (const auto& [word, value] : kKnown) {
    const double p = (word + 0.5) / 4294967296.0;
    EXPECT_NEAR(InverseNormal(p), value, 1e-14 * std::fabs(value)) << word;
    EXPECT_EQ(NormalFloat(word), static_cast<float>(value)) << word;
  }
}

// Not by the C library's erfc alone: its bits may differ, its digits do not.
TEST(NormalTest, DistributionFunctionTakesEveryDrawBack) {
  const PhiloxStream stream(1, 2);
  for (uint64_t i = 0; i < 20'000; ++i) {
    const double p = (stream.Word(i) + 0.5) / 4294967296.0;
    const double back = 0.5 * std::erfc(-InverseNormal(p) * std::sqrt(0.5));
    EXPECT_NEAR(back, p, 1e-13 * p);
  }
}

TEST(NormalTest, DrawsAreSymmetricAndRise) {
  float last = NormalFloat(0);
  for (uint32_t word = 1 << 20; word < 0x80000000; word += 1 << 20) {
    EXPECT_EQ(NormalFloat(word), -NormalFloat(~word));
    EXPECT_GT(NormalFloat(word), last);
    last = NormalFloat(word);
  }
}

TEST(NormalTest, RoutineHasNoStepWhereItsFormulasMeet) {
  for (const double p : {0.075, 0.925}) {
    const double below = InverseNormal(std::nextafter(p, 0.0));
    const double above = InverseNormal(std::nextafter(p, 1.0));
    EXPECT_NEAR(below, above, 1e-14);
  }
}

TEST(NormalTest, MomentsAreThoseOfTheNormalDistribution) {
  const PhiloxStream stream(3, 4);
  constexpr int kDraws = 1'000'000;
  double sums[5] = {};
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double x = NormalFloat(stream.Word(i));
    for (int power = 1; power <= 4; ++power) sums[power] += std::pow(x, power);
  }

  EXPECT_NEAR(sums[1] / kDraws, 0.0, 4 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(sums[2] / kDraws, 1.0, 4 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(sums[3] / kDraws, 0.0, 4 * std::sqrt(15.0 / kDraws));
  EXPECT_NEAR(sums[4] / kDraws, 3.0, 4 * std::sqrt(96.0 / kDraws));
}

TEST(PortableLogTest, AgreesWithTheLibraryToTheLastDigits) {
  for (double x = 0.49; x > 1e-11; x *= 0.9993) {
    EXPECT_NEAR(PortableLog(x), std::log(x), 1e-15 * std::fabs(std::log(x))) << x;
  }
  EXPECT_EQ(PortableLog(1.0), 0.0);
  EXPECT_NEAR(PortableLog(1e6), std::log(1e6), 1e-14);
}

}  // namespace
}  // namespace noisefloor::trainer
