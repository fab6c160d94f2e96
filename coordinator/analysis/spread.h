// Mean and standard deviation of one value for each member. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::analysis {

// Neumaier's compensated sum divided by the count; nan for none.
double MeanOf(std::span<const double> values);
// With ddof 1; nan below two.
double SdOf(std::span<const double> values);

// Values that are not finite are left out of all three and counted in the note.
//
// Mean with Student's t interval. Absent without a finite value.
Estimate MeanEstimate(std::span<const double> values, const std::string& unit);
// Standard deviation (ddof 1) with the chi-square interval, which assumes normal values. Absent
// below two; without an interval when all values are equal.
Estimate SdEstimate(std::span<const double> values, const std::string& unit);
// The standard deviation inside groups of independent values (ddof 1 in each) that share it, but
// not their means: the root of the pooled variance, with the chi-square interval of its degrees of
// freedom; n counts the values in groups of two or more. Absent where no group has two finite
// values.
Estimate PooledSdEstimate(std::span<const std::vector<double>> groups, const std::string& unit);
// Largest minus smallest, without an interval: it grows with n.
Estimate RangeEstimate(std::span<const double> values, const std::string& unit);

}  // namespace noisefloor::analysis
