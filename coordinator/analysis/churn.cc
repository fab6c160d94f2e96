#include "coordinator/analysis/churn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "fmt/format.h"

#include "common/base/check.h"
#include "coordinator/analysis/contrast.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/packed_answers.h"

namespace noisefloor::analysis {
namespace {

constexpr int64_t kMostCounts = 1 << 15;  // Of answers at a time: they stay in the cache.

// Rows lie so far apart that a processor does not foresee the next one: what of it is read soon is
// asked for ahead. Of examples [first, last).
class Ahead {
 public:
  Ahead(const PredictionMatrix& rows, int64_t first, int64_t last)
      : rows_(rows), first_(first), last_(last) {}
  std::span<const int16_t> Row(int64_t member) const {
    if (member + kRows < rows_.members()) {
      const int16_t* const row = rows_.Row(member + kRows).data();
      __builtin_prefetch(row + first_);
      __builtin_prefetch(row + last_ - 1);
    }
    return rows_.Row(member);
  }

 private:
  static constexpr int64_t kRows = 4;

  const PredictionMatrix& rows_;
  int64_t first_;
  int64_t last_;
};

// How many members gave each answer, of some examples at a time.
class AnswerCounts {
 public:
  explicit AnswerCounts(const PredictionMatrix& answers) : answers_(answers) {}

  // Of examples [first, last).
  void Count(int64_t first, int64_t last) {
    Count(first, last, [](int64_t, int32_t) {});
  }
  // The same; calls each(x, count) for each answer to these that a member has: how many members
  // before it gave it to example first + x.
  template <typename Each>
  void Count(int64_t first, int64_t last, const Each& each) {
    first_ = first;
    last_ = last;
    const int64_t classes = answers_.classes();
    counts_.assign(static_cast<size_t>((last - first) * classes), 0);
    const Ahead ahead(answers_, first, last);
    for (int64_t m = 0; m < answers_.members(); ++m) {
      const std::span<const int16_t> row = ahead.Row(m);
      for (int64_t x = first; x < last; ++x) {
        const int16_t answer = row[static_cast<size_t>(x)];
        if (answer < 0) continue;
        each(x - first, counts_[static_cast<size_t>((x - first) * classes + answer)]++);
      }
    }
  }
  // Calls each(count) for each answer to these that a row has: how many members gave it.
  template <typename Each>
  void ForRow(std::span<const int16_t> row, const Each& each) const {
    for (int64_t x = first_; x < last_; ++x) {
      const int16_t answer = row[static_cast<size_t>(x)];
      if (answer >= 0) {
        each(counts_[static_cast<size_t>((x - first_) * answers_.classes() + answer)]);
      }
    }
  }
  // How often the answers of a row to these differ from those of the members.
  int64_t Differing(std::span<const int16_t> row) const {
    int64_t equal = 0;
    ForRow(row, [&](int32_t count) { equal += count; });
    return (last_ - first_) * answers_.members() - equal;
  }

 private:
  const PredictionMatrix& answers_;
  int64_t first_ = 0;
  int64_t last_ = 0;
  std::vector<int32_t> counts_;  // {examples, classes}
};

// Calls each(first, last) for all examples, as many at a time as are counted together.
template <typename Each>
void ForSomeExamples(const PredictionMatrix& answers, const Each& each) {
  const int64_t at_once = std::max<int64_t>(1, kMostCounts / answers.classes());
  for (int64_t first = 0; first < answers.examples(); first += at_once) {
    each(first, std::min(answers.examples(), first + at_once));
  }
}

// How many groups of k there are among so many; k in [1, 3].
int64_t Groups(int64_t members, int64_t k) {
  int64_t groups = members;
  for (int64_t i = 1; i < k; ++i) groups = groups * (members - i) / (i + 1);
  return groups;
}

Estimate AnyOfEstimate(const Jackknifed& figure, int64_t k) {
  Estimate estimate;
  // What is left of 1 may be rounding.
  estimate.value = std::abs(figure.all) <= kRounding ? 0 : figure.all;
  estimate.n = figure.n;
  estimate.unit = "fraction";
  estimate.method = fmt::format("mean over groups of {} members; jackknife over members", k);
  if (figure.without.empty()) {
    estimate.note = fmt::format("no interval from {} members", figure.n);
    return estimate;
  }
  const double error = std::sqrt(JackknifeVariance(figure));
  if (!(error > kRounding)) {
    estimate.note = *estimate.value == 0
                        ? fmt::format("no difference seen in {} members: no interval", figure.n)
                        : "leaving out any one member changes nothing: no interval";
    return estimate;
  }
  const std::optional<Interval> interval = TInterval(*estimate.value, error, figure.n);
  estimate.low = interval->low;
  estimate.high = interval->high;
  CutInterval(estimate, 0, 1);
  return estimate;
}

// An undefined answer differs from itself, too, which is no other.
void LeaveOutItself(const PredictionMatrix& answers, std::vector<int64_t>& differing) {
  for (int64_t m = 0; m < answers.members(); ++m) {
    differing[static_cast<size_t>(m)] -=
        std::ranges::count_if(answers.Row(m), [](int16_t answer) { return answer < 0; });
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
  AnswerCounts counts(others);
  ForSomeExamples(others, [&](int64_t first, int64_t last) {
    counts.Count(first, last);
    const Ahead ahead(rows, first, last);
    for (int64_t m = 0; m < rows.members(); ++m) {
      differing[static_cast<size_t>(m)] += counts.Differing(ahead.Row(m));
    }
  });
  return differing;
}

std::vector<int64_t> CountDifferingFromOthers(const PredictionMatrix& answers) {
  std::vector<int64_t> differing = CountDifferingFromAll(answers, answers);
  LeaveOutItself(answers, differing);
  return differing;
}

DifferingOfSides CountDifferingOfSides(const PredictionMatrix& a, const PredictionMatrix& b) {
  NF_CHECK(a.examples() == b.examples() && a.classes() == b.classes());
  const std::array<const PredictionMatrix*, 2> sides = {&a, &b};
  std::array<AnswerCounts, 2> counts = {AnswerCounts(a), AnswerCounts(b)};
  DifferingOfSides differing;
  for (size_t s = 0; s < 2; ++s) {
    differing.inside[s].assign(static_cast<size_t>(sides[s]->members()), 0);
    differing.across[s] = differing.inside[s];
  }
  ForSomeExamples(a, [&](int64_t first, int64_t last) {
    for (AnswerCounts& side : counts) side.Count(first, last);
    for (size_t s = 0; s < 2; ++s) {
      const Ahead ahead(*sides[s], first, last);
      for (int64_t m = 0; m < sides[s]->members(); ++m) {
        const std::span<const int16_t> row = ahead.Row(m);
        differing.inside[s][static_cast<size_t>(m)] += counts[s].Differing(row);
        differing.across[s][static_cast<size_t>(m)] += counts[1 - s].Differing(row);
      }
    }
  });
  for (size_t s = 0; s < 2; ++s) LeaveOutItself(*sides[s], differing.inside[s]);
  return differing;
}

double Churn(std::span<const int16_t> a, std::span<const int16_t> b) {
  NF_CHECK(!a.empty());
  return static_cast<double>(CountDiffering(a, b)) / static_cast<double>(a.size());
}

PairMatrix ChurnMatrix(const PredictionMatrix& answers) {
  NF_CHECK(answers.examples() > 0);
  const PackedAnswers packed(answers);
  KnownPairs known(packed);
  PairMatrix pairs(answers.members());
  for (int64_t i = 0; i < answers.members(); ++i) {
    for (int64_t j = i + 1; j < answers.members(); ++j) {
      pairs.Set(
          i, j,
          static_cast<double>(known.Differing(i, j)) / static_cast<double>(answers.examples()));
    }
  }
  return pairs;
}

PairSums ChurnSums(const PredictionMatrix& answers) {
  return ChurnSums(CountDifferingFromOthers(answers), answers.examples());
}

PairSums ChurnSums(std::span<const int64_t> differing, int64_t examples) {
  NF_CHECK(examples > 0);
  PairSums sums;
  int64_t twice = 0;
  for (const int64_t count : differing) {
    twice += count;
    sums.of_member.push_back(static_cast<double>(count) / static_cast<double>(examples));
  }
  sums.total = static_cast<double>(twice) / 2 / static_cast<double>(examples);
  return sums;
}

Estimate MeanChurn(const PredictionMatrix& answers) {
  if (answers.examples() == 0) return Absent("fraction", 0, "there are no examples");
  return PairMean(ChurnSums(answers), "fraction", {0, 1});
}

Estimate AnyOf(const PredictionMatrix& answers, int64_t k) {
  NF_CHECK(k == 2 || k == 3);
  const int64_t n = answers.members();
  if (n < k) {
    return Absent("fraction", n, fmt::format("needs {} members, there are {}", k, n));
  }
  if (answers.examples() == 0) return Absent("fraction", n, "there are no examples");
  // In whole numbers for some examples at a time: where all agree nothing of rounding is left.
  std::vector<int64_t> with_one(static_cast<size_t>(n) + 1, 0);  // A certain one of so many.
  for (int64_t count = 1; count <= n; ++count) {
    with_one[static_cast<size_t>(count)] = Groups(count - 1, k - 1);
  }
  double agree = 0;
  Jackknifed figure{.all = 0, .without = {}, .n = n};
  std::vector<double> agree_without(n > k ? static_cast<size_t>(n) : 0, 0);
  AnswerCounts counts(answers);
  ForSomeExamples(answers, [&](int64_t first, int64_t last) {
    int64_t groups = 0;  // Each is counted with the last of its members.
    counts.Count(first, last, [&](int64_t, int32_t before) {
      groups += with_one[static_cast<size_t>(before) + 1];
    });
    agree += static_cast<double>(groups) / static_cast<double>(Groups(n, k));
    const Ahead ahead(answers, first, last);
    for (size_t m = 0; m < agree_without.size(); ++m) {
      int64_t with_member = 0;  // That answer as it does: k - 1 others of those that do.
      counts.ForRow(ahead.Row(static_cast<int64_t>(m)),
                    [&](int32_t count) { with_member += with_one[static_cast<size_t>(count)]; });
      agree_without[m] +=
          static_cast<double>(groups - with_member) / static_cast<double>(Groups(n - 1, k));
    }
  });
  const auto examples = static_cast<double>(answers.examples());
  figure.all = 1 - agree / examples;
  for (const double agreeing : agree_without) figure.without.push_back(1 - agreeing / examples);
  return AnyOfEstimate(figure, k);
}

Estimate AnyDisagreement(const PredictionMatrix& answers) {
  const int64_t n = answers.members();
  if (n < 2) return Absent("fraction", n, "needs two members, there are " + std::to_string(n));
  if (answers.examples() == 0) return Absent("fraction", n, "there are no examples");
  std::vector<uint8_t> differ(static_cast<size_t>(answers.examples()), 0);
  const std::span<const int16_t> first = answers.Row(0);
  for (int64_t m = 1; m < n; ++m) {
    const std::span<const int16_t> row = answers.Row(m);
    for (size_t x = 0; x < differ.size(); ++x) differ[x] |= uint8_t{Differ(first[x], row[x])};
  }
  const int64_t hits = std::ranges::count(differ, 1);
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

std::vector<int64_t> PairsThatDiffer(const PredictionMatrix& answers) {
  NF_CHECK(answers.members() >= 2);
  const int64_t pairs = answers.members() * (answers.members() - 1) / 2;
  std::vector<int64_t> differ(static_cast<size_t>(answers.examples()), pairs);
  AnswerCounts counts(answers);
  ForSomeExamples(answers, [&](int64_t first, int64_t last) {
    int64_t* const of_first = differ.data() + first;
    counts.Count(first, last, [&](int64_t x, int32_t before) { of_first[x] -= before; });
  });
  return differ;
}

}  // namespace noisefloor::analysis
