// How much of the spread of top-1 is nothing but answers that flip? Pure.
//
// If each member got example x wrong with the same probability, independently of the other
// examples, top-1 would still spread: its variance would be 1/N^2 sum of eps_x (1 - eps_x), eps_x
// being the share of members that are wrong there (times n / (n - 1), for eps_x is estimated from
// the same n members). What top-1 varies beyond that is a difference between trainings that other
// test examples would show, too (Jordan, ICLR 2024: distribution-wise variance).
//
// Where an example has several decisions, these are no draws of their own: what is independent is
// the number c_x of them that are right. The variance is 1/N^2 sum of var(c_x) over the examples,
// var over the members (ddof 1), N all decisions; of one decision each that is the sum above.
#pragma once

#include <cstdint>
#include <span>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

struct FlipNoise {
  Estimate sd;     // Of top-1, from flips alone, independent between examples; a fraction.
  Estimate share;  // Of the variance of top-1; 1: nothing but flips, and by chance above it.
};

// One label for each column, of which there is one at least; `decisions` columns side by side, 1 or
// more, are of one example. The interval leaves out one member from all at once. Absent below three
// members; the share where top-1 does not vary.
FlipNoise NoiseOfFlips(const PredictionMatrix& answers, std::span<const int32_t> labels,
                       int64_t decisions);

// Mean churn over the mean error rate of the same members: 1 under class-wise calibration, in
// expectation (Jiang, Nagarajan, Baek, Kolter, ICLR 2022). Both move together from member to
// member: the interval is of the logarithm of the ratio, leaving out one member from both. Absent
// below two members, or where nobody is wrong.
Estimate ChurnToError(const PredictionMatrix& answers, std::span<const int32_t> labels);

}  // namespace noisefloor::analysis
