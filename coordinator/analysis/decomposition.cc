#include "coordinator/analysis/decomposition.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "common/base/check.h"
#include "coordinator/analysis/interval.h"

namespace noisefloor::analysis {
namespace {

constexpr double kIdentified = 1e-9;  // Beside coefficients of 1.

// Sum and number of the distances of pairs, by what they share: {2^sources}.
struct Patterns {
  std::vector<double> sums;
  std::vector<double> counts;

  explicit Patterns(int sources)
      : sums(size_t{1} << sources, 0.0), counts(size_t{1} << sources, 0.0) {}
  void Add(const Patterns& other, double sign) {
    for (size_t s = 0; s < sums.size(); ++s) {
      sums[s] += sign * other.sums[s];
      counts[s] += sign * other.counts[s];
    }
  }
};

SourceSet SharedBy(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  SourceSet shared = 0;
  for (size_t k = 0; k < a.size(); ++k) shared |= (a[k] == b[k] ? 1u : 0u) << k;
  return shared;
}

// Of the members that are kept.
Patterns PatternsOf(const DesignBlock& block, int sources,
                    const std::function<bool(size_t)>& is_kept) {
  Patterns patterns(sources);
  for (size_t i = 0; i < block.levels.size(); ++i) {
    for (size_t j = i + 1; is_kept(i) && j < block.levels.size(); ++j) {
      if (!is_kept(j)) continue;
      const SourceSet shared = SharedBy(block.levels[i], block.levels[j]);
      patterns.sums[shared] += block.distances.At(static_cast<int64_t>(i), static_cast<int64_t>(j));
      patterns.counts[shared] += 1;
    }
  }
  return patterns;
}

// The coefficients of a sum of V_u, u = 1 .. 2^sources - 1.
using Coefficients = Eigen::VectorXd;

// Which V_u are in a quantity.
Coefficients SumOf(int sources, const std::function<bool(SourceSet)>& holds) {
  const Eigen::Index sets = (Eigen::Index{1} << sources) - 1;
  Coefficients coefficients(sets);
  for (Eigen::Index u = 0; u < sets; ++u) {
    coefficients[u] = holds(static_cast<SourceSet>(u + 1)) ? 1 : 0;
  }
  return coefficients;
}

// The least-squares fit of the V_u to the means of the patterns, each weighted by its pairs.
class Fit {
 public:
  Fit(const Patterns& patterns, int sources) {
    std::vector<SourceSet> seen;
    for (SourceSet s = 0; s < patterns.counts.size(); ++s) {
      if (patterns.counts[s] > 0.5) seen.push_back(s);
    }
    const auto rows = static_cast<Eigen::Index>(seen.size());
    Eigen::MatrixXd matrix(rows, (Eigen::Index{1} << sources) - 1);
    Eigen::VectorXd right(rows);
    for (Eigen::Index row = 0; row < rows; ++row) {
      const SourceSet shared = seen[static_cast<size_t>(row)];
      const double weight = std::sqrt(patterns.counts[shared]);
      matrix.row(row) =
          weight * SumOf(sources, [&](SourceSet u) { return (u & ~shared) != 0; }).transpose();
      right[row] = weight * patterns.sums[shared] / patterns.counts[shared];
    }
    if (rows == 0) return;
    const Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver(matrix);
    solution_ = solver.solve(right);
    onto_rows_ = solver.solve(matrix);  // Of least norm: the projection onto the space of rows.
  }

  // Absent where it is in no combination of the patterns that were seen.
  std::optional<double> ValueOf(const Coefficients& coefficients) const {
    if (solution_.size() == 0) return std::nullopt;
    const Eigen::VectorXd explained = onto_rows_ * coefficients;
    if ((explained - coefficients).cwiseAbs().maxCoeff() > kIdentified) return std::nullopt;
    return coefficients.dot(solution_);
  }

 private:
  Eigen::VectorXd solution_;   // {sets}; empty: no pattern was seen.
  Eigen::MatrixXd onto_rows_;  // {sets, sets}
};

// A quantity: a part of the whole, or (without a part) the whole itself.
struct Quantity {
  Coefficients part;
  Coefficients whole;
  bool is_share = true;
};

std::optional<double> ValueOf(const Fit& fit, const Quantity& quantity) {
  const std::optional<double> whole = fit.ValueOf(quantity.whole);
  if (!quantity.is_share || !whole) return quantity.is_share ? std::nullopt : whole;
  const std::optional<double> part = fit.ValueOf(quantity.part);
  if (!part || !(*whole > 0)) return std::nullopt;
  return *part / *whole;
}

// (n - 1) / n times the squared deviations; absent where leaving one out leaves no value.
std::optional<double> JackknifeVariance(double all,
                                        const std::vector<std::optional<double>>& left) {
  double squares = 0;
  for (const std::optional<double>& value : left) {
    if (!value) return std::nullopt;
    squares += (*value - all) * (*value - all);
  }
  const auto n = static_cast<double>(left.size());
  return n < 2 ? std::nullopt : std::optional(squares * (n - 1) / n);
}

// The fits that an interval is made of: without each block; or, of one block, without each draw of
// each source, and without each member.
struct LeftOut {
  std::vector<Fit> blocks;
  std::vector<std::vector<Fit>> draws;  // {sources, levels}
  std::vector<Fit> members;
  int64_t least_draws = 0;
};

LeftOut LeaveOut(std::span<const DesignBlock> blocks, const std::vector<Patterns>& of_block,
                 const Patterns& all, int sources) {
  LeftOut left;
  if (blocks.size() > 1) {
    for (const Patterns& patterns : of_block) {
      Patterns rest = all;
      rest.Add(patterns, -1);
      left.blocks.emplace_back(rest, sources);
    }
    return left;
  }
  const DesignBlock& block = blocks[0];
  for (size_t k = 0; k < static_cast<size_t>(sources); ++k) {
    std::set<uint32_t> levels;
    for (const std::vector<uint32_t>& member : block.levels) levels.insert(member[k]);
    std::vector<Fit>& fits = left.draws.emplace_back();
    for (const uint32_t level : levels) {
      fits.emplace_back(
          PatternsOf(block, sources, [&](size_t m) { return block.levels[m][k] != level; }),
          sources);
    }
    const auto count = static_cast<int64_t>(levels.size());
    left.least_draws = k == 0 ? count : std::min(left.least_draws, count);
  }
  for (size_t out = 0; out < block.levels.size(); ++out) {
    left.members.emplace_back(PatternsOf(block, sources, [&](size_t m) { return m != out; }),
                              sources);
  }
  return left;
}

std::vector<std::optional<double>> ValuesOf(const std::vector<Fit>& fits,
                                            const Quantity& quantity) {
  std::vector<std::optional<double>> values;
  values.reserve(fits.size());
  for (const Fit& fit : fits) values.push_back(ValueOf(fit, quantity));
  return values;
}

std::optional<double> VarianceOver(const LeftOut& left, const Quantity& quantity, double all) {
  if (!left.blocks.empty()) return JackknifeVariance(all, ValuesOf(left.blocks, quantity));
  const std::optional<double> members = JackknifeVariance(all, ValuesOf(left.members, quantity));
  if (!members) return std::nullopt;
  double sum = 0;
  double most = 0;
  for (const std::vector<Fit>& fits : left.draws) {
    const std::optional<double> variance = JackknifeVariance(all, ValuesOf(fits, quantity));
    if (!variance) return std::nullopt;
    sum += *variance;
    most = std::max(most, *variance);
  }
  return std::max(sum - *members, most);
}

Estimate EstimateOf(const Fit& fit, const LeftOut& left, const Quantity& quantity,
                    const std::string& unit) {
  const bool over_blocks = !left.blocks.empty();
  const int64_t n = over_blocks ? static_cast<int64_t>(left.blocks.size()) : left.least_draws;
  const std::optional<double> value = ValueOf(fit, quantity);
  if (!value) return Absent(unit, n, "not identified by this design");
  Estimate estimate;
  estimate.value = value;
  estimate.n = n;
  estimate.unit = unit;
  estimate.method = over_blocks ? "least squares over patterns of shared draws; jackknife leaving "
                                  "out one block, Student's t"
                                : "least squares over patterns of shared draws; jackknife leaving "
                                  "out one draw of one source, Student's t";
  const std::optional<double> variance = VarianceOver(left, quantity, *value);
  if (!variance) {
    estimate.note = "not identified without one of the draws: no interval";
    return estimate;
  }
  const double error = std::sqrt(*variance);
  if (!(error > kRounding * std::max(1.0, std::abs(*value)))) {
    estimate.note = "leaving out any one draw changes nothing: no interval";
    return estimate;
  }
  if (const std::optional<Interval> interval = TInterval(*value, error, n)) {
    estimate.low = interval->low;
    estimate.high = interval->high;
  }
  return estimate;
}

// An index and the V_u that are in it.
struct Kind {
  IndexKind kind = IndexKind::kFirstOrder;
  SourceSet sources = 0;
  Coefficients part;
};

std::vector<Kind> KindsOf(int sources) {
  std::vector<Kind> kinds;
  const auto add = [&](IndexKind kind, SourceSet of, const std::function<bool(SourceSet)>& holds) {
    kinds.push_back({kind, of, SumOf(sources, holds)});
  };
  for (int k = 0; k < sources; ++k) {
    const SourceSet source = 1u << k;
    add(IndexKind::kFirstOrder, source, [&](SourceSet u) { return u == source; });
    add(IndexKind::kTotal, source, [&](SourceSet u) { return (u & source) != 0; });
  }
  for (int k = 0; k < sources; ++k) {
    for (int m = k + 1; m < sources; ++m) {
      const SourceSet both = (1u << k) | (1u << m);
      add(IndexKind::kInteraction, both, [&](SourceSet u) { return u == both; });
    }
  }
  add(IndexKind::kAdditive, (1u << sources) - 1, [](SourceSet u) { return (u & (u - 1)) == 0; });
  return kinds;
}

}  // namespace

Decomposition Decompose(std::span<const DesignBlock> blocks, int sources, const std::string& unit) {
  NF_CHECK(!blocks.empty() && sources >= 1 && sources <= kMostSources);
  std::vector<Patterns> of_block;
  Patterns all(sources);
  for (const DesignBlock& block : blocks) {
    NF_CHECK(block.distances.members() == static_cast<int64_t>(block.levels.size()));
    of_block.push_back(PatternsOf(block, sources, [](size_t) { return true; }));
    all.Add(of_block.back(), 1);
  }
  const Fit fit(all, sources);
  const LeftOut left = LeaveOut(blocks, of_block, all, sources);
  const Coefficients whole = SumOf(sources, [](SourceSet) { return true; });
  Decomposition result;
  result.whole = EstimateOf(fit, left, {whole, whole, false}, unit);
  for (const Kind& kind : KindsOf(sources)) {
    const Quantity quantity{kind.part, whole, true};
    result.indices.push_back(
        {kind.kind, kind.sources, EstimateOf(fit, left, quantity, "fraction")});
  }
  return result;
}

std::vector<Identified> WhatIsIdentified(std::span<const std::vector<std::vector<uint32_t>>> blocks,
                                         int sources) {
  NF_CHECK(sources >= 1 && sources <= kMostSources);
  Patterns all(sources);
  for (const std::vector<std::vector<uint32_t>>& levels : blocks) {
    const DesignBlock block{levels, PairMatrix(static_cast<int64_t>(levels.size()))};
    all.Add(PatternsOf(block, sources, [](size_t) { return true; }), 1);
  }
  const Fit fit(all, sources);
  const bool has_whole = fit.ValueOf(SumOf(sources, [](SourceSet) { return true; })).has_value();
  std::vector<Identified> identified;
  for (const Kind& kind : KindsOf(sources)) {
    identified.push_back(
        {kind.kind, kind.sources, has_whole && fit.ValueOf(kind.part).has_value()});
  }
  return identified;
}

}  // namespace noisefloor::analysis
