#include "coordinator/report/fixed_draws.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/analysis/spread.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using DrawKey = std::pair<uint32_t, uint32_t>;  // Block; replicate, 0 where all share one draw.

// Accuracies of all members of each draw.
using Draws = std::map<DrawKey, std::vector<double>>;

// Where draws are set against each other. What is off, the class and the stack move the accuracy,
// too, and that is no draw's doing.
struct Place {
  std::vector<AxisSetting> axes;
  size_t set = 0;
  std::string hardware;
  std::string stack;
  std::vector<NoiseSource> off;
  friend auto operator<=>(const Place&, const Place&) = default;
};

struct Point {
  std::string axes_label;
  std::string on;  // " on cpu-a": where the study has several classes or stacks.
  Draws held;
  Draws free;
  std::set<std::string> held_plans;
  std::set<std::string> free_plans;
  std::vector<std::string> sources;
};

void AddMembers(const Gathered& gathered, const CellFacts& cell, bool each, Draws& draws) {
  for (const size_t m : cell.done) {
    const double accuracy = gathered.members[m].accuracy;
    const uint32_t replicate = each ? gathered.members[m].input->replicate : 0;
    if (std::isfinite(accuracy)) draws[{cell.input->block, replicate}].push_back(accuracy);
  }
}

std::string Names(const std::set<std::string>& plans) {
  return Listed(std::vector<std::string>(plans.begin(), plans.end()));
}

// Class and stack of the cell where the study has several of them.
std::string OnOf(const CellInput& cell, bool several_classes, bool several_stacks) {
  std::vector<std::string> names;
  if (several_classes) names.push_back(HardwareName(cell.hardware));
  if (several_stacks) names.push_back(StackName(cell.stack));
  return names.empty() ? "" : fmt::format(" on {}", fmt::join(names, ", "));
}

void Judge(const Point& point, std::vector<FixedDraw>& outside) {
  if (point.free.size() < 3) return;
  std::vector<double> free;
  for (const auto& [key, accuracies] : point.free) free.push_back(analysis::MeanOf(accuracies));
  const auto [lowest, highest] = std::minmax_element(free.begin(), free.end());
  const auto n = static_cast<int64_t>(free.size());
  for (const auto& [key, accuracies] : point.held) {
    const double accuracy = analysis::MeanOf(accuracies);
    if (*lowest <= accuracy && accuracy <= *highest) continue;
    FixedDraw draw{point.axes_label, key.first, accuracy, *lowest, *highest, n, ""};
    const std::string at = point.axes_label.empty() ? "" : " at " + point.axes_label;
    const std::string block =
        point.held.size() == 1 ? "The one draw" : fmt::format("The draw of block {}", key.first);
    draw.text = fmt::format(
        "{} of {} that {} {} on{} has a mean top-1 of {}{}, {} all {} draws of {} ({} to {}): what "
        "is said of it may not hold for others. By chance one draw lies outside {} others in {}.",
        block, Listed(point.sources), Names(point.held_plans),
        point.held_plans.size() == 1 ? "hangs" : "hang", at, Percent(accuracy, 2), point.on,
        accuracy < *lowest ? "below" : "above", n, Names(point.free_plans), Percent(*lowest, 2),
        Percent(*highest, 2), n, Percent(2.0 / static_cast<double>(n + 1), 0));
    outside.push_back(std::move(draw));
  }
}

}  // namespace

std::vector<FixedDraw> BuildFixedDraws(const Gathered& gathered) {
  const bool several_stacks = HaveSeveralStacks(gathered.cells);
  const bool several_classes = std::ranges::any_of(gathered.cells, [&](const CellFacts& cell) {
    return cell.input->hardware != gathered.cells.front().input->hardware;
  });
  std::map<Place, Point> points;
  for (const CellFacts& cell : gathered.cells) {
    const CellInput& input = *cell.input;
    Point& point = points[{input.axes, cell.set, input.hardware, input.stack, cell.off}];
    point.axes_label = cell.axes_label;
    point.on = OnOf(input, several_classes, several_stacks);
    if (!cell.seeded_free && !cell.held.empty()) {
      AddMembers(gathered, cell, false, point.held);
      point.held_plans.insert(cell.input->plan);
      point.sources = NamesOf(cell.held);
    } else if (!cell.free_seeded.empty() && cell.held.empty() && cell.shared.empty()) {
      AddMembers(gathered, cell, true, point.free);
      point.free_plans.insert(cell.input->plan);
    }
  }
  std::vector<FixedDraw> outside;
  for (const auto& [place, point] : points) Judge(point, outside);
  return outside;
}

}  // namespace noisefloor::report
