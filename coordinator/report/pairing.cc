#include "coordinator/report/pairing.h"

#include <algorithm>
#include <map>

#include "coordinator/analysis/spread.h"

namespace noisefloor::report {
namespace {

// Equal replicate and equal lanes; where lanes are unknown the replicate decides.
bool ArePair(const MemberInput& a, const MemberInput& b) {
  return a.replicate == b.replicate && (a.lanes.empty() || b.lanes.empty() || a.lanes == b.lanes);
}

}  // namespace

std::vector<std::vector<size_t>> MatchReplicates(const Gathered& gathered,
                                                 std::span<const CellFacts* const> cells) {
  const auto member = [&](size_t m) -> const MemberInput& { return *gathered.members[m].input; };
  std::vector<std::map<uint32_t, size_t>> by_replicate(cells.size());
  for (size_t s = 0; s < cells.size(); ++s) {
    for (const size_t m : cells[s]->done) by_replicate[s].emplace(member(m).replicate, m);
  }
  std::vector<std::vector<size_t>> matched(cells.size());
  for (const size_t first : cells[0]->done) {
    const auto same = [&](const std::map<uint32_t, size_t>& side) {
      const auto it = side.find(member(first).replicate);
      return it != side.end() && ArePair(member(first), member(it->second));
    };
    if (!std::ranges::all_of(by_replicate, same)) continue;
    for (size_t s = 0; s < cells.size(); ++s) {
      matched[s].push_back(by_replicate[s].at(member(first).replicate));
    }
  }
  return matched;
}

std::vector<std::vector<std::vector<size_t>>> MatchBlocks(const Gathered& gathered,
                                                          std::span<const uint32_t> cells_a,
                                                          std::span<const uint32_t> cells_b) {
  std::vector<std::vector<std::vector<size_t>>> blocks;
  for (size_t k = 0; k < cells_a.size(); ++k) {
    const std::vector<const CellFacts*> cells = {&CellOf(gathered, cells_a[k]),
                                                 &CellOf(gathered, cells_b[k])};
    blocks.push_back(MatchReplicates(gathered, cells));
  }
  return blocks;
}

std::vector<std::vector<size_t>> WithPredictions(const Gathered& gathered,
                                                 const std::vector<std::vector<size_t>>& matched) {
  std::vector<std::vector<size_t>> predicted(matched.size());
  for (size_t r = 0; r < matched[0].size(); ++r) {
    const bool all = std::ranges::all_of(matched, [&](const std::vector<size_t>& side) {
      return gathered.members[side[r]].row.has_value();
    });
    for (size_t s = 0; all && s < matched.size(); ++s) predicted[s].push_back(matched[s][r]);
  }
  return predicted;
}

bool ReplicatesAreDraws(const CellFacts& cell, size_t blocks) {
  return cell.seeded_free && cell.shared.empty() && (cell.held.empty() || blocks == 1);
}

Estimate MeanOverDraws(const std::vector<std::vector<double>>& blocks, bool each, const char* unit,
                       double most) {
  std::vector<double> draws;
  for (const std::vector<double>& values : blocks) {
    if (values.empty()) continue;
    if (each) draws.insert(draws.end(), values.begin(), values.end());
    if (!each) draws.push_back(analysis::MeanOf(values));
  }
  if (draws.empty()) return analysis::Absent(unit, 0, "no pair");
  Estimate estimate = analysis::MeanEstimate(draws, unit);
  analysis::CutInterval(estimate, 0, most);
  return estimate;
}

}  // namespace noisefloor::report
