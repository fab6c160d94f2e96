#include "coordinator/report/contrast_side.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/pairing.h"

namespace noisefloor::report {

using analysis::Jackknifed;

DrawIds CommonDraws(const DrawIds& a, const DrawIds& b) {
  DrawIds common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return common;
}

bool ContrastSide::ReplicatesAreItsDraws() const {
  return ReplicatesAreDraws(*cells_[0], cells_.size());
}

bool ContrastSide::SharesDrawsWith(const ContrastSide& other) const {
  std::vector<NoiseSource> common;
  for (const NoiseSource source : cells_[0]->free_seeded) {
    const std::vector<NoiseSource>& theirs = other.cells_[0]->free_seeded;
    if (std::ranges::find(theirs, source) != theirs.end()) common.push_back(source);
  }
  if (common.empty()) return false;
  std::map<DrawId, const std::map<NoiseSource, Lane>*> lanes;
  for (const CellFacts* cell : cells_) {
    for (const size_t m : cell->members) {
      lanes[IdOf(*cell, m, false)] = &gathered_.members[m].input->lanes;
    }
  }
  bool any = false;
  for (const CellFacts* cell : other.cells_) {
    for (const size_t m : cell->members) {
      const auto ours = lanes.find(IdOf(*cell, m, false));
      if (ours == lanes.end()) continue;
      any = true;
      for (const NoiseSource source : common) {
        const auto a = ours->second->find(source);
        const auto& of_b = gathered_.members[m].input->lanes;
        const auto b = of_b.find(source);
        const bool known = a != ours->second->end() && b != of_b.end();
        if (known && a->second != b->second) return false;
      }
    }
  }
  return any;
}

DrawIds ContrastSide::Draws(FigureKind figure, bool blocks) const {
  std::map<DrawId, size_t> members;
  for (const CellFacts* cell : cells_) {
    for (const size_t m : cell->done) {
      if (IsUsable(m, figure)) ++members[IdOf(*cell, m, blocks)];
    }
  }
  const size_t least = blocks && figure != kAccuracy ? 2 : 1;  // Inside a block pairs are needed.
  DrawIds draws;
  for (const auto& [draw, count] : members) {
    if (count >= least) draws.push_back(draw);
  }
  return draws;
}

const std::optional<Jackknifed>& ContrastSide::Figure(FigureKind figure, bool blocks,
                                                      const DrawIds& draws) {
  Kept& kept = kept_[figure];
  if (kept.draws != draws || kept.blocks != blocks) {
    kept = {draws, blocks, blocks ? OverBlocks(figure, draws) : OverReplicates(figure, draws)};
  }
  return kept.figure;
}

analysis::PredictionMatrix ContrastSide::RowsOf(const DrawIds& draws) const {
  std::vector<size_t> members;
  for (const std::vector<size_t>& of_draw : MembersOf(kChurn, false, draws)) {
    members.push_back(of_draw[0]);
  }
  return *AnswersOf(gathered_, members).matrix;
}

bool ContrastSide::IsUsable(size_t member, FigureKind figure) const {
  const MemberFacts& facts = gathered_.members[member];
  return figure == kChurn ? facts.row.has_value() : std::isfinite(facts.accuracy);
}

DrawId ContrastSide::IdOf(const CellFacts& cell, size_t member, bool blocks) const {
  return {cell.input->block, blocks ? 0 : gathered_.members[member].input->replicate};
}

std::vector<std::vector<size_t>> ContrastSide::MembersOf(FigureKind figure, bool blocks,
                                                         const DrawIds& draws) const {
  std::vector<std::vector<size_t>> members(draws.size());
  for (const CellFacts* cell : cells_) {
    for (const size_t m : cell->done) {
      const DrawId id = IdOf(*cell, m, blocks);
      const auto draw = std::ranges::lower_bound(draws, id);
      if (draw == draws.end() || *draw != id || !IsUsable(m, figure)) continue;
      members[static_cast<size_t>(draw - draws.begin())].push_back(m);
    }
  }
  return members;
}

std::optional<Jackknifed> ContrastSide::OverReplicates(FigureKind figure,
                                                       const DrawIds& draws) const {
  std::vector<size_t> members;
  for (const std::vector<size_t>& of_draw : MembersOf(figure, false, draws)) {
    members.push_back(of_draw[0]);
  }
  if (members.size() < (figure == kAccuracy ? 1 : 2)) return std::nullopt;
  if (figure == kChurn) {
    return analysis::PairMeanWithoutEach(
        analysis::ChurnSums(*AnswersOf(gathered_, members).matrix));
  }
  const std::vector<double> values = ValuesOf(gathered_, members, &MemberFacts::accuracy);
  return figure == kAccuracy ? analysis::MeanWithoutEach(values)
                             : analysis::LogSdWithoutEach(values);
}

std::optional<Jackknifed> ContrastSide::OverBlocks(FigureKind figure, const DrawIds& draws) const {
  std::vector<double> of_block;
  std::vector<std::vector<double>> accuracies;
  for (const std::vector<size_t>& members : MembersOf(figure, true, draws)) {
    if (figure == kChurn) {
      of_block.push_back(*analysis::MeanChurn(*AnswersOf(gathered_, members).matrix).value);
      continue;
    }
    accuracies.push_back(ValuesOf(gathered_, members, &MemberFacts::accuracy));
    of_block.push_back(analysis::MeanOf(accuracies.back()));
  }
  if (of_block.empty()) return std::nullopt;
  return figure == kAccuracySd ? analysis::LogPooledSdWithoutEach(accuracies)
                               : analysis::MeanWithoutEach(of_block);
}

}  // namespace noisefloor::report
