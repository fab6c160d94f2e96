#include "coordinator/report/until.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/analysis/sequential.h"
#include "coordinator/report/gather.h"
#include "coordinator/report/interim.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

// What the pilot of one cell says.
struct PilotOfCell {
  std::string label;
  size_t results = 0;
  double spread = 0;   // nan: it says nothing.
  int64_t needed = 0;  // Replicates.
};

// "churn spreads by 1.93 % over the 10 of its pilot (algo, cpu-amd-avx2)"
std::string Spreads(const UntilInput& until, const PilotOfCell& cell) {
  return fmt::format("{} spreads by {} over the {} of its pilot ({})",
                     until.figure == "top1" ? "top-1" : "churn", Percent(cell.spread, 2),
                     cell.results, cell.label);
}

std::string DecidePlan(const UntilInput& until, const PlanInput& plan,
                       const std::vector<PilotOfCell>& cells, Enough& enough) {
  const auto silent = std::ranges::find_if(
      cells, [](const PilotOfCell& cell) { return !std::isfinite(cell.spread); });
  if (silent != cells.end()) {
    return fmt::format("{} stays at {}: {} results of {} say nothing of its spread", plan.name,
                       Counted(plan.replicates, "replicate"), silent->results, silent->label);
  }
  const PilotOfCell& widest = *std::ranges::max_element(cells, {}, &PilotOfCell::needed);
  const auto most = std::max<int64_t>(until.most, plan.replicates);
  const int64_t takes = std::clamp<int64_t>(widest.needed, plan.replicates, most);
  std::string text = fmt::format("{} takes {}: {}", plan.name, Counted(takes, "replicate"),
                                 Spreads(until, widest));
  if (widest.needed > most) {
    text += fmt::format(", which would take {}, and `most` is {}", widest.needed, until.most);
  }
  if (takes > plan.replicates) enough.replicates[plan.name] = static_cast<uint32_t>(takes);
  return text;
}

}  // namespace

Enough DecideUntil(const StudyInput& input) {
  const UntilInput& until = *input.sweep.until;
  Enough enough;
  const bool cancelled =
      std::ranges::count(input.members, MemberState::kCancelled, &MemberInput::state) > 0;
  if (cancelled) {
    enough.text = "some of them were cancelled";
    return enough;
  }
  const Gathered gathered = Gather(input);
  std::vector<std::string> texts;
  for (const PlanInput& plan : input.sweep.plans) {
    if (plan.pilot == 0) continue;
    std::vector<PilotOfCell> cells;
    for (const CellFacts& cell : gathered.cells) {
      if (cell.input->plan != plan.name) continue;
      const PilotSpread pilot = SpreadOfPilot(gathered, cell, until.figure, plan.pilot);
      const int64_t needed = std::isfinite(pilot.spread)
                                 ? analysis::SteinSize(pilot.spread, pilot.n, until.half_width)
                                 : 0;
      cells.push_back({cell.label, static_cast<size_t>(pilot.n), pilot.spread, needed});
    }
    if (!cells.empty()) texts.push_back(DecidePlan(until, plan, cells, enough));
  }
  enough.text = fmt::format("{}", fmt::join(texts, "; "));
  return enough;
}

}  // namespace noisefloor::report
