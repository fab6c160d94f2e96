#include "coordinator/analysis/enrichment.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "coordinator/analysis/interval.h"

namespace noisefloor::analysis {
namespace {

std::vector<int64_t> Sizes(const Groups& groups) {
  std::vector<int64_t> sizes(static_cast<size_t>(groups.count), 0);
  for (const int32_t group : groups.of_example) {
    if (group >= 0 && group < groups.count) ++sizes[static_cast<size_t>(group)];
  }
  return sizes;
}

double LogChoose(int64_t of, int64_t how_many) {
  return std::lgamma(static_cast<double>(of + 1)) - std::lgamma(static_cast<double>(how_many + 1)) -
         std::lgamma(static_cast<double>(of - how_many + 1));
}

// Of `chosen` among `drawn` when `examples` of `all` are of the group: the hypergeometric's terms,
// each from the one before. (Boost's, which divides by primes, takes a millisecond a group.)
double TwoSided(int64_t chosen, int64_t drawn, int64_t examples, int64_t all) {
  const int64_t least = std::max<int64_t>(0, drawn + examples - all);
  const int64_t most = std::min(drawn, examples);
  double term = std::exp(LogChoose(examples, chosen) + LogChoose(all - examples, drawn - chosen) -
                         LogChoose(all, drawn));
  const double of_chosen = term;
  const auto ratio = [&](int64_t k) {  // Of the term of k + 1 to that of k.
    return static_cast<double>(examples - k) * static_cast<double>(drawn - k) /
           (static_cast<double>(k + 1) * static_cast<double>(all - examples - drawn + k + 1));
  };
  double at_least = of_chosen;
  for (int64_t k = chosen; k < most; ++k) at_least += term *= ratio(k);
  term = of_chosen;
  double at_most = of_chosen;
  for (int64_t k = chosen; k > least; --k) at_most += term /= ratio(k - 1);
  return std::min(1.0, 2 * std::min(at_most, at_least));
}

}  // namespace

std::vector<Enrichment> EnrichmentOfGroups(std::span<const int64_t> chosen, const Groups& groups) {
  const std::vector<int64_t> sizes = Sizes(groups);
  const auto all = static_cast<int64_t>(groups.of_example.size());
  const auto drawn = static_cast<int64_t>(chosen.size());
  std::vector<Enrichment> enrichment(sizes.size());
  for (const int64_t example : chosen) {
    const int32_t group = groups.of_example[static_cast<size_t>(example)];
    if (group >= 0 && group < groups.count) ++enrichment[static_cast<size_t>(group)].chosen;
  }
  for (size_t g = 0; g < sizes.size(); ++g) {
    Enrichment& one = enrichment[g];
    one.examples = sizes[g];
    one.ratio.unit = "ratio";
    one.ratio.n = drawn;
    if (drawn == 0 || sizes[g] == 0) {
      one.ratio.note = drawn == 0 ? "nothing is chosen" : "the group has no example";
      continue;
    }
    const double scale = static_cast<double>(all) / static_cast<double>(sizes[g]);
    const std::optional<Interval> share = WilsonInterval(one.chosen, drawn);
    one.ratio.value = scale * static_cast<double>(one.chosen) / static_cast<double>(drawn);
    one.ratio.low = scale * share->low;
    one.ratio.high = scale * share->high;
    one.ratio.method = "share of the chosen / share of all; Wilson over the chosen examples";
    one.p = TwoSided(one.chosen, drawn, sizes[g], all);
  }
  return enrichment;
}

}  // namespace noisefloor::analysis
