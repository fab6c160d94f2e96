#include "coordinator/report/comparison.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "fmt/format.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/hardware.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/pairing.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::Absent;
using Sides = std::vector<std::vector<size_t>>;  // A and B: positions in Gathered::members.

// The estimates of a comparison, each with the lower end of what is possible (the upper is 1) and
// whether it is set against zero.
struct Figure {
  Estimate Comparison::*estimate;
  double least = -1;
  bool from_zero = false;
};
constexpr double kNoLeast = -std::numeric_limits<double>::infinity();
constexpr Figure kFigures[] = {
    {&Comparison::accuracy_difference, kNoLeast, true},
    {&Comparison::churn_paired, 0},
    {&Comparison::churn_unpaired, 0},
    {&Comparison::churn_excess, -1, true},
    {&Comparison::churn_within_a, 0},
    {&Comparison::churn_within_b, 0},
    {&Comparison::logits_correlation_paired},
    {&Comparison::logits_correlation_unpaired},
};

// Of one comparison, 1 GiB.
constexpr size_t kMostLogits = size_t{1} << 28;

// Each member's logits are summed up once, in however many comparisons it is.
class KnownLogits {
 public:
  explicit KnownLogits(const Gathered& gathered)
      : gathered_(gathered), known_(gathered.members.size()) {}

  const analysis::Logits& Of(size_t member) {
    std::optional<analysis::Logits>& known = known_[member];
    if (!known) known.emplace(gathered_.members[member].input->predictions.values());
    return *known;
  }

 private:
  const Gathered& gathered_;
  std::vector<std::optional<analysis::Logits>> known_;  // By place in Gathered::members.
};

void FillLogits(const Gathered& gathered, KnownLogits& known, const Sides& pairs, Comparison& out) {
  size_t count = 0;
  for (const std::vector<size_t>& side : pairs) {
    for (const size_t m : side) count += gathered.members[m].input->predictions.size();
  }
  if (count > kMostLogits) {
    out.logits_correlation_paired = out.logits_correlation_unpaired =
        Absent("correlation", std::ssize(pairs[0]),
               fmt::format("{} logits, more than {}, are not read", count, kMostLogits));
    return;
  }
  std::array<std::vector<analysis::Logits>, 2> logits;
  for (size_t side = 0; side < pairs.size(); ++side) {
    for (const size_t m : pairs[side]) {
      logits[side].push_back(known.Of(m));
      if (!logits[side].back().values.empty()) continue;
      out.logits_correlation_paired = out.logits_correlation_unpaired =
          Absent("correlation", 0, "only answers are known, no logits");
      return;
    }
  }
  analysis::LogitsCorrelations correlations = analysis::CorrelateLogits(logits[0], logits[1]);
  out.logits_correlation_paired = std::move(correlations.paired);
  out.logits_correlation_unpaired = std::move(correlations.unpaired);
}

void FillChurn(const Gathered& gathered, KnownLogits& known, const Sides& pairs, Comparison& out) {
  if (pairs[0].empty()) {
    const Estimate absent = Absent("fraction", 0, "no replicate has predictions on both sides");
    out.churn_paired = out.churn_unpaired = out.churn_excess = absent;
    out.churn_within_a = out.churn_within_b = absent;
    out.logits_correlation_paired = out.logits_correlation_unpaired =
        Absent("correlation", 0, absent.note);
    return;
  }
  const Answers a = AnswersOf(gathered, pairs[0]);
  const Answers b = AnswersOf(gathered, pairs[1]);
  out.churn_paired = analysis::PairedChurn(*a.matrix, *b.matrix);
  analysis::ChurnOfSides churn = analysis::CompareSides(*a.matrix, *b.matrix);
  out.churn_unpaired = std::move(churn.across);
  out.churn_excess = std::move(churn.excess);
  out.churn_within_a = std::move(churn.within_a);
  out.churn_within_b = std::move(churn.within_b);
  FillLogits(gathered, known, pairs, out);
}

// The figures of pairs each of which is a draw of its own.
void FillFigures(const Gathered& gathered, KnownLogits& known, const Sides& pairs,
                 Comparison& out) {
  const std::vector<double> a = ValuesOf(gathered, pairs[0], &MemberFacts::accuracy);
  const std::vector<double> b = ValuesOf(gathered, pairs[1], &MemberFacts::accuracy);
  out.accuracy_difference = analysis::PairedDifference(a, b, "fraction");
  out.accuracy_correlation = analysis::CorrelationOfPairs(a, b);
  FillChurn(gathered, known, WithPredictions(gathered, pairs), out);
}

// A figure of every block: its mean, with Student's t over the blocks.
Estimate OverBlocks(const std::vector<Comparison>& blocks, const Figure& figure) {
  const Estimate& first = blocks[0].*figure.estimate;
  std::vector<double> values;
  for (const Comparison& block : blocks) {
    const std::optional<double>& value = (block.*figure.estimate).value;
    if (value) values.push_back(*value);
  }
  if (values.empty()) return Absent(first.unit, 0, first.note);
  const std::vector<double> zeros(values.size(), 0.0);
  Estimate estimate = figure.from_zero ? analysis::PairedDifference(zeros, values, first.unit)
                                       : analysis::MeanEstimate(values, first.unit);
  estimate.method = "figure of each block, mean over blocks; Student's t over blocks, n = blocks";
  if (values.size() == 1) estimate.note = "one draw of the seeded sources: no interval";
  analysis::CutInterval(estimate, figure.least, figure.least == kNoLeast ? -kNoLeast : 1);
  return estimate;
}

double MeanAccuracy(const Gathered& gathered, const std::vector<size_t>& members) {
  return analysis::MeanOf(ValuesOf(gathered, members, &MemberFacts::accuracy));
}

// Figures of pairs of different replicates, where these share draws: of no use beside those of
// two trainings with nothing in common.
void WithholdUnpaired(const std::vector<std::string>& shared, Comparison& out) {
  for (Estimate* estimate : {&out.churn_unpaired, &out.churn_excess, &out.churn_within_a,
                             &out.churn_within_b, &out.logits_correlation_unpaired}) {
    *estimate = Absent(estimate->unit, 0, SharingText(shared));
  }
}

// The figures where the draws are the blocks, whose replicates share some or all lanes.
void FillFiguresOverBlocks(const Gathered& gathered, KnownLogits& known,
                           const std::vector<Sides>& by_block,
                           const std::vector<std::string>& shared, Comparison& out) {
  std::vector<Comparison> blocks;
  std::vector<double> a;
  std::vector<double> b;
  for (const Sides& pairs : by_block) {
    FillFigures(gathered, known, pairs, blocks.emplace_back());
    if (!shared.empty()) WithholdUnpaired(shared, blocks.back());
    a.push_back(MeanAccuracy(gathered, pairs[0]));
    b.push_back(MeanAccuracy(gathered, pairs[1]));
  }
  for (const Figure& figure : kFigures) out.*figure.estimate = OverBlocks(blocks, figure);
  out.accuracy_correlation = analysis::CorrelationOfPairs(a, b);
}

// Churn of the pairs of one block: one draw each, or one draw all together.
void AddDraws(const Gathered& gathered, const Sides& pairs, uint32_t block, bool each,
              std::vector<Draw>& draws) {
  const Sides predicted = WithPredictions(gathered, pairs);
  if (predicted[0].empty()) return;
  const Answers a = AnswersOf(gathered, predicted[0]);
  const Answers b = AnswersOf(gathered, predicted[1]);
  std::vector<double> churn;
  for (size_t r = 0; r < predicted[0].size(); ++r) {
    const auto row = static_cast<int64_t>(r);
    churn.push_back(analysis::Churn(a.matrix->Row(row), b.matrix->Row(row)));
    const uint32_t replicate = gathered.members[predicted[0][r]].input->replicate;
    if (each) draws.push_back({block, replicate, churn.back()});
  }
  if (!each) draws.push_back({block, std::nullopt, *analysis::MeanEstimate(churn, "").value});
}

// Cells of one setting on two sides: a pair of cells for each block.
using CellPair = std::pair<const CellFacts*, const CellFacts*>;

void FillFacts(const Gathered& gathered, const std::vector<CellPair>& blocks, Comparison& out) {
  const CellFacts& a = *blocks[0].first;
  const CellFacts& b = *blocks[0].second;
  out.axes_label = a.axes_label;
  out.plan = a.input->plan;
  for (const auto& [cell_a, cell_b] : blocks) {
    out.cells_a.push_back(cell_a->input->index);
    out.cells_b.push_back(cell_b->input->index);
  }
  out.hardware_a = HardwareName(a.input->hardware);
  out.hardware_b = HardwareName(b.input->hardware);
  out.stack_a = a.input->stack;
  out.stack_b = b.input->stack;
  const bool has_stacks = !a.input->stack.empty() && !b.input->stack.empty();  // Else not begun.
  const bool of_hardware = out.factor == Factor::kHardware;
  out.mixes_stacks = of_hardware && has_stacks && a.input->stack != b.input->stack;
  out.under_trained = a.under_trained || b.under_trained;
  out.all_fixed = a.all_fixed && b.all_fixed;
  out.kernels_fixed = a.free_physical.empty() && b.free_physical.empty();
  out.held = NamesOf(a.held);
  const SetFacts& set = gathered.sets[a.set];
  out.examples = set.answers ? set.answers->examples() / AnswersToOne(*set.input) : 0;
  if (!of_hardware) {
    const bool names_class = Varies(gathered.cells, &CellInput::hardware);
    out.setting = SettingOf(a) + (names_class ? ", " + out.hardware_a : "");
    out.label = fmt::format("{}: {} against {}", out.setting, out.stack_a, out.stack_b);
    return;
  }
  if (out.mixes_stacks) {  // Side A may be set against several stacks on one class.
    out.setting = fmt::format("{}, {} against {}", SettingOf(a), out.stack_a, out.stack_b);
  } else {
    const bool names_stack = has_stacks && HaveSeveralStacks(gathered.cells);
    out.setting = SettingOf(a) + (names_stack ? ", " + out.stack_a : "");
  }
  out.label = fmt::format("{}: {} against {}", out.setting, out.hardware_a, out.hardware_b);
}

void CountPairs(const Gathered& gathered, const std::vector<CellPair>& blocks,
                const std::vector<Sides>& by_block, Comparison& out) {
  for (size_t k = 0; k < blocks.size(); ++k) {
    const std::vector<size_t>& a = by_block[k][0];
    const std::vector<size_t>& b = by_block[k][1];
    out.pairs += static_cast<int64_t>(a.size());
    out.left_out += static_cast<int64_t>(blocks[k].first->members.size() +
                                         blocks[k].second->members.size() - 2 * a.size());
    for (size_t r = 0; r < a.size(); ++r) {
      const Hashes& of_a = gathered.members[a[r]].input->hashes;
      const Hashes& of_b = gathered.members[b[r]].input->hashes;
      // Equal weights may answer otherwise: on other hardware, by other kernels.
      out.identical_pairs +=
          !of_a.weights.empty() && of_a.weights == of_b.weights &&
          (of_a.logits.empty() || of_b.logits.empty() || of_a.logits == of_b.logits);
    }
  }
}

Comparison Compare(const Gathered& gathered, KnownLogits& known,
                   const std::vector<CellPair>& blocks, Factor factor) {
  Comparison out;
  out.factor = factor;
  FillFacts(gathered, blocks, out);
  const bool each = ReplicatesAreDraws(*blocks[0].first, blocks.size());
  std::vector<Sides> by_block;
  Sides all(2);
  for (const auto& [a, b] : blocks) {
    const std::vector<const CellFacts*> cells = {a, b};
    const Sides& pairs = by_block.emplace_back(MatchReplicates(gathered, cells));
    for (size_t s = 0; s < 2; ++s) all[s].insert(all[s].end(), pairs[s].begin(), pairs[s].end());
    AddDraws(gathered, pairs, a->input->block, each, out.by_draw);
    out.draws += each ? static_cast<int64_t>(pairs[0].size()) : !pairs[0].empty();
  }
  CountPairs(gathered, blocks, by_block, out);
  if (each) {
    FillFigures(gathered, known, all, out);
  } else {
    FillFiguresOverBlocks(gathered, known, by_block, NamesOf(blocks[0].first->shared), out);
  }
  return out;
}

bool AllElseEqual(const CellInput& a, const CellInput& b, Factor factor) {
  const bool one_setting =
      a.axes == b.axes && a.plan == b.plan && a.block == b.block && a.evaluation == b.evaluation;
  if (factor == Factor::kHardware) return one_setting && a.hardware != b.hardware;
  // A cell that nobody has begun may have no stack yet.
  return one_setting && a.hardware == b.hardware && a.stack != b.stack && !a.stack.empty() &&
         !b.stack.empty();
}

}  // namespace

std::vector<Comparison> BuildComparisons(const Gathered& gathered, Factor factor) {
  // Is there a cell like `like` on this hardware with this stack?
  const auto has = [&](const CellInput& like, const std::string& hardware,
                       const std::string& stack) {
    return std::any_of(gathered.cells.begin(), gathered.cells.end(), [&](const CellFacts& cell) {
      return cell.input->axes == like.axes && cell.input->plan == like.plan &&
             cell.input->block == like.block && cell.input->hardware == hardware &&
             cell.input->stack == stack;
    });
  };
  // Blocks of one setting and two sides belong together; settings in the order of their cells.
  using Key = std::tuple<std::string, std::vector<AxisSetting>, size_t, std::string, std::string,
                         std::string, std::string>;
  std::map<Key, size_t> places;
  std::vector<std::vector<CellPair>> groups;
  for (size_t i = 0; i < gathered.cells.size(); ++i) {
    for (size_t j = i + 1; j < gathered.cells.size(); ++j) {
      const CellInput& a = *gathered.cells[i].input;
      const CellInput& b = *gathered.cells[j].input;
      if (!AllElseEqual(a, b, factor)) continue;
      const bool better = has(a, b.hardware, a.stack) || has(b, a.hardware, b.stack);
      if (factor == Factor::kHardware && a.stack != b.stack && better) continue;
      const Key key = {a.plan, a.axes, a.evaluation, a.hardware, b.hardware, a.stack, b.stack};
      const auto [place, is_new] = places.emplace(key, groups.size());
      if (is_new) groups.emplace_back();
      groups[place->second].push_back({&gathered.cells[i], &gathered.cells[j]});
    }
  }
  KnownLogits known(gathered);
  std::vector<Comparison> comparisons;
  for (const std::vector<CellPair>& blocks : groups) {
    comparisons.push_back(Compare(gathered, known, blocks, factor));
  }
  return comparisons;
}

}  // namespace noisefloor::report
