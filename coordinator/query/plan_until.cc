#include "coordinator/query/plan_until.h"

#include "fmt/format.h"

#include "coordinator/analysis/sequential.h"
#include "coordinator/sweep/extend.h"

namespace noisefloor::query {

std::vector<std::string> PlannedUntil(const sweep::Sweep& sweep) {
  std::vector<std::string> notes;
  if (!sweep.until) return notes;
  const sweep::Until& until = *sweep.until;
  for (const sweep::NoisePlan& plan : sweep.plans) {
    if (!sweep::IsForUntil(sweep, plan)) continue;
    const uint32_t pilot = sweep::ReplicatesOf(sweep, plan);
    // A share of the answers either way; the spread is of the members' own values of it.
    notes.push_back(fmt::format(
        "{} begins with {} replicates, whose spread says once how many it takes for {} within "
        "{:.2f} % to either side; the {} that are the most are enough up to an SD of {:.2f} %",
        plan.name, pilot, until.figure == sweep::UntilFigure::kTop1 ? "top-1" : "churn",
        100 * until.half_width, until.most,
        100 * analysis::SteinSpread(pilot, until.most, until.half_width)));
  }
  return notes;
}

}  // namespace noisefloor::query
