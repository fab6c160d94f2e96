#include "coordinator/report/outliers.h"

#include <optional>
#include <utility>

#include "fmt/format.h"

#include "coordinator/analysis/outlier.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

constexpr double kLevelOfStudy = 0.01;

}  // namespace

void AddOutliers(const Gathered& gathered, std::vector<Warning>& warnings) {
  std::vector<std::pair<const CellFacts*, analysis::Farthest>> judged;
  for (const CellFacts& cell : gathered.cells) {
    if (cell.all_fixed || !cell.shared.empty()) continue;
    const auto farthest =
        analysis::FarthestValue(ValuesOf(gathered, cell.done, &MemberFacts::accuracy));
    if (farthest) judged.emplace_back(&cell, *farthest);
  }
  for (const auto& [cell, farthest] : judged) {
    if (farthest.p * static_cast<double>(judged.size()) > kLevelOfStudy) continue;
    const MemberFacts& member = gathered.members[cell->done[farthest.place]];
    warnings.push_back(
        {"warning", fmt::format("cell {} ({})", cell->input->index, cell->label),
         fmt::format(
             "{} lies apart from the others ({}, {:.1f} standard deviations from their mean "
             "of {}): top-1 does not spread normally here, so that the interval of its "
             "standard deviation is too narrow, and that of its mean may be.",
             member.input->id, Percent(member.accuracy, 2), farthest.deviations,
             Counted(static_cast<int64_t>(cell->done.size()), "member"))});
  }
}

}  // namespace noisefloor::report
