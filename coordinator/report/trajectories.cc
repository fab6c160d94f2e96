#include "coordinator/report/trajectories.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "fmt/format.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/report/distances.h"
#include "coordinator/report/pairing.h"

namespace noisefloor::report {
namespace {

// Members that are done, in order, of which only those count at an evaluation that have what is
// asked for.
using Members = std::vector<size_t>;

// Of weights on the way and every two members of a cell: more take longer than all else of a study.
constexpr size_t kMostProducts = size_t{1} << 38;

size_t ProductsOf(const Gathered& gathered) {
  size_t products = 0;
  for (const CellFacts& cell : gathered.cells) {
    std::map<int64_t, size_t> kept;  // Members, by evaluation.
    size_t parameters = 0;
    for (const size_t m : cell.done) {
      for (const auto& [evaluation, weights] : gathered.members[m].input->weights_at) {
        ++kept[evaluation];
        parameters = std::max(parameters, weights.facts().parameters);
      }
    }
    for (const auto& [evaluation, members] : kept) products += members * members * parameters;
  }
  return products;
}

struct Parted {
  Estimate churn;
  Estimate l2_normalised;
};

class Following {
 public:
  // weights: those of evaluations are looked at, too.
  Following(const Gathered& gathered, bool weights) : gathered_(gathered), weights_(weights) {}

  Trajectory OfCell(const CellFacts& cell) const {
    Trajectory out;
    out.label = cell.label;
    out.cells = {cell.input->index};
    if (!cell.shared.empty()) return out;  // Its members are no draws of one distribution.
    Fill(
        cell.done,
        [&](int64_t at) {
          return Parted{ChurnOf(cell, at), DistanceOf(cell, at)};
        },
        out);
    return out;
  }

  // The same replicates on both sides: over draws, or over blocks whose replicates share theirs.
  Trajectory OfComparison(const Comparison& comparison) const {
    Trajectory out;
    out.factor = comparison.factor;
    out.label = comparison.label;
    out.cells = {comparison.cells_a.front(), comparison.cells_b.front()};
    const Blocks blocks = MatchBlocks(gathered_, comparison.cells_a, comparison.cells_b);
    const bool each =
        ReplicatesAreDraws(CellOf(gathered_, comparison.cells_a[0]), comparison.cells_a.size());
    Members everyone;
    for (const auto& sides : blocks) {
      everyone.insert(everyone.end(), sides[0].begin(), sides[0].end());
    }
    const auto parted_at = [&](int64_t at) {
      return Parted{ChurnOf(blocks, each, at), DistanceOf(blocks, each, at)};
    };
    Fill(everyone, parted_at, out);
    return out;
  }

 private:
  using Blocks = std::vector<std::vector<Members>>;  // {blocks, sides}

  // What a member answered then; empty where that is not known, or not of all examples.
  std::span<const int16_t> AnswersOf(size_t member, int64_t evaluation) const {
    const MemberFacts& facts = gathered_.members[member];
    const auto& known = gathered_.sets[facts.set].answers;
    const auto found = facts.input->answers_at.find(evaluation);
    if (!known || found == facts.input->answers_at.end()) return {};
    const bool whole = std::ssize(found->second) == known->examples();
    return whole ? found->second : std::span<const int16_t>();
  }
  // Null where they were not kept.
  const WeightsView* WeightsOf(size_t member, int64_t evaluation) const {
    const auto& kept = gathered_.members[member].input->weights_at;
    const auto found = kept.find(evaluation);
    return !weights_ || found == kept.end() ? nullptr : &found->second;
  }

  Estimate ChurnOf(const CellFacts& cell, int64_t evaluation) const {
    const auto& known = gathered_.sets[cell.set].answers;
    if (!known) return analysis::Absent("fraction", 0, "no member has usable predictions");
    analysis::PredictionMatrix answers(known->examples(), known->classes());
    for (const size_t m : cell.done) {
      const std::span<const int16_t> row = AnswersOf(m, evaluation);
      // What is no class is no answer of this set: the member is left out.
      if (!row.empty()) (void)answers.AddAnswers(row);
    }
    return analysis::MeanChurn(answers);
  }
  Estimate ChurnOf(const Blocks& blocks, bool each, int64_t evaluation) const {
    std::vector<std::vector<double>> values;
    for (const auto& sides : blocks) {
      std::vector<double>& of_block = values.emplace_back();
      for (size_t r = 0; r < sides[0].size(); ++r) {
        const std::span<const int16_t> a = AnswersOf(sides[0][r], evaluation);
        const std::span<const int16_t> b = AnswersOf(sides[1][r], evaluation);
        if (!a.empty() && !b.empty()) of_block.push_back(analysis::Churn(a, b));
      }
    }
    return MeanOverDraws(values, each, "fraction", 1);
  }

  Estimate DistanceOf(const CellFacts& cell, int64_t evaluation) const {
    std::vector<const WeightsView*> kept;
    for (const size_t m : cell.done) {
      if (const WeightsView* weights = WeightsOf(m, evaluation)) kept.push_back(weights);
    }
    if (kept.size() < 2)
      return analysis::Absent("norm", std::ssize(kept), "fewer than two are there");
    return ParameterDistancesOf(kept, gathered_.input->distances).normalised;
  }
  // Weights by other names, or of other shapes, are no two ends of one distance.
  Estimate DistanceOf(const Blocks& blocks, bool each, int64_t evaluation) const {
    std::vector<std::vector<WeightsPair>> pairs;
    size_t kept = 0;
    size_t alike = 0;
    for (const auto& sides : blocks) {
      std::vector<WeightsPair>& of_block = pairs.emplace_back();
      for (size_t r = 0; r < sides[0].size(); ++r) {
        const WeightsPair pair = {WeightsOf(sides[0][r], evaluation),
                                  WeightsOf(sides[1][r], evaluation)};
        if (pair.a == nullptr || pair.b == nullptr) continue;
        ++kept;
        if (pair.a->facts().layout != pair.b->facts().layout) continue;
        ++alike;
        of_block.push_back(pair);
      }
    }
    if (kept == 0) return analysis::Absent("norm", 0, "no pair is there");
    if (alike == 0) {
      return analysis::Absent("norm", 0, "the sides' weights have other names or shapes");
    }
    return PairedDistance(pairs, each, gathered_.input->distances);
  }

  std::set<int64_t> EvaluationsOf(const Members& members) const {
    std::set<int64_t> evaluations;
    for (const size_t m : members) {
      const MemberInput& member = *gathered_.members[m].input;
      for (const auto& [evaluation, answers] : member.answers_at) evaluations.insert(evaluation);
      for (const auto& [evaluation, weights] : member.weights_at) evaluations.insert(evaluation);
    }
    return evaluations;
  }
  // Where an evaluation lies, by the curve of the first member that has it.
  std::optional<CurvePoint> PlaceOf(const Members& members, int64_t evaluation) const {
    for (const size_t m : members) {
      const auto curve = gathered_.members[m].input->curves.find("test_top1");
      if (curve == gathered_.members[m].input->curves.end()) continue;
      if (evaluation <= std::ssize(curve->second)) {
        return curve->second[static_cast<size_t>(evaluation - 1)];
      }
    }
    return std::nullopt;
  }
  // Adds what is known at each evaluation: parted_at gives estimates, absent where there are none.
  template <typename PartedAt>
  void Fill(const Members& members, const PartedAt& parted_at, Trajectory& out) const {
    for (const int64_t evaluation : EvaluationsOf(members)) {
      const std::optional<CurvePoint> place = PlaceOf(members, evaluation);
      if (!place) continue;
      Parted parted = parted_at(evaluation);
      if (!parted.churn.value && !parted.l2_normalised.value) continue;
      for (Estimate* estimate : {&parted.churn, &parted.l2_normalised}) {
        if (!gathered_.interim || !estimate->value) continue;
        estimate->low = estimate->high = std::nullopt;
        analysis::AddNote(*estimate, "no interval while members are still to come");
      }
      out.steps.push_back(place->step);
      out.epochs.push_back(place->epoch);
      out.churn.push_back(std::move(parted.churn));
      out.l2_normalised.push_back(std::move(parted.l2_normalised));
    }
  }

  const Gathered& gathered_;
  const bool weights_;
};

}  // namespace

std::vector<Trajectory> BuildTrajectories(const Gathered& gathered,
                                          const std::vector<Comparison>& hardware,
                                          const std::vector<Comparison>& stacks,
                                          std::vector<Warning>& warnings) {
  const size_t products = ProductsOf(gathered);
  if (products > kMostProducts) {
    warnings.push_back(
        {"note", "sweep",
         fmt::format("How weights part over training is not told: of every two members of a cell "
                     "there are {} products of parameters, more than {}.",
                     products, kMostProducts)});
  }
  const Following following(gathered, products <= kMostProducts);
  std::vector<Trajectory> trajectories;
  const auto add = [&](Trajectory trajectory) {
    if (!trajectory.steps.empty()) trajectories.push_back(std::move(trajectory));
  };
  for (const CellFacts& cell : gathered.cells) add(following.OfCell(cell));
  for (const std::vector<Comparison>* comparisons : {&hardware, &stacks}) {
    for (const Comparison& comparison : *comparisons) add(following.OfComparison(comparison));
  }
  return trajectories;
}

}  // namespace noisefloor::report
