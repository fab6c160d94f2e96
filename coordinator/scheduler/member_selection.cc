#include "coordinator/scheduler/member_selection.h"

#include <algorithm>
#include <tuple>

#include "common/base/printable.h"

namespace noisefloor::scheduler {

namespace {

// "s3 has no plan x; it has a, b": for the first that is wanted and not there.
std::string Missing(SweepId sweep, const std::string& what, const std::set<std::string>& wanted,
                    const std::set<std::string>& there) {
  constexpr size_t kMostNamed = 8;
  constexpr size_t kMostQuoted = 100;
  for (const std::string& name : wanted) {
    if (there.contains(name)) continue;
    std::string text =
        ToText(sweep) + " has no " + what + " " + PrintableLine(name.substr(0, kMostQuoted));
    size_t named = 0;
    for (const std::string& one : there) {
      if (one.empty()) continue;
      if (named == kMostNamed) return text + ", ...";
      text += (named++ == 0 ? "; it has " : ", ") + one;
    }
    return text;
  }
  return "";
}

}  // namespace

bool HasAxes(const Selection& selection, const Settings& axes) {
  return std::ranges::all_of(selection.axes, [&](const auto& asked) {
    const SettingValue* value = FindSetting(axes, asked.first);
    return value != nullptr && asked.second.contains(ToText(*value));
  });
}

void SelectionCheck::Add(const sweep::Cell& cell) {
  replicates_.push_back(cell.replicates);
  if (!selection_.plans.empty()) plans_.insert(cell.plan);
  if (!selection_.hardware.empty()) hardware_.insert(cell.hardware);
  if (!selection_.stacks.empty()) stacks_.insert(cell.stack);
  if (selection_.axes.empty()) return;
  for (const auto& [path, value] : cell.axes) {
    paths_.insert(path);
    if (selection_.axes.contains(path)) values_[path].insert(ToText(value));
  }
}

std::string SelectionCheck::Fault() const {
  for (const auto& [what, wanted, there] :
       {std::tuple("plan", &selection_.plans, &plans_),
        std::tuple("hardware class", &selection_.hardware, &hardware_),
        std::tuple("stack", &selection_.stacks, &stacks_)}) {
    if (std::string fault = Missing(sweep_, what, *wanted, *there); !fault.empty()) return fault;
  }
  std::set<std::string> asked;
  for (const auto& [path, values] : selection_.axes) asked.insert(path);
  if (std::string fault = Missing(sweep_, "axis", asked, paths_); !fault.empty()) return fault;
  for (const auto& [path, values] : selection_.axes) {
    std::string fault = Missing(sweep_, PrintableLine(path), values, values_.at(path));
    if (!fault.empty()) return fault;
  }
  const size_t cells = replicates_.size();
  if (!selection_.cells.empty() && *selection_.cells.rbegin() >= cells) {
    return ToText(sweep_) + " has no cell " + std::to_string(*selection_.cells.rbegin()) +
           "; its cells are 0 to " + std::to_string(cells - 1);
  }
  for (const auto& [cell, replicate] : selection_.members) {
    if (cell < cells && replicate < replicates_[cell]) continue;
    return "there is no member " + ToText(MemberId{sweep_, cell, replicate});
  }
  return "";
}

}  // namespace noisefloor::scheduler
