#include "coordinator/analysis/interval.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <utility>

#include "coordinator/analysis/remembered.h"

namespace noisefloor::analysis {
namespace {

namespace math = boost::math;
using NoThrow =
    math::policies::policy<math::policies::domain_error<math::policies::errno_on_error>,
                           math::policies::pole_error<math::policies::errno_on_error>,
                           math::policies::overflow_error<math::policies::errno_on_error>,
                           math::policies::evaluation_error<math::policies::errno_on_error>>;

}  // namespace

double TQuantile(double degrees, double p) {
  thread_local Remembered<std::pair<double, double>> remembered;
  return remembered.Of({degrees, p}, [&] {
    return math::quantile(math::students_t_distribution<double, NoThrow>(degrees), p);
  });
}

double ChiSquareQuantile(double degrees, double p) {
  thread_local Remembered<std::pair<double, double>> remembered;
  return remembered.Of({degrees, p}, [&] {
    return math::quantile(math::chi_squared_distribution<double, NoThrow>(degrees), p);
  });
}

double NormalQuantile(double p) {
  return math::quantile(math::normal_distribution<double, NoThrow>(0, 1), p);
}

double NormalProbability(double z) {
  return math::cdf(math::normal_distribution<double, NoThrow>(0, 1), z);
}

double UpperP(double t, double degrees) {
  const math::students_t_distribution<double, NoThrow> distribution(degrees);
  return math::cdf(math::complement(distribution, t));
}

double TwoSidedP(double t, double degrees) {
  const math::students_t_distribution<double, NoThrow> distribution(degrees);
  return 2 * math::cdf(math::complement(distribution, std::abs(t)));
}

std::optional<Interval> TInterval(double value, double standard_error, int64_t n) {
  if (n < 2 || !std::isfinite(value) || !std::isfinite(standard_error)) return std::nullopt;
  const double half = TQuantile(static_cast<double>(n - 1), 1 - kLevel / 2) * standard_error;
  return Interval{value - half, value + half};
}

std::optional<Interval> SdInterval(double sd, int64_t n) {
  if (n < 2 || !std::isfinite(sd)) return std::nullopt;
  const double degrees = static_cast<double>(n - 1);
  return Interval{sd * std::sqrt(degrees / ChiSquareQuantile(degrees, 1 - kLevel / 2)),
                  sd * std::sqrt(degrees / ChiSquareQuantile(degrees, kLevel / 2))};
}

std::optional<Interval> WilsonInterval(double hits, int64_t total) {
  if (total < 1) return std::nullopt;
  const double z = NormalQuantile(1 - kLevel / 2);
  const double n = static_cast<double>(total);
  const double p = hits / n;
  const double centre = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  // At the edges the formula is exact only up to rounding.
  return Interval{hits == 0 ? 0.0 : std::max(0.0, centre - half),
                  hits == n ? 1.0 : std::min(1.0, centre + half)};
}

std::optional<Interval> CorrelationInterval(double r, int64_t n) {
  if (n < 4 || !(std::abs(r) < 1)) return std::nullopt;
  const double half = NormalQuantile(1 - kLevel / 2) / std::sqrt(static_cast<double>(n - 3));
  return Interval{std::tanh(std::atanh(r) - half), std::tanh(std::atanh(r) + half)};
}

}  // namespace noisefloor::analysis
