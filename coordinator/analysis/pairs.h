// Means over pairs of members. Pairs share members, so they are not independent: the interval
// leaves out one member at a time (jackknife), never one pair. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::analysis {

// A finite symmetric value for each pair of members; the diagonal is 0 and in no mean.
class PairMatrix {
 public:
  explicit PairMatrix(int64_t members)
      : members_(members), values_(static_cast<size_t>(members * members), 0.0) {}
  int64_t members() const { return members_; }
  double At(int64_t i, int64_t j) const { return values_[static_cast<size_t>(i * members_ + j)]; }
  void Set(int64_t i, int64_t j, double value) {
    values_[static_cast<size_t>(i * members_ + j)] = value;
    values_[static_cast<size_t>(j * members_ + i)] = value;
  }

 private:
  int64_t members_;
  std::vector<double> values_;
};

// Enough for mean and jackknife, without the pairs themselves.
struct PairSums {
  double total = 0;               // Over the pairs i < j.
  std::vector<double> of_member;  // Over the pairs of each member: {members}; sums to 2 total.
};

PairSums SumPairs(const PairMatrix& pairs);

// The sums where every pair has the same value.
PairSums SameForAllPairs(size_t members, double value);

// What is smaller, beside the terms that it is left of, is rounding.
inline constexpr double kRounding = 1e-12;

// What values are possible, for cutting intervals: a churn is in [0, 1]. A value that may be
// negative is what is left of terms as large as its lower bound; rounding is measured by those.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// The mean over pairs, a U-statistic of degree 2, with the delete-one-member jackknife and
// Student's t with n - 1 degrees. Absent below two members; no interval at two, nor when leaving
// out any member changes nothing but the last bits; then a value of nothing but those is 0.
// `detectable`: a difference of two such means.
Estimate PairMean(const PairSums& sums, const std::string& unit, Bounds bounds);

// The same where a pair has any number of values: `counts` are the sums of a one for each value.
// Absent without a value; no interval when leaving out one member leaves no value.
Estimate PairMean(const PairSums& sums, const PairSums& counts, const std::string& unit,
                  Bounds bounds);

}  // namespace noisefloor::analysis
