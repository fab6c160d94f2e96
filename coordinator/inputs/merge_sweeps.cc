#include "coordinator/inputs/merge_sweeps.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"

namespace noisefloor::inputs {

namespace {

using report::AxisColumn;
using report::SweepInput;

std::string Shown(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "not stated";
}

std::map<std::string, std::string> ByPath(const SweepInput& sweep) {
  std::map<std::string, std::string> settings;
  for (const report::SettingInput& setting : sweep.settings) settings[setting.path] = setting.value;
  return settings;
}

size_t Length(const std::vector<AxisColumn>& axis) {
  return axis.empty() ? 0 : axis[0].values.size();
}

// Do columns `a` at place i and `b` at place j hold the same?
bool SamePoint(const std::vector<AxisColumn>& a, size_t i, const std::vector<AxisColumn>& b,
               size_t j) {
  for (size_t column = 0; column < a.size(); ++column) {
    if (a[column].values[i] != b[column].values[j]) return false;
  }
  return true;
}

bool SamePaths(const std::vector<std::vector<AxisColumn>>& a,
               const std::vector<std::vector<AxisColumn>>& b) {
  const auto same_path = [](const AxisColumn& x, const AxisColumn& y) { return x.path == y.path; };
  return std::ranges::equal(
      a, b, [&](const auto& x, const auto& y) { return std::ranges::equal(x, y, same_path); });
}

}  // namespace

void MergedSweep::Add(const std::string& site, const SweepInput& sweep,
                      std::vector<std::string>& conflicts) {
  if (first_.empty()) {
    first_ = site;
    merged_ = sweep;
    files_ = {sweep.file};
    return;
  }
  if (sweep.seed != merged_.seed) {
    conflicts.push_back(
        fmt::format("{}: its seed is {}, {}'s is {}: the same lanes are other draws", site,
                    sweep.seed, first_, merged_.seed));
  }
  if (sweep.reference_accuracy != merged_.reference_accuracy) {
    conflicts.push_back(fmt::format("{}: its reference_accuracy is {}, {}'s is {}", site,
                                    Shown(sweep.reference_accuracy), first_,
                                    Shown(merged_.reference_accuracy)));
  }
  // Each site has a pilot of its own, and decides for itself; before all have, members are to come.
  if (merged_.until && merged_.until->settled) merged_.until.reset();
  if (sweep.until && !sweep.until->settled) merged_.until = sweep.until;
  for (report::PlanInput& plan : merged_.plans) plan.pilot = 0;
  CheckSettings(site, sweep, conflicts);
  AddAxes(site, sweep, conflicts);
  AddPlans(site, sweep, conflicts);
  AddFile(site, sweep);
  merged_.submitted_unix_seconds =
      std::min(merged_.submitted_unix_seconds, sweep.submitted_unix_seconds);
  merged_.ended_unix_seconds = std::max(merged_.ended_unix_seconds, sweep.ended_unix_seconds);
  if (merged_.specification_sha256 != sweep.specification_sha256) {
    merged_.specification_sha256.clear();
  }
}

void MergedSweep::CheckSettings(const std::string& site, const SweepInput& sweep,
                                std::vector<std::string>& conflicts) const {
  const std::map<std::string, std::string> ours = ByPath(merged_);
  const std::map<std::string, std::string> theirs = ByPath(sweep);
  for (const auto& [path, value] : theirs) {
    const auto known = ours.find(path);
    if (known == ours.end()) {
      conflicts.push_back(fmt::format("{}: its {} is {}, {} has none", site, path, value, first_));
    } else if (known->second != value) {
      conflicts.push_back(
          fmt::format("{}: its {} is {}, {}'s is {}", site, path, value, first_, known->second));
    }
  }
  for (const auto& [path, value] : ours) {
    if (theirs.contains(path)) continue;
    conflicts.push_back(fmt::format("{}: it has no {}, {}'s is {}", site, path, first_, value));
  }
}

void MergedSweep::AddAxes(const std::string& site, const SweepInput& sweep,
                          std::vector<std::string>& conflicts) {
  if (!SamePaths(merged_.axes, sweep.axes)) {
    conflicts.push_back(fmt::format("{}: its axes vary other settings than {}'s", site, first_));
    return;
  }
  for (size_t i = 0; i < sweep.axes.size(); ++i) {
    std::vector<AxisColumn>& ours = merged_.axes[i];
    const std::vector<AxisColumn>& theirs = sweep.axes[i];
    for (size_t at = 0; at < Length(theirs); ++at) {
      bool known = false;
      for (size_t k = 0; k < Length(ours) && !known; ++k) known = SamePoint(ours, k, theirs, at);
      if (known) continue;
      for (size_t column = 0; column < ours.size(); ++column) {
        ours[column].values.push_back(theirs[column].values[at]);
      }
    }
  }
}

void MergedSweep::AddPlans(const std::string& site, const SweepInput& sweep,
                           std::vector<std::string>& conflicts) {
  for (const report::PlanInput& plan : sweep.plans) {
    const auto known = std::ranges::find(merged_.plans, plan.name, &report::PlanInput::name);
    if (known == merged_.plans.end()) {
      merged_.plans.push_back(plan);
      merged_.plans.back().pilot = 0;
      continue;
    }
    if (known->sources != plan.sources) {
      conflicts.push_back(fmt::format("{}: its plan {} frees and holds other sources than {}'s",
                                      site, plan.name, first_));
    }
    known->replicates = std::max(known->replicates, plan.replicates);
    known->blocks = std::max(known->blocks, plan.blocks);
  }
}

// One after the other, each under the name of its site, where they differ.
void MergedSweep::AddFile(const std::string& site, const SweepInput& sweep) {
  merged_.file_submitted = merged_.file_submitted && sweep.file_submitted;
  if (std::ranges::find(files_, sweep.file) != files_.end()) return;
  if (files_.size() == 1) merged_.file = fmt::format("# {}\n{}", first_, merged_.file);
  files_.push_back(sweep.file);
  merged_.file += fmt::format("\n# {}\n{}", site, sweep.file);
}

std::vector<size_t> MergedSweep::PointOf(const std::vector<report::AxisSetting>& cell) const {
  std::vector<size_t> point;
  for (const std::vector<AxisColumn>& axis : merged_.axes) {
    size_t at = 0;
    const auto is_here = [&](const AxisColumn& column) {
      return std::ranges::find(cell, report::AxisSetting{column.path, column.values[at]}) !=
             cell.end();
    };
    while (at < Length(axis) && !std::ranges::all_of(axis, is_here)) ++at;
    point.push_back(at);
  }
  return point;
}

size_t MergedSweep::PlanOf(const std::string& plan) const {
  return static_cast<size_t>(std::ranges::find(merged_.plans, plan, &report::PlanInput::name) -
                             merged_.plans.begin());
}

}  // namespace noisefloor::inputs
