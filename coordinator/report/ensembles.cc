#include "coordinator/report/ensembles.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "fmt/format.h"

#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using Logits = std::span<const float>;

constexpr int64_t kMostMixed = 8;  // Replicates of a comparison: every two of both sides are met.

// What members said in whole, finite logits of the cell's evaluation set.
struct Said {
  std::map<uint32_t, Logits> logits;  // By replicate: the first ones that are looked at.
  int64_t more = 0;                   // Beyond those, not looked at more closely.
};

// At most `most` members.
Said LogitsOf(const Gathered& gathered, const CellFacts& cell, int64_t most) {
  const EvaluationSet& set = *gathered.sets[cell.set].input;
  Said said;
  for (const size_t m : cell.done) {
    const MemberInput& member = *gathered.members[m].input;
    if (std::ssize(said.logits) >= most) {
      said.more += HasLogits(member, set);
    } else if (const Logits logits = FiniteLogits(member, set); !logits.empty()) {
      said.logits.emplace(member.replicate, logits);
    }
  }
  return said;
}

std::vector<Logits> Values(const std::map<uint32_t, Logits>& by_replicate) {
  std::vector<Logits> logits;
  for (const auto& [replicate, of] : by_replicate) logits.push_back(of);
  return logits;
}

// Of `most` members.
int64_t MembersThatFit(const EvaluationSet& set, int64_t most) {
  return analysis::EnsembleMembers(most, std::ssize(set.labels), set.classes);
}

CohortEnsembles EnsemblesOf(const Gathered& gathered, const CellFacts& cell) {
  const EvaluationSet& set = *gathered.sets[cell.set].input;
  CohortEnsembles ensembles;
  ensembles.cell = cell.input->index;
  ensembles.label = cell.label;
  ensembles.under_trained = cell.under_trained;
  const int64_t fit = MembersThatFit(set, std::ssize(cell.done));
  if (fit < 2) {
    ensembles.note =
        fmt::format("two members of {} examples and {} classes are more than {} logits",
                    set.labels.size(), set.classes, analysis::kMostEnsembleLogits);
    return ensembles;
  }
  const Said said = LogitsOf(gathered, cell, fit);
  if (said.logits.size() < 2) {
    ensembles.note = "fewer than two members have logits";
    return ensembles;
  }
  ensembles.members = std::ssize(said.logits);
  ensembles.left_out = said.more;
  ensembles.sizes = analysis::ScoreEnsembles(Values(said.logits), set.labels, set.classes);
  return ensembles;
}

bool HasEnsembles(const Gathered& gathered, const CellFacts& cell) {
  // Of copies an ensemble is one of them; of members that share draws it is no ensemble of its
  // size.
  return !cell.all_fixed && cell.shared.empty() && gathered.sets[cell.set].labels_known &&
         cell.done.size() > 1;
}

const CellFacts* FindCell(const Gathered& gathered, uint32_t index) {
  const auto index_of = [](const CellFacts& cell) { return cell.input->index; };
  const auto found = std::ranges::lower_bound(gathered.cells, index, {}, index_of);
  return found == gathered.cells.end() || index_of(*found) != index ? nullptr : &*found;
}

// Of the first replicates, as many as fit, those that both sides have.
void AddMixing(const Gathered& gathered, const Comparison& comparison,
               std::vector<MixingGain>& mixing) {
  if (comparison.cells_a.size() != 1 || comparison.all_fixed) return;
  const CellFacts* a = FindCell(gathered, comparison.cells_a[0]);
  const CellFacts* b = FindCell(gathered, comparison.cells_b[0]);
  if (a == nullptr || b == nullptr || a->set != b->set) return;
  if (!HasEnsembles(gathered, *a) || !HasEnsembles(gathered, *b) || a->free_seeded.empty()) return;
  const EvaluationSet& set = *gathered.sets[a->set].input;
  const int64_t fit = MembersThatFit(set, kMostMixed);
  const Said of_b = LogitsOf(gathered, *b, fit);
  std::vector<Logits> from_a;
  std::vector<Logits> from_b;
  for (const auto& [replicate, logits] : LogitsOf(gathered, *a, fit).logits) {
    const auto other = of_b.logits.find(replicate);
    if (other == of_b.logits.end()) continue;
    from_a.push_back(logits);
    from_b.push_back(other->second);
  }
  if (from_a.size() < 3) return;
  mixing.push_back({comparison.label, comparison.under_trained,
                    analysis::GainOfMixing(from_a, from_b, set.classes)});
}

}  // namespace

Ensembles BuildEnsembles(const Gathered& gathered, const Study& study) {
  Ensembles ensembles;
  for (const CellFacts& cell : gathered.cells) {
    if (HasEnsembles(gathered, cell)) ensembles.cohorts.push_back(EnsemblesOf(gathered, cell));
  }
  for (const auto* const comparisons : {&study.hardware, &study.stacks}) {
    for (const Comparison& comparison : *comparisons) {
      AddMixing(gathered, comparison, ensembles.mixing);
    }
  }
  return ensembles;
}

}  // namespace noisefloor::report
