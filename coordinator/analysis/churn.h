// Churn: the fraction of examples on which two members disagree. Pure.
//
// Intervals are over members, and the evaluation set is taken as it is, not as a sample; but that
// of AnyDisagreement is over examples.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/pairs.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// On how many examples two rows of equal length differ.
int64_t CountDiffering(std::span<const int16_t> a, std::span<const int16_t> b);

// For each row of `rows`: in how many answers it differs from all rows of `others` together.
// O((rows + others) x examples). Equal examples and classes.
std::vector<int64_t> CountDifferingFromAll(const PredictionMatrix& rows,
                                           const PredictionMatrix& others);

// For each row: in how many answers it differs from all other rows together.
std::vector<int64_t> CountDifferingFromOthers(const PredictionMatrix& answers);

// The same of the rows of two sides, for each of both: from all others of its own side, and from
// all of the other. Equal examples and classes.
struct DifferingOfSides {
  std::array<std::vector<int64_t>, 2> inside;
  std::array<std::vector<int64_t>, 2> across;
};
DifferingOfSides CountDifferingOfSides(const PredictionMatrix& a, const PredictionMatrix& b);

// Of two rows of equal length > 0.
double Churn(std::span<const int16_t> a, std::span<const int16_t> b);

// Of every pair: O(members^2 x examples).
PairMatrix ChurnMatrix(const PredictionMatrix& answers);

// The same sums from counts of classes for each example: O(members x examples). examples > 0.
PairSums ChurnSums(const PredictionMatrix& answers);
// From CountDifferingFromOthers.
PairSums ChurnSums(std::span<const int64_t> differing, int64_t examples);

// Mean over pairs of members. Absent below two members or without examples.
Estimate MeanChurn(const PredictionMatrix& answers);

// Fraction of examples on which not all of k members agree, of any k of these: the mean over all
// groups of k (a U-statistic of degree k; 2: churn), whatever the number of members. From counts of
// classes, O(members x examples); jackknife leaving out one member. Absent below k members; no
// interval at k. k is 2 or 3.
Estimate AnyOf(const PredictionMatrix& answers, int64_t k);

// Fraction of examples on which not all members agree. It grows with the number of members, so n
// belongs to the figure; AnyOf compares cohorts of unequal ones. Wilson's interval over examples,
// for these members: a cohort gives one such number, which cannot say how other draws of n members
// would spread.
Estimate AnyDisagreement(const PredictionMatrix& answers);

// For each example, how many pairs of members disagree. members >= 2.
std::vector<int64_t> PairsThatDiffer(const PredictionMatrix& answers);

}  // namespace noisefloor::analysis
