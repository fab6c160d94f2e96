#include "coordinator/analysis/decomposition.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

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
  void Add(SourceSet shared, double distance) {
    sums[shared] += distance;
    counts[shared] += 1;
  }
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

// Calls each(i, j, what the two share, their distance) for every pair.
template <typename Each>
void ForEachPair(const DesignBlock& block, const Each& each) {
  for (size_t i = 0; i < block.levels.size(); ++i) {
    for (size_t j = i + 1; j < block.levels.size(); ++j) {
      each(i, j, SharedBy(block.levels[i], block.levels[j]),
           block.distances.At(static_cast<int64_t>(i), static_cast<int64_t>(j)));
    }
  }
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

// The V_u that give the means of the patterns, of least norm: there are no more patterns than sets,
// and those of different patterns are independent, so that it fits them all and no weights enter.
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
      matrix.row(row) = SumOf(sources, [&](SourceSet u) { return (u & ~shared) != 0; }).transpose();
      right[row] = patterns.sums[shared] / patterns.counts[shared];
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

// The jackknife's variance, and how many of those left out it is of: what changes nothing when it
// is left out, as a block whose other trainings have failed, tells nothing and is no draw.
struct Jackknife {
  double variance = 0;
  int64_t n = 0;
};

// What a share, and what the whole, whatever its unit, may change by that is nothing but rounding.
double RoundingIn(const Quantity& quantity, double all) {
  return kRounding * (quantity.is_share ? std::max(1.0, std::abs(all)) : std::abs(all));
}

// Absent where leaving one out leaves no value.
std::optional<Jackknife> JackknifeOf(double all, double rounding,
                                     const std::vector<std::optional<double>>& left) {
  double squares = 0;
  Jackknife jackknife;
  for (const std::optional<double>& value : left) {
    if (!value) return std::nullopt;
    if (std::abs(*value - all) <= rounding) continue;
    squares += (*value - all) * (*value - all);
    ++jackknife.n;
  }
  const auto n = static_cast<double>(jackknife.n);
  if (n > 1) jackknife.variance = squares * (n - 1) / n;
  return jackknife;
}

// The fits that an interval is made of: without each block; or, of one block, without each draw of
// each source, and without each member.
struct LeftOut {
  std::vector<Fit> blocks;
  std::vector<std::vector<Fit>> draws;  // {sources, levels}
  std::vector<Fit> members;
};

Fit FitWithout(const Patterns& all, const Patterns& left_out, int sources) {
  Patterns rest = all;
  rest.Add(left_out, -1);
  return {rest, sources};
}

LeftOut LeaveOut(std::span<const DesignBlock> blocks, const std::vector<Patterns>& of_block,
                 const Patterns& all, int sources) {
  LeftOut left;
  if (blocks.size() > 1) {
    for (const Patterns& patterns : of_block) {
      left.blocks.push_back(FitWithout(all, patterns, sources));
    }
    return left;
  }
  // The pairs of each member, and of each draw of each source.
  const DesignBlock& block = blocks[0];
  std::vector<Patterns> of_member(block.levels.size(), Patterns(sources));
  std::vector<std::map<uint32_t, Patterns>> of_draw(static_cast<size_t>(sources));
  ForEachPair(block, [&](size_t i, size_t j, SourceSet shared, double distance) {
    of_member[i].Add(shared, distance);
    of_member[j].Add(shared, distance);
    for (size_t k = 0; k < of_draw.size(); ++k) {
      const uint32_t of_i = block.levels[i][k];
      const uint32_t of_j = block.levels[j][k];
      of_draw[k].try_emplace(of_i, sources).first->second.Add(shared, distance);
      if (of_j != of_i) of_draw[k].try_emplace(of_j, sources).first->second.Add(shared, distance);
    }
  });
  for (const Patterns& patterns : of_member) {
    left.members.push_back(FitWithout(all, patterns, sources));
  }
  for (const std::map<uint32_t, Patterns>& levels : of_draw) {
    std::vector<Fit>& fits = left.draws.emplace_back();
    for (const auto& [level, patterns] : levels) fits.push_back(FitWithout(all, patterns, sources));
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

std::optional<Jackknife> VarianceOver(const LeftOut& left, const Quantity& quantity, double all) {
  const double rounding = RoundingIn(quantity, all);
  if (!left.blocks.empty()) return JackknifeOf(all, rounding, ValuesOf(left.blocks, quantity));
  const std::optional<Jackknife> members =
      JackknifeOf(all, rounding, ValuesOf(left.members, quantity));
  if (!members) return std::nullopt;
  double sum = 0;
  Jackknife most;
  std::optional<int64_t> fewest;
  for (const std::vector<Fit>& fits : left.draws) {
    const std::optional<Jackknife> of_source = JackknifeOf(all, rounding, ValuesOf(fits, quantity));
    if (!of_source) return std::nullopt;
    sum += of_source->variance;
    most.variance = std::max(most.variance, of_source->variance);
    fewest = std::min(fewest.value_or(of_source->n), of_source->n);
  }
  return Jackknife{std::max(sum - members->variance, most.variance), fewest.value_or(0)};
}

Estimate EstimateOf(const Fit& fit, const LeftOut& left, const Quantity& quantity,
                    const std::string& unit) {
  const bool over_blocks = !left.blocks.empty();
  const std::optional<double> value = ValueOf(fit, quantity);
  if (!value) return Absent(unit, 0, "not identified by this design");
  Estimate estimate;
  estimate.value = value;
  estimate.unit = unit;
  estimate.method = over_blocks ? "from the means of patterns of shared draws; jackknife leaving "
                                  "out one block, Student's t"
                                : "from the means of patterns of shared draws; jackknife leaving "
                                  "out one draw of one source, Student's t";
  const std::optional<Jackknife> jackknife = VarianceOver(left, quantity, *value);
  if (!jackknife) {
    estimate.note = "not identified without one of the draws: no interval";
    return estimate;
  }
  estimate.n = jackknife->n;
  const std::optional<Interval> interval =
      TInterval(*value, std::sqrt(jackknife->variance), jackknife->n);
  if (!interval || !(jackknife->variance > 0)) {
    estimate.note = over_blocks ? "fewer than two blocks tell of it: no interval"
                                : "too few draws tell of it: no interval";
    return estimate;
  }
  estimate.low = interval->low;
  estimate.high = interval->high;
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
    Patterns& patterns = of_block.emplace_back(sources);
    ForEachPair(block, [&](size_t, size_t, SourceSet shared, double distance) {
      patterns.Add(shared, distance);
    });
    all.Add(patterns, 1);
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

}  // namespace noisefloor::analysis
