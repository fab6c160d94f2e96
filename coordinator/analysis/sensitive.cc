#include "coordinator/analysis/sensitive.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>

#include "common/base/check.h"

namespace noisefloor::analysis {
namespace {

// The p that so many flips can give, rising: the fewer of them go one way first.
std::vector<double> PossibleP(int64_t flips) {
  std::vector<double> p;
  for (int64_t fewer = 0; 2 * fewer <= flips; ++fewer) p.push_back(SignTestP({0, flips, fewer}));
  return p;
}

// The tests with one number of flips.
struct Alike {
  std::vector<double> possible;
  double count = 0;

  // The largest that is not above t; 0: none.
  double UpTo(double t) const {
    const auto after = std::ranges::upper_bound(possible, t);
    return after == possible.begin() ? 0 : *(after - 1);
  }
};

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

std::vector<FlipsAbout> MostFlipsAbout(const PredictionMatrix& a, const PredictionMatrix& b,
                                       std::span<const int64_t> examples) {
  std::vector<std::vector<FlipsAbout>> of_class(examples.size());  // As the classes first come.
  const auto count = [](int16_t label, bool from_a, std::vector<FlipsAbout>& of_example) {
    if (label < 0) return;
    auto found = std::ranges::find(of_example, int32_t{label}, &FlipsAbout::label);
    if (found == of_example.end()) found = of_example.insert(found, {label, 0, 0});
    ++found->flips;
    found->from_a += from_a;
  };
  for (int64_t r = 0; r < a.members(); ++r) {
    for (size_t k = 0; k < examples.size(); ++k) {
      const auto x = static_cast<size_t>(examples[k]);
      const int16_t on_a = a.Row(r)[x];
      const int16_t on_b = b.Row(r)[x];
      if (on_a == on_b) continue;
      count(on_a, true, of_class[k]);
      count(on_b, false, of_class[k]);
    }
  }
  std::vector<FlipsAbout> most(examples.size());
  for (size_t k = 0; k < examples.size(); ++k) {
    for (const FlipsAbout& about : of_class[k]) {
      const bool more = about.flips > most[k].flips;
      if (more || (about.flips == most[k].flips && about.label < most[k].label)) most[k] = about;
    }
  }
  return most;
}

double SignTestP(const FlipsAbout& about) {
  if (about.flips == 0) return 1;
  const boost::math::binomial_distribution<double> fair(static_cast<double>(about.flips), 0.5);
  const int64_t fewer = std::min(about.from_a, about.flips - about.from_a);
  return std::min(1.0, 2 * cdf(fair, static_cast<double>(fewer)));
}

std::vector<double> AdjustForDiscoveries(std::span<const FlipsAbout> about, double level) {
  std::map<int64_t, Alike> by_flips;
  std::vector<double> p;
  for (const FlipsAbout& one : about) {
    Alike& alike = by_flips[one.flips];
    if (alike.count == 0) alike.possible = PossibleP(one.flips);
    ++alike.count;
    p.push_back(SignTestP(one));
  }
  std::vector<double> possible;
  for (const auto& [flips, alike] : by_flips) {
    possible.insert(possible.end(), alike.possible.begin(), alike.possible.end());
  }
  std::ranges::sort(possible);
  // The largest t that the level allows: sums rise with t.
  const auto beyond = std::ranges::partition_point(possible, [&](double t) {
    double sum = 0;
    for (const auto& [flips, alike] : by_flips) {
      const double up_to = alike.UpTo(t);
      sum += up_to < 1 ? alike.count * up_to / (1 - up_to) : HUGE_VAL;
    }
    return sum <= level * static_cast<double>(about.size());
  });
  const double last = beyond == possible.begin() ? 0 : *(beyond - 1);
  const auto expected = [&](double t) {
    double sum = 0;
    for (const auto& [flips, alike] : by_flips) {
      sum += alike.count * alike.UpTo(t) / (1 - alike.UpTo(last));
    }
    return sum;
  };
  std::vector<size_t> order(about.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t k) { return p[k]; });
  std::vector<double> adjusted(about.size(), 1.0);
  double least = 1;
  for (size_t k = order.size(); k-- > 0;) {
    if (p[order[k]] > last) continue;
    const bool same = k + 1 < order.size() && p[order[k]] == p[order[k + 1]];
    if (!same) least = std::min(least, expected(p[order[k]]) / static_cast<double>(k + 1));
    adjusted[order[k]] = least;
  }
  return adjusted;
}

std::vector<std::optional<FollowsSide>> TestExamples(const PredictionMatrix& a,
                                                     const PredictionMatrix& b,
                                                     std::span<const int64_t> flips, double level) {
  const auto could = [&](int64_t of_example) { return SignTestP({0, of_example, 0}) <= level; };
  std::vector<int64_t> examples;
  for (size_t x = 0; x < flips.size(); ++x) {
    if (could(flips[x])) examples.push_back(static_cast<int64_t>(x));
  }
  const std::vector<FlipsAbout> all = MostFlipsAbout(a, b, examples);
  std::vector<FlipsAbout> about;
  std::vector<size_t> tested;
  for (size_t k = 0; k < all.size(); ++k) {
    if (!could(all[k].flips)) continue;
    about.push_back(all[k]);
    tested.push_back(static_cast<size_t>(examples[k]));
  }
  const std::vector<double> adjusted = AdjustForDiscoveries(about, level);
  std::vector<std::optional<FollowsSide>> tests(flips.size());
  for (size_t k = 0; k < about.size(); ++k) {
    tests[tested[k]] = FollowsSide{SignTestP(about[k]), adjusted[k]};
  }
  return tests;
}

}  // namespace noisefloor::analysis
