#include "coordinator/analysis/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {

std::vector<bool> CanBeClaimed(std::span<const double> least, double level) {
  std::vector<double> sorted(least.begin(), least.end());
  std::ranges::sort(sorted);
  double of_each = level;
  for (size_t k = 1; k <= least.size(); ++k) {
    of_each = level / static_cast<double>(k);
    const auto after = std::ranges::upper_bound(sorted, of_each);
    if (static_cast<size_t>(after - sorted.begin()) <= k) break;
  }
  std::vector<bool> can;
  for (const double p : least) can.push_back(p <= of_each);
  return can;
}

std::vector<std::optional<double>> Holm(std::span<const std::optional<double>> p) {
  return Holm(p, std::vector<double>(p.size(), 1));
}

std::vector<std::optional<double>> Holm(std::span<const std::optional<double>> p,
                                        std::span<const double> weights) {
  std::vector<size_t> order;
  for (size_t k = 0; k < p.size(); ++k) {
    if (p[k]) order.push_back(k);
  }
  const auto of_its_share = [&](size_t k) { return *p[k] / weights[k]; };
  std::ranges::stable_sort(order, {}, of_its_share);
  std::vector<double> left(order.size());  // The weight of this one and of all after it.
  double sum = 0;
  for (size_t k = order.size(); k-- > 0;) left[k] = sum += weights[order[k]];
  std::vector<std::optional<double>> adjusted(p.size());
  double least = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    least = std::max(least, std::min(1.0, left[k] * of_its_share(order[k])));
    adjusted[order[k]] = least;
  }
  return adjusted;
}

std::vector<size_t> MayBeLargest(std::span<const double> values,
                                 std::span<const std::vector<double>> without, double level) {
  // Whoever is beaten is beaten soon: by the largest.
  std::vector<size_t> largest_first(values.size());
  std::iota(largest_first.begin(), largest_first.end(), size_t{0});
  if (without.size() < 3 || values.size() < 2) return largest_first;  // Nothing is tested.
  std::ranges::stable_sort(largest_first, std::greater(), [&](size_t d) { return values[d]; });
  const double n = static_cast<double>(without.size());
  const double rivals = static_cast<double>(values.size()) - 1;
  const double critical = TQuantile(n - 1, 1 - level / rivals);
  // {values, replicates}: two values are compared over all replicates at a time.
  std::vector<double> of_value(values.size() * without.size());
  for (size_t r = 0; r < without.size(); ++r) {
    for (size_t c = 0; c < values.size(); ++c) of_value[c * without.size() + r] = without[r][c];
  }
  std::vector<size_t> kept;
  for (size_t c = 0; c < values.size(); ++c) {
    const auto beats = [&](size_t d) {
      const double difference = values[d] - values[c];
      if (!(difference > 0)) return false;
      const double* const of_d = of_value.data() + d * without.size();
      const double* const of_c = of_value.data() + c * without.size();
      double squares = 0;
      for (size_t r = 0; r < without.size(); ++r) {
        const double deviation = of_d[r] - of_c[r] - difference;
        squares += deviation * deviation;
      }
      const double error = std::sqrt(squares * (n - 1) / n);
      return error > kRounding && difference > critical * error;
    };
    if (std::ranges::none_of(largest_first, beats)) kept.push_back(c);
  }
  return kept;
}

}  // namespace noisefloor::analysis
