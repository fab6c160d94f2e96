#include "coordinator/report/sweep_json.h"

namespace noisefloor::report {
namespace {

Json ToJson(const PlanInput& p) {
  Json sources = Json::object();
  Json levels = Json::object();
  for (const auto& [source, rule] : p.sources) {
    sources[std::string(Name(source))] = Name(rule.state);
    if (!rule.levels.empty()) levels[std::string(Name(source))] = rule.levels;
  }
  return {{"name", p.name},
          {"sources", std::move(sources)},
          {"levels", std::move(levels)},
          {"replicates", p.replicates},
          {"blocks", p.blocks},
          {"pilot", p.pilot}};
}

Json ToJson(const std::optional<UntilInput>& until) {
  if (!until) return nullptr;
  return {{"figure", until->figure},
          {"half_width", until->half_width},
          {"most", until->most},
          {"settled", until->settled}};
}

Json ToJson(const SettingInput& s) {
  return {{"path", s.path}, {"value", s.value}, {"changed", s.changed}};
}

Json ToJson(const std::vector<AxisColumn>& axis) {
  return List(axis, [](const AxisColumn& column) {
    return Json{{"path", column.path}, {"values", column.values}};
  });
}

}  // namespace

Json SweepToJson(const SweepInput& s) {
  return {{"id", s.id},
          {"name", s.name},
          {"notes", s.notes},
          {"tags", s.tags},
          {"seed", std::to_string(s.seed)},
          {"reference_accuracy", Number(s.reference_accuracy)},
          {"until", ToJson(s.until)},
          {"plans", List(s.plans, [](const PlanInput& p) { return ToJson(p); })},
          {"settings", List(s.settings, [](const SettingInput& x) { return ToJson(x); })},
          {"axes", List(s.axes, [](const auto& axis) { return ToJson(axis); })},
          {"specification_sha256", s.specification_sha256},
          {"submitted_unix_seconds", s.submitted_unix_seconds},
          {"ended_unix_seconds", s.ended_unix_seconds},
          {"noisefloor_version", s.noisefloor_version},
          {"file", s.file},
          {"file_submitted", s.file_submitted}};
}

}  // namespace noisefloor::report
