// How many times as long as another one something takes, from times that were taken in pairs. Pure.
#pragma once

#include <span>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::analysis {

// The geometric mean of a[i] / b[i], where pairs were taken under the same conditions: exp(m) with
// Student's t interval exp(m +- t(n - 1; 0.975) s / sqrt(n)), m and s being mean and standard
// deviation (ddof 1) of ln(a[i] / b[i]). The logarithm makes a / b and b / a the same statement,
// and one slow step one value among n (Fleming and Wallace 1986; t intervals of repeated timings:
// Georges, Buytaert, Eeckhout 2007). The interval takes pairs for independent. Absent without a
// pair of positive, finite times; others are left out and counted in the note.
Estimate PairedRatio(std::span<const double> a, std::span<const double> b);

// The same of ratios that are independent of each other, one a run: how runs differ, too (Kalibera
// and Jones 2013).
Estimate RatioOverRuns(std::span<const double> ratios);

// The middle of the values, or the mean of the two in the middle; nan for none.
double MedianOf(std::span<const double> values);

}  // namespace noisefloor::analysis
