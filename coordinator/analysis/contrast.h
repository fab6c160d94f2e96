// Contrasts: by how much a figure of one cohort differs from the same figure of another one. Pure.
//
// Every figure is a `Jackknifed`: its value and what it is without each draw. Two cohorts whose
// draws are the same lanes move together, so the standard error leaves out one draw from both at
// once; where lanes are not shared, the two errors add up.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/pairs.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// A figure of n draws (members, or blocks). `without` is empty where nothing is left when one draw
// is: then there is a value, and no error of it.
struct Jackknifed {
  double all = 0;
  std::vector<double> without;  // {n}
  int64_t n = 0;
};

// Of one value for each draw.
Jackknifed MeanWithoutEach(std::span<const double> values);   // n >= 1.
Jackknifed LogSdWithoutEach(std::span<const double> values);  // ln of the SD (ddof 1); n >= 2.
// ln of the SD inside groups that share it, as PooledSdEstimate: a group is a draw. Those with two
// values or more; at least one.
Jackknifed LogPooledSdWithoutEach(std::span<const std::vector<double>> groups);
// The mean over pairs: churn, from its sums. n >= 2.
Jackknifed PairMeanWithoutEach(const PairSums& sums);
// The same where a pair has any number of values, as PairMean; at least one.
Jackknifed PairMeanWithoutEach(const PairSums& sums, const PairSums& counts);

// (n - 1) / n times the squared deviations of the values without one draw from that of all.
double JackknifeVariance(const Jackknifed& figure);

// The mean of one figure of several cohorts that have the same draws: of hardware classes, say.
// Not empty, and of one n.
Jackknifed MeanOfFigures(std::span<const Jackknifed> figures);

// How a contrast is told: B - A, or B / A of figures that are given as logarithms.
enum class Scale : uint8_t { kDifference, kRatio };

// Of a difference, and the degrees of freedom that it is known with.
struct ErrorOfDifference {
  double variance = 0;
  double degrees = 0;
};

// Of two figures of n_a and n_b draws that have nothing in common, by their variances: the variance
// of their sum or difference, with Welch's and Satterthwaite's degrees of freedom.
ErrorOfDifference AddErrors(double of_a, int64_t n_a, double of_b, int64_t n_b);

struct Contrast {
  Estimate estimate;
  std::optional<ErrorOfDifference> error;  // Of the logarithm of a ratio. Absent: no interval.
  std::optional<double> p;  // Two-sided, of "no difference". Absent where there is no interval.
};

// B against A, whose draws are the same. With delta the difference of all and delta_i that without
// draw i: se^2 = (n - 1) / n sum (delta_i - delta)^2, Student's t with n - 1 degrees. Of means this
// is the paired t test. No interval below three draws, nor where leaving out any of them changes
// nothing. `unit` is that of a difference.
Contrast PairedContrast(const Jackknifed& a, const Jackknifed& b, Scale scale,
                        const std::string& unit);

// B against A, whose draws have nothing in common: se^2 = se_A^2 + se_B^2, Student's t with Welch's
// and Satterthwaite's degrees of freedom. No interval where a side has fewer than three draws.
Contrast UnpairedContrast(const Jackknifed& a, const Jackknifed& b, Scale scale,
                          const std::string& unit);

// How likely is a draw of B above one of A, equals counted half? Of means, whose draws are told by
// what is left without each. The same draws on both sides: the share of them in which B is above,
// with Wilson's interval. Nothing shared: the share of all pairs, with the interval of Brunner and
// Munzel (2000), Student's t with Satterthwaite's degrees of freedom; none below three draws a side
// or where the sides do not overlap.
Estimate ProbabilityAbove(const Jackknifed& a, const Jackknifed& b, bool paired);

}  // namespace noisefloor::analysis
