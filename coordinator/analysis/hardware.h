// Two hardware classes, all else equal: side A and side B hold the same replicates in the same
// order, and replicate r has equal lanes on both (a pair). Pure.
#pragma once

#include <span>
#include <string>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// Mean of b[r] - a[r], with the paired t interval. Pairs with a value that is not finite are left
// out. Absent without a pair. Differences that are equal but for rounding are equal.
Estimate PairedDifference(std::span<const double> a, std::span<const double> b,
                          const std::string& unit);

// Pearson's correlation of a[r] and b[r] over replicates, with Fisher's interval. Absent below
// three pairs or when a side does not vary.
Estimate CorrelationOfPairs(std::span<const double> a, std::span<const double> b);

// Churn of row r of A against row r of B: mean over replicates, Student's t.
Estimate PairedChurn(const PredictionMatrix& a, const PredictionMatrix& b);

// What two sides come to when members of unequal replicates are compared. Jackknife leaving out one
// replicate. O(replicates x examples).
struct ChurnOfSides {
  Estimate within_a;  // As MeanChurn.
  Estimate within_b;
  Estimate across;  // Of row r of A against row s of B, r != s.
  // across - (within A + within B) / 2. Zero when both sides draw their members from one
  // distribution of answers (an energy distance): the shift of the mean answer, half its mean
  // squared distance. exchange.h tests it.
  Estimate excess;
};
ChurnOfSides CompareSides(const PredictionMatrix& a, const PredictionMatrix& b);

// Logits of a member, flattened, and what is known of them once.
struct Logits {
  // Not finite: neither is.
  explicit Logits(std::span<const float> of);

  std::span<const float> values;  // Owned by whom made it.
  double mean = 0;
  double norm = 0;  // Root of the sum of squared deviations; 0: nothing correlates with them.
};

// Mean Pearson correlation of flattened logits of pairs, and of unequal replicates. Replicates with
// logits that are empty, not finite, constant or of another size on either side are left out, and
// counted in the note. O(replicates x logits).
struct LogitsCorrelations {
  Estimate paired;
  Estimate unpaired;
};
LogitsCorrelations CorrelateLogits(std::span<const Logits> a, std::span<const Logits> b);

}  // namespace noisefloor::analysis
