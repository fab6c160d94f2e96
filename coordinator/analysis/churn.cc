#include "coordinator/analysis/churn.h"

#include <string>

#include "common/base/check.h"
#include "coordinator/analysis/interval.h"

namespace noisefloor::analysis {
namespace {

// Calls each(example, member, how many of the other members differ) in order of examples.
template <typename Each>
void ForEachAnswer(const PredictionMatrix& answers, const Each& each) {
  std::vector<int64_t> counts(static_cast<size_t>(answers.classes()), 0);
  const int64_t members = answers.members();
  for (int64_t x = 0; x < answers.examples(); ++x) {
    const auto said = [&](int64_t member) { return answers.Row(member)[static_cast<size_t>(x)]; };
    for (int64_t m = 0; m < members; ++m) {
      if (said(m) >= 0) ++counts[static_cast<size_t>(said(m))];
    }
    for (int64_t m = 0; m < members; ++m) {
      each(x, m, said(m) < 0 ? members - 1 : members - counts[static_cast<size_t>(said(m))]);
    }
    for (int64_t m = 0; m < members; ++m) {
      if (said(m) >= 0) counts[static_cast<size_t>(said(m))] = 0;
    }
  }
}

}  // namespace

int64_t CountDiffering(std::span<const int16_t> a, std::span<const int16_t> b) {
  NF_CHECK(a.size() == b.size());
  int64_t differing = 0;
  for (size_t x = 0; x < a.size(); ++x) differing += Differ(a[x], b[x]);
  return differing;
}

double Churn(std::span<const int16_t> a, std::span<const int16_t> b) {
  NF_CHECK(!a.empty());
  return static_cast<double>(CountDiffering(a, b)) / static_cast<double>(a.size());
}

PairMatrix ChurnMatrix(const PredictionMatrix& answers) {
  PairMatrix pairs(answers.members());
  for (int64_t i = 0; i < answers.members(); ++i) {
    for (int64_t j = i + 1; j < answers.members(); ++j) {
      pairs.Set(i, j, Churn(answers.Row(i), answers.Row(j)));
    }
  }
  return pairs;
}

PairSums ChurnSums(const PredictionMatrix& answers) {
  NF_CHECK(answers.examples() > 0);
  std::vector<int64_t> differing(static_cast<size_t>(answers.members()), 0);
  ForEachAnswer(answers, [&](int64_t, int64_t member, int64_t others) {
    differing[static_cast<size_t>(member)] += others;
  });
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
  std::vector<int64_t> ordered(static_cast<size_t>(answers.examples()), 0);
  ForEachAnswer(answers, [&](int64_t example, int64_t, int64_t others) {
    ordered[static_cast<size_t>(example)] += others;
  });
  const double pairs =
      static_cast<double>(answers.members()) * static_cast<double>(answers.members() - 1);
  std::vector<double> disagreement;
  disagreement.reserve(ordered.size());
  for (const int64_t count : ordered) disagreement.push_back(static_cast<double>(count) / pairs);
  return disagreement;
}

}  // namespace noisefloor::analysis
