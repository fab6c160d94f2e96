// What the checks of a request share: the problems found so far, and the checks of single values.
// Not thread-safe; each Resolve has its own.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/sweep/sweep.h"

namespace noisefloor::sweep {

// "got" texts are cut, so that a message stays readable.
std::string Quoted(std::string_view text);

class Problems {
 public:
  void Add(std::string field, std::string message);
  bool empty() const { return list_.empty(); }
  std::vector<Problem> Take() { return std::move(list_); }

  // Letters, digits, '-', '_', '.': what may stand in an id of ours.
  bool CheckName(const std::string& field, std::string_view name);
  // One line that people can read.
  bool CheckLabel(const std::string& field, std::string_view label, size_t most);
  // A number of things from 1 to `most`.
  bool CheckCount(const std::string& field, uint32_t count, size_t most);
  // Each name once; "FIELD[2]" is told for a repeat.
  void CheckDistinct(const std::string& field, const std::vector<std::string>& names);

 private:
  std::vector<Problem> list_;
  std::set<std::pair<std::string, std::string>> told_;
};

// "; did you mean X?", or nothing when none is near.
std::string DidYouMean(std::string_view wrong, std::span<const std::string_view> known);

// The axes of a request, checked: unknown paths, wrong values, columns of unequal length, ...
std::vector<Axis> CheckAxes(const std::vector<Axis>& axes, const SettingsSchema& schema,
                            Problems& problems);
// The noise plans of a request, resolved.
std::vector<NoisePlan> ResolvePlans(const std::vector<PlanRequest>& noise, Problems& problems);
// Whether it has too many cells or members.
void CheckSize(const Sweep& sweep, Problems& problems);
// The value as the schema has it, or nothing and a problem at `field`.
std::optional<SettingValue> TryTake(const SettingsSchema& schema, const Setting& setting,
                                    const std::string& field, Problems& problems);

}  // namespace noisefloor::sweep
