#include "coordinator/report/comparison.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/hardware.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::Absent;

// The same replicates of both sides, in the same order: positions in Gathered::members.
struct Pairs {
  std::vector<size_t> a;
  std::vector<size_t> b;
  int64_t left_out = 0;  // Members, done or not, whose pair is not complete.
};

// Equal replicate and equal lanes; where lanes are unknown the replicate decides.
bool ArePair(const MemberInput& a, const MemberInput& b) {
  return a.replicate == b.replicate && (a.lanes.empty() || b.lanes.empty() || a.lanes == b.lanes);
}

Pairs MatchReplicates(const Gathered& gathered, const CellFacts& a, const CellFacts& b) {
  Pairs pairs;
  std::map<uint32_t, size_t> of_b;
  for (const size_t m : b.done) of_b.emplace(gathered.members[m].input->replicate, m);
  for (const size_t m : a.done) {
    const auto it = of_b.find(gathered.members[m].input->replicate);
    if (it == of_b.end()) continue;
    if (!ArePair(*gathered.members[m].input, *gathered.members[it->second].input)) continue;
    pairs.a.push_back(m);
    pairs.b.push_back(it->second);
  }
  pairs.left_out = static_cast<int64_t>(a.members.size() + b.members.size() - 2 * pairs.a.size());
  return pairs;
}

Pairs WithPredictions(const Gathered& gathered, const Pairs& all) {
  Pairs pairs;
  for (size_t r = 0; r < all.a.size(); ++r) {
    if (!gathered.members[all.a[r]].row || !gathered.members[all.b[r]].row) continue;
    pairs.a.push_back(all.a[r]);
    pairs.b.push_back(all.b[r]);
  }
  return pairs;
}

void FillChurn(const Gathered& gathered, const Pairs& pairs, HardwareComparison& out) {
  if (pairs.a.empty()) {
    const Estimate absent = Absent("fraction", 0, "no replicate has predictions on both sides");
    out.churn_paired = out.churn_unpaired = out.churn_excess = absent;
    out.churn_within_a = out.churn_within_b = absent;
    out.logits_correlation_paired = out.logits_correlation_unpaired =
        Absent("correlation", 0, absent.note);
    return;
  }
  const Answers a = AnswersOf(gathered, pairs.a);
  const Answers b = AnswersOf(gathered, pairs.b);
  out.churn_paired = analysis::PairedChurn(*a.matrix, *b.matrix);
  out.churn_unpaired = analysis::UnpairedChurn(*a.matrix, *b.matrix);
  out.churn_excess = analysis::ChurnExcess(*a.matrix, *b.matrix);
  out.churn_within_a = analysis::MeanChurn(*a.matrix);
  out.churn_within_b = analysis::MeanChurn(*b.matrix);
  std::vector<std::span<const float>> logits_a;
  std::vector<std::span<const float>> logits_b;
  for (size_t r = 0; r < pairs.a.size(); ++r) {
    logits_a.push_back(gathered.members[pairs.a[r]].input->predictions);
    logits_b.push_back(gathered.members[pairs.b[r]].input->predictions);
  }
  analysis::LogitsCorrelations correlations = analysis::CorrelateLogits(logits_a, logits_b);
  out.logits_correlation_paired = std::move(correlations.paired);
  out.logits_correlation_unpaired = std::move(correlations.unpaired);
}

std::string PairedText(const HardwareComparison& out) {
  if (out.pairs > 0 && out.identical_pairs == out.pairs) {
    return fmt::format("All {} are bit-identical.", Counted(out.pairs, "pair"));
  }
  if (!out.churn_paired.value) return "No pair has predictions on both sides.";
  return fmt::format("Changing only the hardware changes {} of the answers of a member.",
                     WithInterval(out.churn_paired));
}

// Does the hardware add to the noise inside a class?
std::string ExcessText(const HardwareComparison& out) {
  const Estimate& excess = out.churn_excess;
  if (!excess.value) return " Too few replicates to tell whether it adds to the noise.";
  const bool quiet = out.churn_within_a.value == 0.0 && out.churn_within_b.value == 0.0;
  if (quiet && *excess.value == 0) return " Inside both classes nothing differs either.";
  if (quiet) return " Inside each class nothing differs: all of it is the hardware's.";
  const std::string within = fmt::format(" Inside one class two members differ on {} and {};",
                                         Value(out.churn_within_a), Value(out.churn_within_b));
  if (excess.n < 3) {
    return within + " too few replicates to tell whether the hardware adds to that.";
  }
  if (!excess.low || !excess.high) {
    const char* said =
        *excess.value > 0 ? "the hardware adds" : "no addition by the hardware is seen:";
    return within + fmt::format(
                        " {} {}, the same whichever replicate is left out: no interval "
                        "says how sure that is.",
                        said, Value(excess));
  }
  if (*excess.low > 0) {
    return within + fmt::format(" the hardware adds {}.", WithInterval(excess));
  }
  return within + fmt::format(" no addition by the hardware is seen: {}, at most {}.",
                              WithInterval(excess), Percent(std::max(0.0, *excess.high), 2));
}

// Have the cells several values of it, so that labels must name it?
template <typename Field>
bool Varies(const Gathered& gathered, Field CellInput::*field) {
  return std::any_of(gathered.cells.begin(), gathered.cells.end(), [&](const CellFacts& cell) {
    return cell.input->*field != gathered.cells[0].input->*field;
  });
}

// What both sides have in common, told from the other comparisons of the same classes.
std::string SettingOf(const Gathered& gathered, const CellFacts& a, const CellFacts& b) {
  std::string setting = a.input->plan;
  const bool one_stack = a.input->stack == b.input->stack;
  if (one_stack && Varies(gathered, &CellInput::stack)) setting += ", " + a.input->stack;
  if (!a.axes_label.empty()) setting += ", " + a.axes_label;
  if (Varies(gathered, &CellInput::block)) setting += fmt::format(", block {}", a.input->block);
  return setting;
}

HardwareComparison Compare(const Gathered& gathered, const CellFacts& a, const CellFacts& b) {
  HardwareComparison out;
  out.axes_label = a.axes_label;
  out.plan = a.input->plan;
  out.block = a.input->block;
  out.cell_a = a.input->index;
  out.cell_b = b.input->index;
  out.hardware_a = HardwareName(a.input->hardware);
  out.hardware_b = HardwareName(b.input->hardware);
  out.mixes_stacks = a.input->stack != b.input->stack;
  out.setting = SettingOf(gathered, a, b);
  out.label = fmt::format("{}: {} against {}", out.setting, out.hardware_a, out.hardware_b);
  const Pairs pairs = MatchReplicates(gathered, a, b);
  const Pairs predicted = WithPredictions(gathered, pairs);
  out.pairs = static_cast<int64_t>(pairs.a.size());
  out.left_out = pairs.left_out;
  for (size_t r = 0; r < pairs.a.size(); ++r) {
    const Hashes& of_a = gathered.members[pairs.a[r]].input->hashes;
    const Hashes& of_b = gathered.members[pairs.b[r]].input->hashes;
    out.identical_pairs += !of_a.weights.empty() && of_a.weights == of_b.weights;
  }
  const std::vector<double> accuracy_a = ValuesOf(gathered, pairs.a, &MemberFacts::accuracy);
  const std::vector<double> accuracy_b = ValuesOf(gathered, pairs.b, &MemberFacts::accuracy);
  out.accuracy_difference = analysis::PairedDifference(accuracy_a, accuracy_b, "fraction");
  out.accuracy_correlation = analysis::CorrelationOfPairs(accuracy_a, accuracy_b);
  FillChurn(gathered, predicted, out);
  out.text = PairedText(out);
  if (out.churn_paired.value && out.identical_pairs != out.pairs) out.text += ExcessText(out);
  if (out.mixes_stacks) {
    out.text +=
        fmt::format(" The stacks differ as well ({} against {}).", a.input->stack, b.input->stack);
  }
  return out;
}

bool AllElseEqual(const CellInput& a, const CellInput& b) {
  return a.axes == b.axes && a.plan == b.plan && a.block == b.block &&
         a.evaluation == b.evaluation && a.hardware != b.hardware;
}

}  // namespace

std::vector<HardwareComparison> BuildComparisons(const Gathered& gathered) {
  // Is there a cell like `like` on this hardware with this stack?
  const auto has = [&](const CellInput& like, const std::string& hardware,
                       const std::string& stack) {
    return std::any_of(gathered.cells.begin(), gathered.cells.end(), [&](const CellFacts& cell) {
      return cell.input->axes == like.axes && cell.input->plan == like.plan &&
             cell.input->block == like.block && cell.input->hardware == hardware &&
             cell.input->stack == stack;
    });
  };
  std::vector<HardwareComparison> comparisons;
  for (size_t i = 0; i < gathered.cells.size(); ++i) {
    for (size_t j = i + 1; j < gathered.cells.size(); ++j) {
      const CellInput& a = *gathered.cells[i].input;
      const CellInput& b = *gathered.cells[j].input;
      if (!AllElseEqual(a, b)) continue;
      const bool better = has(a, b.hardware, a.stack) || has(b, a.hardware, b.stack);
      if (a.stack != b.stack && better) continue;
      comparisons.push_back(Compare(gathered, gathered.cells[i], gathered.cells[j]));
    }
  }
  return comparisons;
}

}  // namespace noisefloor::report
