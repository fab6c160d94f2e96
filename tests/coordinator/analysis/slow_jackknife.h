// The jackknife over members by its definition: every mean is added up anew from its pairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/interval.h"

namespace noisefloor::analysis {

// Over the ordered pairs of n members, but for those of `without`; -1: of all.
template <typename Value>
long double SlowMean(int64_t n, int64_t without, const Value& value) {
  long double sum = 0;
  long double pairs = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (i == j || i == without || j == without) continue;
      sum += value(i, j);
      pairs += 1;
    }
  }
  return sum / pairs;
}

template <typename Value>
double SlowStandardError(int64_t n, const Value& value) {
  std::vector<long double> means;
  long double average = 0;
  for (int64_t i = 0; i < n; ++i) means.push_back(SlowMean(n, i, value));
  for (const long double mean : means) average += mean / static_cast<long double>(n);
  long double squares = 0;
  for (const long double mean : means) squares += (mean - average) * (mean - average);
  return static_cast<double>(
      std::sqrt(squares * static_cast<long double>(n - 1) / static_cast<long double>(n)));
}

// Expects that `estimate` is the mean of value(i, j) over the pairs i != j of n >= 3 members, with
// the jackknife's interval cut to [low, high], and none where all means are equal.
template <typename Value>
void ExpectJackknife(const Estimate& estimate, int64_t n, double low, double high,
                     const Value& value, bool against_zero = false) {
  ASSERT_TRUE(estimate.value.has_value()) << estimate.note;
  EXPECT_NEAR(*estimate.value, static_cast<double>(SlowMean(n, -1, value)), 1e-10);
  EXPECT_EQ(estimate.n, n);
  const double error = SlowStandardError(n, value);
  EXPECT_EQ(estimate.low.has_value(), error > 1e-12);
  EXPECT_EQ(estimate.note.empty(), error > 1e-12) << estimate.note;
  if (!estimate.low) return;
  const Interval expected = *TInterval(*estimate.value, error, n);
  EXPECT_NEAR(*estimate.low, std::max(low, expected.low), 1e-9);
  EXPECT_NEAR(*estimate.high, std::min(high, expected.high), 1e-9);
  const double sd = error * std::sqrt(static_cast<double>(n));
  const auto detectable =
      against_zero ? DetectablePairedDifference(n, sd) : DetectableMeanDifference(n, sd);
  EXPECT_NEAR(*estimate.detectable, *detectable, 1e-8);
}

}  // namespace noisefloor::analysis
