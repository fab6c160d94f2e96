#include "coordinator/analysis/sensitive.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <cstddef>
#include <map>

#include "common/base/check.h"
#include "coordinator/analysis/hypothesis.h"

namespace noisefloor::analysis {
namespace {

// Of so many flips, whichever way they go.
double LeastP(int64_t flips) {
  constexpr int64_t kMost = 1000;  // Beyond, it is 0 to a double.
  return std::min(1.0, std::ldexp(2.0, -static_cast<int>(std::min(flips, kMost))));
}

}  // namespace

std::vector<int64_t> FlipsByExample(const PredictionMatrix& a, const PredictionMatrix& b) {
  NF_CHECK(a.members() == b.members() && a.examples() == b.examples());
  std::vector<int32_t> flips(static_cast<size_t>(a.examples()), 0);
  for (int64_t r = 0; r < a.members(); ++r) {
    const std::span<const int16_t> of_a = a.Row(r);
    const std::span<const int16_t> of_b = b.Row(r);
    for (size_t x = 0; x < flips.size(); ++x) flips[x] += Differ(of_a[x], of_b[x]);
  }
  return {flips.begin(), flips.end()};
}

FlipsAbout MostFlipsAbout(const PredictionMatrix& a, const PredictionMatrix& b, int64_t example) {
  const auto x = static_cast<size_t>(example);
  std::map<int32_t, FlipsAbout> of_class;
  for (int64_t r = 0; r < a.members(); ++r) {
    const int16_t on_a = a.Row(r)[x];
    const int16_t on_b = b.Row(r)[x];
    if (on_a == on_b) continue;
    if (on_a >= 0) {
      ++of_class[on_a].flips;
      ++of_class[on_a].from_a;
    }
    if (on_b >= 0) ++of_class[on_b].flips;
  }
  FlipsAbout most;
  for (auto& [label, about] : of_class) {
    about.label = label;
    if (about.flips > most.flips) most = about;
  }
  return most;
}

double SignTestP(const FlipsAbout& about) {
  if (about.flips == 0) return 1;
  const boost::math::binomial_distribution<double> fair(static_cast<double>(about.flips), 0.5);
  const int64_t fewer = std::min(about.from_a, about.flips - about.from_a);
  return std::min(1.0, 2 * cdf(fair, static_cast<double>(fewer)));
}

std::vector<std::optional<FollowsSide>> TestExamples(const PredictionMatrix& a,
                                                     const PredictionMatrix& b,
                                                     std::span<const int64_t> flips, double level) {
  std::vector<FlipsAbout> about(flips.size());
  std::vector<double> least(flips.size(), 1.0);
  for (size_t x = 0; x < flips.size(); ++x) {
    if (LeastP(flips[x]) > level) continue;  // Nor are fewer of them enough.
    about[x] = MostFlipsAbout(a, b, static_cast<int64_t>(x));
    least[x] = LeastP(about[x].flips);
  }
  const std::vector<bool> can = CanBeClaimed(least, level);
  std::vector<std::optional<double>> p(flips.size());
  for (size_t x = 0; x < flips.size(); ++x) {
    if (can[x]) p[x] = SignTestP(about[x]);
  }
  const std::vector<std::optional<double>> adjusted = BenjaminiHochberg(p);
  std::vector<std::optional<FollowsSide>> tests(flips.size());
  for (size_t x = 0; x < flips.size(); ++x) {
    if (p[x]) tests[x] = FollowsSide{*p[x], *adjusted[x]};
  }
  return tests;
}

}  // namespace noisefloor::analysis
