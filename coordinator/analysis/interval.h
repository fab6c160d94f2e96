// Confidence intervals and the quantiles that they need (Boost.Math). Pure; never fails by
// exception: what cannot be computed is absent. All intervals are two-sided at 95 %.
#pragma once

#include <cstdint>
#include <optional>

namespace noisefloor::analysis {

inline constexpr double kLevel = 0.05;  // 1 - confidence.

struct Interval {
  double low = 0;
  double high = 0;
};

// Quantiles at probability p in (0, 1); degrees of freedom > 0.
double TQuantile(double degrees, double p);
double ChiSquareQuantile(double degrees, double p);
double NormalQuantile(double p);

// Of a normal value to be at most z, and of Student's t to be at least t.
double NormalProbability(double z);
double UpperP(double t, double degrees);

// Two-sided p of Student's t.
double TwoSidedP(double t, double degrees);

// value +- t(n - 1) * standard_error; absent below n = 2.
std::optional<Interval> TInterval(double value, double standard_error, int64_t n);

// Of a standard deviation with ddof 1 from n normal values; absent below n = 2.
std::optional<Interval> SdInterval(double sd, int64_t n);

// Of a proportion: Wilson's score interval; absent for total = 0. Hits may count halves.
std::optional<Interval> WilsonInterval(double hits, int64_t total);

// Of a Pearson correlation over n pairs: Fisher's z; absent below n = 4 or at |r| = 1.
std::optional<Interval> CorrelationInterval(double r, int64_t n);

}  // namespace noisefloor::analysis
