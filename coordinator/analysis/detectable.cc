#include "coordinator/analysis/detectable.h"

#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>

#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/remembered.h"

namespace noisefloor::analysis {
namespace {

namespace math = boost::math;
using NoThrow =
    math::policies::policy<math::policies::domain_error<math::policies::errno_on_error>,
                           math::policies::pole_error<math::policies::errno_on_error>,
                           math::policies::overflow_error<math::policies::errno_on_error>,
                           math::policies::evaluation_error<math::policies::errno_on_error>>;

constexpr double kMostRatio = 100;  // Nobody plans for more.

// The non-centrality at which a t test with these degrees of freedom has the power, by bisection.
// The far tail is left out: at this power it is below 1e-4.
double NonCentralityByBisection(double degrees) {
  const double critical = TQuantile(degrees, 1 - kLevel / 2);
  double low = 0;
  double high = critical + 40;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    const math::non_central_t_distribution<double, NoThrow> alternative(degrees, middle);
    const double power = math::cdf(math::complement(alternative, critical));
    (power < kPower ? low : high) = middle;
  }
  return high;
}

double NonCentrality(double degrees) {
  thread_local Remembered<double> remembered;
  return remembered.Of(degrees, [&] { return NonCentralityByBisection(degrees); });
}

// The logarithm of a ratio of two SDs has about the variance 1 / degrees, and its jackknife over
// `draws` is a t test. What that lacks at few draws, for a jackknifed variance of logarithms is
// less sure than one of normal values, is `excess`, fitted to simulated studies.
std::optional<double> SdRatio(int64_t draws, double degrees, double excess) {
  if (draws < 3 || !(degrees > 0)) return std::nullopt;
  const double ratio =
      std::exp(NonCentrality(static_cast<double>(draws - 1)) / std::sqrt(degrees) * (1 + excess));
  return ratio <= kMostRatio ? std::optional(ratio) : std::nullopt;
}

}  // namespace

std::optional<double> DetectableSdRatio(int64_t n) {
  const double count = static_cast<double>(n);
  return SdRatio(n, count - 1, 1.25 / (count - 2.1));
}

std::optional<double> DetectableSdRatioOverBlocks(int64_t blocks, int64_t degrees) {
  const double of_all = static_cast<double>(degrees);
  return SdRatio(blocks, of_all, 1.1 / of_all);
}

std::optional<double> DetectableMeanDifference(int64_t n, double sd) {
  if (n < 2 || !std::isfinite(sd)) return std::nullopt;
  const double count = static_cast<double>(n);
  return NonCentrality(2 * count - 2) * sd * std::sqrt(2 / count);
}

std::optional<double> DetectablePairedDifference(int64_t n, double sd_of_differences) {
  if (n < 2 || !std::isfinite(sd_of_differences)) return std::nullopt;
  const double count = static_cast<double>(n);
  return NonCentrality(count - 1) * sd_of_differences / std::sqrt(count);
}

std::optional<double> NoneSeenBound(int64_t n) {
  if (n < 2) return std::nullopt;
  return 1 - std::pow(kLevel, 1 / static_cast<double>(n - 1));
}

}  // namespace noisefloor::analysis
