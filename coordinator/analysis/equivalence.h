// Is a figure of B that of A, but for a margin? Two one-sided tests (Schuirmann, J. Pharmacokinet.
// Biopharm. 15, 1987), and how many draws decide. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "coordinator/analysis/contrast.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// B - A with what is known about it.
struct Difference {
  double value = 0;
  double standard_error = 0;
  double degrees = 0;  // Of Student's t. 0: there is no error, of too few draws or of equal ones.
  double sd = 0;       // Of the difference of one draw a side: the error of n is sd / sqrt(n).
  int64_t n = 0;       // Draws, of the side that has fewer.
  bool paired = true;  // One draw of each is one draw: n - 1 degrees; else 2 (n - 1).
  bool one_sided = false;  // It is never truly below 0: of interest is how far above.
};

// Of figures without each draw; `paired`: the same draws.
Difference DifferenceOf(const Jackknifed& a, const Jackknifed& b, bool paired);

// How far apart the mean answers are: churn of a member of A and one of B, less the mean churn
// inside A and inside B; half of the mean squared distance of the mean answers. Of paired sides row
// r of both is one draw: pairs r != s. Leaves out one draw at a time. Two members a side at least.
Difference ShiftBetween(const PredictionMatrix& a, const PredictionMatrix& b, bool paired);

// The p of "B is as far from A as the margin, or further": the larger of two one-sided ones. Absent
// without an error.
std::optional<double> EquivalenceP(const Difference& difference, double margin);

// The p of "B is no further from A than the margin": 1 where it is not. Two-sided, so that p <= 5 %
// is a 95 % interval that lies beyond. Absent without an error.
std::optional<double> BeyondP(const Difference& difference, double margin);

// The chance that EquivalenceP is at most 5 % with n draws a side when there is no difference, of a
// figure whose difference has this standard deviation for one draw.
double EquivalencePower(int64_t n, double sd, double margin, bool paired, bool one_sided);

// The fewest draws a side with a power of 80 % when there is no difference, though the standard
// deviation were at the upper end of its one-sided 80 % interval. Absent without an error, and
// where a million are too few.
std::optional<int64_t> DrawsToDecide(const Difference& difference, double margin);

}  // namespace noisefloor::analysis
