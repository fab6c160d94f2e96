#include "coordinator/report/targets.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"

#include "coordinator/analysis/spread.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {

std::string TargetText(double target) { return fmt::format("{:.6g} %", 100 * target); }

analysis::Estimate EpochsToTarget(const Gathered& gathered, const CellFacts& cell) {
  const std::optional<double>& target = gathered.input->sweep.reference_accuracy;
  if (!target) return analysis::Absent("epochs", 0, "the sweep has no reference_accuracy");
  std::vector<double> epochs;
  int64_t ended = 0;
  bool any_curve = false;
  for (const size_t m : cell.members) {
    const MemberInput& member = *gathered.members[m].input;
    if (!HasResult(member.state)) continue;
    ++ended;
    const auto curve = member.curves.find("test_top1");
    if (curve == member.curves.end() || curve->second.empty()) continue;
    any_curve = true;
    const auto reached = std::ranges::find_if(
        curve->second, [&](const CurvePoint& point) { return point.value >= *target; });
    if (reached != curve->second.end()) epochs.push_back(reached->epoch);
  }
  const auto reached = static_cast<int64_t>(epochs.size());
  if (!any_curve) return analysis::Absent("epochs", 0, "no member has a curve of top-1");
  if (reached < ended) {
    return analysis::Absent(
        "epochs", ended,
        fmt::format("{} of {} reach {}", reached, Counted(ended, "member"), TargetText(*target)));
  }
  analysis::Estimate mean = analysis::MeanEstimate(epochs, "epochs");
  analysis::CutInterval(mean, 0, std::numeric_limits<double>::infinity());
  mean.method = fmt::format("first evaluation at {} or more; {}", TargetText(*target), mean.method);
  return mean;
}

}  // namespace noisefloor::report
