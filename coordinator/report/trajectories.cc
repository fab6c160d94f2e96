#include "coordinator/report/trajectories.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/hardware.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/pairing.h"

namespace noisefloor::report {
namespace {

// Members that are done, in order, of which only those with answers at an evaluation count there.
using Members = std::vector<size_t>;

// What a member answered then; empty where that is not known, or not of all examples.
std::span<const int16_t> AnswersAt(const Gathered& gathered, size_t member, int64_t evaluation) {
  const MemberFacts& facts = gathered.members[member];
  const auto& known = gathered.sets[facts.set].answers;
  const auto found = facts.input->answers_at.find(evaluation);
  if (!known || found == facts.input->answers_at.end()) return {};
  const bool whole = std::ssize(found->second) == known->examples();
  return whole ? found->second : std::span<const int16_t>();
}

std::set<int64_t> EvaluationsOf(const Gathered& gathered, const Members& members) {
  std::set<int64_t> evaluations;
  for (const size_t m : members) {
    for (const auto& [evaluation, answers] : gathered.members[m].input->answers_at) {
      evaluations.insert(evaluation);
    }
  }
  return evaluations;
}

// Where an evaluation lies, by the curve of the first member that has it.
std::optional<CurvePoint> PlaceOf(const Gathered& gathered, const Members& members,
                                  int64_t evaluation) {
  for (const size_t m : members) {
    const auto curve = gathered.members[m].input->curves.find("test_top1");
    if (curve == gathered.members[m].input->curves.end()) continue;
    if (evaluation <= std::ssize(curve->second)) {
      return curve->second[static_cast<size_t>(evaluation - 1)];
    }
  }
  return std::nullopt;
}

// Adds what is known at each evaluation: churn_at gives an estimate, absent where there is none.
template <typename ChurnAt>
void Fill(const Gathered& gathered, const Members& members, const ChurnAt& churn_at,
          Trajectory& out) {
  for (const int64_t evaluation : EvaluationsOf(gathered, members)) {
    const std::optional<CurvePoint> place = PlaceOf(gathered, members, evaluation);
    if (!place) continue;
    Estimate churn = churn_at(evaluation);
    if (!churn.value) continue;
    if (gathered.interim) {
      churn.low = churn.high = std::nullopt;
      churn.note = "members are still to come: no interval at each look";
    }
    out.steps.push_back(place->step);
    out.epochs.push_back(place->epoch);
    out.churn.push_back(std::move(churn));
  }
}

Trajectory OfCell(const Gathered& gathered, const CellFacts& cell) {
  Trajectory out;
  out.label = cell.label;
  out.cells = {cell.input->index};
  if (!cell.shared.empty()) return out;  // Its members are no draws of one distribution.
  const auto& known = gathered.sets[cell.set].answers;
  if (!known) return out;
  const auto churn_at = [&](int64_t evaluation) {
    analysis::PredictionMatrix answers(known->examples(), known->classes());
    for (const size_t m : cell.done) {
      const std::span<const int16_t> row = AnswersAt(gathered, m, evaluation);
      // What is no class is no answer of this set: the member is left out.
      if (!row.empty()) (void)answers.AddAnswers(row);
    }
    return analysis::MeanChurn(answers);
  };
  Fill(gathered, cell.done, churn_at, out);
  return out;
}

// Churn of the same replicates on both sides: over draws, or over blocks whose replicates share
// theirs.
Trajectory OfComparison(const Gathered& gathered, const Comparison& comparison) {
  Trajectory out;
  out.factor = comparison.factor;
  out.label = comparison.label;
  out.cells = {comparison.cells_a.front(), comparison.cells_b.front()};
  const auto blocks = MatchBlocks(gathered, comparison.cells_a, comparison.cells_b);
  const bool each =
      ReplicatesAreDraws(CellOf(gathered, comparison.cells_a[0]), comparison.cells_a.size());
  Members everyone;
  for (const auto& sides : blocks) {
    everyone.insert(everyone.end(), sides[0].begin(), sides[0].end());
  }
  const auto churn_at = [&](int64_t evaluation) {
    std::vector<double> draws;
    for (const auto& sides : blocks) {
      std::vector<double> of_block;
      for (size_t r = 0; r < sides[0].size(); ++r) {
        const std::span<const int16_t> a = AnswersAt(gathered, sides[0][r], evaluation);
        const std::span<const int16_t> b = AnswersAt(gathered, sides[1][r], evaluation);
        if (!a.empty() && !b.empty()) of_block.push_back(analysis::Churn(a, b));
      }
      if (of_block.empty()) continue;
      if (each) draws.insert(draws.end(), of_block.begin(), of_block.end());
      if (!each) draws.push_back(analysis::MeanOf(of_block));
    }
    if (draws.empty()) return analysis::Absent("fraction", 0, "no pair");
    Estimate estimate = analysis::MeanEstimate(draws, "fraction");
    analysis::CutInterval(estimate, 0, 1);
    return estimate;
  };
  Fill(gathered, everyone, churn_at, out);
  return out;
}

}  // namespace

std::vector<Trajectory> BuildTrajectories(const Gathered& gathered,
                                          const std::vector<Comparison>& hardware,
                                          const std::vector<Comparison>& stacks) {
  std::vector<Trajectory> trajectories;
  const auto add = [&](Trajectory trajectory) {
    if (!trajectory.steps.empty()) trajectories.push_back(std::move(trajectory));
  };
  for (const CellFacts& cell : gathered.cells) add(OfCell(gathered, cell));
  for (const std::vector<Comparison>* comparisons : {&hardware, &stacks}) {
    for (const Comparison& comparison : *comparisons) add(OfComparison(gathered, comparison));
  }
  return trajectories;
}

}  // namespace noisefloor::report
