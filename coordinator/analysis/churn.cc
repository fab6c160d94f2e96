#include "coordinator/analysis/churn.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>

#include "common/base/check.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/packed_answers.h"

namespace noisefloor::analysis {
namespace {

constexpr int64_t kMostCounts = 1 << 17;  // Of answers at a time: they stay in the cache.

// Calls each(first, last, counts) for examples [first, last) after each other: how many members
// gave each answer, {examples, classes}.
template <typename Each>
void CountAnswers(const PredictionMatrix& answers, const Each& each) {
  const int64_t classes = answers.classes();
  const int64_t at_once = std::max<int64_t>(1, kMostCounts / classes);
  std::vector<int32_t> counts;
  for (int64_t first = 0; first < answers.examples(); first += at_once) {
    const int64_t last = std::min(answers.examples(), first + at_once);
    counts.assign(static_cast<size_t>((last - first) * classes), 0);
    for (int64_t m = 0; m < answers.members(); ++m) {
      const std::span<const int16_t> row = answers.Row(m);
      for (int64_t x = first; x < last; ++x) {
        const int16_t answer = row[static_cast<size_t>(x)];
        if (answer >= 0) ++counts[static_cast<size_t>((x - first) * classes + answer)];
      }
    }
    each(first, last, std::span<const int32_t>(counts));
  }
}

}  // namespace

int64_t CountDiffering(std::span<const int16_t> a, std::span<const int16_t> b) {
  NF_CHECK(a.size() == b.size());
  // Lanes of a known number, which compilers keep in vectors; a lane holds as much as its steps.
  constexpr size_t kLanes = 64;
  constexpr size_t kMostSteps = std::numeric_limits<uint16_t>::max();
  int64_t differing = 0;
  size_t x = 0;
  while (a.size() - x >= kLanes) {
    std::array<uint16_t, kLanes> lanes{};
    const size_t steps = std::min(kMostSteps, (a.size() - x) / kLanes);
    for (size_t step = 0; step < steps; ++step, x += kLanes) {
      const int16_t* const of_a = a.data() + x;
      const int16_t* const of_b = b.data() + x;
      for (size_t l = 0; l < kLanes; ++l) {
        lanes[l] = static_cast<uint16_t>(lanes[l] + Differ(of_a[l], of_b[l]));
      }
    }
    differing += std::accumulate(lanes.begin(), lanes.end(), int64_t{0});
  }
  for (; x < a.size(); ++x) differing += Differ(a[x], b[x]);
  return differing;
}

std::vector<int64_t> CountDifferingFromAll(const PredictionMatrix& rows,
                                           const PredictionMatrix& others) {
  NF_CHECK(rows.examples() == others.examples() && rows.classes() == others.classes());
  std::vector<int64_t> differing(static_cast<size_t>(rows.members()), 0);
  CountAnswers(others, [&](int64_t first, int64_t last, std::span<const int32_t> counts) {
    for (int64_t m = 0; m < rows.members(); ++m) {
      const std::span<const int16_t> row = rows.Row(m);
      int64_t equal = 0;
      for (int64_t x = first; x < last; ++x) {
        const int16_t answer = row[static_cast<size_t>(x)];
        if (answer >= 0)
          equal += counts[static_cast<size_t>((x - first) * rows.classes() + answer)];
      }
      differing[static_cast<size_t>(m)] += (last - first) * others.members() - equal;
    }
  });
  return differing;
}

std::vector<int64_t> CountDifferingFromOthers(const PredictionMatrix& answers) {
  std::vector<int64_t> differing = CountDifferingFromAll(answers, answers);
  for (int64_t m = 0; m < answers.members(); ++m) {
    // An undefined answer differs from itself, too.
    differing[static_cast<size_t>(m)] -=
        std::ranges::count_if(answers.Row(m), [](int16_t answer) { return answer < 0; });
  }
  return differing;
}

double Churn(std::span<const int16_t> a, std::span<const int16_t> b) {
  NF_CHECK(!a.empty());
  return static_cast<double>(CountDiffering(a, b)) / static_cast<double>(a.size());
}

PairMatrix ChurnMatrix(const PredictionMatrix& answers) {
  NF_CHECK(answers.examples() > 0);
  const PackedAnswers packed(answers);
  PairMatrix pairs(answers.members());
  for (int64_t i = 0; i < answers.members(); ++i) {
    for (int64_t j = i + 1; j < answers.members(); ++j) {
      pairs.Set(
          i, j,
          static_cast<double>(packed.Differing(i, j)) / static_cast<double>(answers.examples()));
    }
  }
  return pairs;
}

PairSums ChurnSums(const PredictionMatrix& answers) {
  NF_CHECK(answers.examples() > 0);
  const std::vector<int64_t> differing = CountDifferingFromOthers(answers);
  PairSums sums;
  int64_t twice = 0;
  for (const int64_t count : differing) {
    twice += count;
    sums.of_member.push_back(static_cast<double>(count) / static_cast<double>(answers.examples()));
  }
  sums.total = static_cast<double>(twice) / 2 / static_cast<double>(answers.examples());
  return sums;
}

Estimate MeanChurn(const PredictionMatrix& answers) {
  if (answers.examples() == 0) return Absent("fraction", 0, "there are no examples");
  return PairMean(ChurnSums(answers), "fraction", {0, 1});
}

Estimate AnyDisagreement(const PredictionMatrix& answers) {
  const int64_t n = answers.members();
  if (n < 2) return Absent("fraction", n, "needs two members, there are " + std::to_string(n));
  if (answers.examples() == 0) return Absent("fraction", n, "there are no examples");
  int64_t hits = 0;
  for (const double disagreement : DisagreementByExample(answers)) hits += disagreement > 0;
  Estimate estimate;
  estimate.value = static_cast<double>(hits) / static_cast<double>(answers.examples());
  estimate.n = n;
  estimate.unit = "fraction";
  estimate.method = "examples on which not all " + std::to_string(n) +
                    " members agree; grows with n; Wilson over examples, not members";
  if (hits == 0) {
    estimate.note = "no difference seen in " + std::to_string(n) + " members: no interval";
    return estimate;
  }
  estimate.note = "the interval is over examples, for these " + std::to_string(n) +
                  " members: how other draws of members would spread cannot be seen from them";
  const std::optional<Interval> interval = WilsonInterval(hits, answers.examples());
  estimate.low = interval->low;
  estimate.high = interval->high;
  return estimate;
}

std::vector<double> DisagreementByExample(const PredictionMatrix& answers) {
  NF_CHECK(answers.members() >= 2);
  const int64_t classes = answers.classes();
  const int64_t pairs = answers.members() * (answers.members() - 1);
  std::vector<double> disagreement;
  disagreement.reserve(static_cast<size_t>(answers.examples()));
  CountAnswers(answers, [&](int64_t first, int64_t last, std::span<const int32_t> counts) {
    for (int64_t x = 0; x < last - first; ++x) {
      int64_t agree = 0;
      for (const int64_t count :
           counts.subspan(static_cast<size_t>(x * classes), static_cast<size_t>(classes))) {
        agree += count * (count - 1);
      }
      disagreement.push_back(static_cast<double>(pairs - agree) / static_cast<double>(pairs));
    }
  });
  return disagreement;
}

}  // namespace noisefloor::analysis
