// The axes of a request.
#include <set>

#include "coordinator/sweep/problems.h"

namespace noisefloor::sweep {

namespace {

std::string Indexed(const std::string& name, size_t place) {
  return name + "[" + std::to_string(place) + "]";
}

// Tries every value and keeps it as the schema reads it.
void CheckColumn(AxisColumn& column, const SettingsSchema& schema, Problems& problems) {
  const std::string field = "axes." + column.path;
  if (schema.Find(column.path) == nullptr) {
    TryTake(schema, {column.path, SettingValue(int64_t{0})}, field, problems);
    return;
  }
  if (column.values.empty()) problems.Add(field, "expected at least one value, got none");
  for (size_t i = 0; i < column.values.size(); ++i) {
    auto taken = TryTake(schema, {column.path, column.values[i]}, Indexed(field, i), problems);
    if (taken) column.values[i] = *std::move(taken);
  }
}

// Equal lengths, and no point of the axis twice: equal cells would be trained as two.
void CheckTogether(const Axis& axis, Problems& problems) {
  const AxisColumn& first = axis.columns.front();
  for (const AxisColumn& column : axis.columns) {
    if (column.values.size() == first.values.size()) continue;
    problems.Add("axes." + column.path, "walks in step with " + first.path + ": expected " +
                                            std::to_string(first.values.size()) + " values, got " +
                                            std::to_string(column.values.size()));
    return;
  }
  std::set<std::vector<std::string>> points;
  for (size_t i = 0; i < first.values.size(); ++i) {
    std::vector<std::string> point;
    for (const AxisColumn& column : axis.columns) point.push_back(ToText(column.values[i]));
    if (!points.insert(point).second) {
      problems.Add(Indexed("axes." + first.path, i), point.front() + " is given twice");
    }
  }
}

}  // namespace

std::vector<Axis> CheckAxes(const std::vector<Axis>& axes, const SettingsSchema& schema,
                            Problems& problems) {
  if (axes.size() > kMaxAxes) {
    problems.Add("axes", "expected at most " + std::to_string(kMaxAxes) + " axes, got " +
                             std::to_string(axes.size()));
    return {};
  }
  std::vector<Axis> checked = axes;
  std::set<std::string> seen;
  for (size_t i = 0; i < checked.size(); ++i) {
    if (checked[i].columns.empty()) {
      problems.Add(Indexed("axes", i), "expected at least one setting, got none");
      continue;
    }
    for (AxisColumn& column : checked[i].columns) {
      if (!seen.insert(column.path).second) {
        problems.Add("axes." + column.path, "expected each setting on one axis, got it on two");
      }
      CheckColumn(column, schema, problems);
    }
    CheckTogether(checked[i], problems);
  }
  return checked;
}

}  // namespace noisefloor::sweep
