#include "coordinator/inputs/sweep_from_json.h"

#include <algorithm>

#include "coordinator/inputs/json_lists.h"

namespace noisefloor::inputs {

namespace {

absl::Status ReadPlan(const Json& json, const std::string& place, report::PlanInput& plan) {
  JsonReader reader(json, place);
  plan.name = Text(reader, "name");
  plan.replicates = Count(reader, "replicates");
  plan.blocks = Count(reader, "blocks");
  if (reader.Has("pilot")) plan.pilot = Count(reader, "pilot");  // None where nobody had one yet.
  const Json& sources = reader.Any("sources");
  const Json& levels = reader.Any("levels");
  NF_RETURN_IF_ERROR(reader.Finish());
  NF_RETURN_IF_ERROR(ForEachSource(
      sources, place + ".sources",
      [&](NoiseSource source, const Json& value, const std::string& at) -> absl::Status {
        NF_ASSIGN_OR_RETURN(plan.sources[source].state, StateOf(value, at));
        return absl::OkStatus();
      }));
  return ForEachSource(levels, place + ".levels",
                       [&](NoiseSource source, const Json& value, const std::string& at) {
                         return ReadCounts(value, at, plan.sources[source].levels);
                       });
}

absl::Status ReadUntil(const Json& json, const std::string& place, report::UntilInput& until) {
  JsonReader reader(json, place);
  until.figure = Text(reader, "figure");
  until.half_width = reader.Number("half_width");
  until.most = Count(reader, "most");
  until.settled = reader.Bool("settled");
  NF_RETURN_IF_ERROR(reader.Finish());
  if (until.figure == "churn" || until.figure == "top1") return absl::OkStatus();
  return InvalidInput(fmt::format("{}.figure: expected churn or top1", place));
}

absl::Status ReadAxis(const Json& json, const std::string& place,
                      std::vector<report::AxisColumn>& axis) {
  NF_RETURN_IF_ERROR(ForEach(json, place, [&](const Json& value, const std::string& at) {
    JsonReader reader(value, at);
    report::AxisColumn& column = axis.emplace_back();
    column.path = Text(reader, "path");
    const Json& values = reader.Any("values");
    NF_RETURN_IF_ERROR(reader.Finish());
    return ReadTexts(values, at + ".values", column.values);
  }));
  const bool in_step = !axis.empty() && std::ranges::all_of(axis, [&](const auto& column) {
    return column.values.size() == axis[0].values.size();
  });
  if (in_step) return absl::OkStatus();
  return InvalidInput(place + ": expected columns with as many values each");
}

absl::Status ReadSetting(const Json& json, const std::string& place,
                         report::SettingInput& setting) {
  JsonReader reader(json, place);
  setting.path = Text(reader, "path");
  setting.value = Text(reader, "value");
  setting.changed = reader.Bool("changed");
  return reader.Finish();
}

}  // namespace

absl::Status ReadSweep(const Json& json, report::SweepInput& sweep) {
  const std::string place = "sweep";
  JsonReader reader(json, place);
  sweep.id = Text(reader, "id");
  sweep.name = Text(reader, "name");
  sweep.notes = Text(reader, "notes");
  sweep.seed = reader.DecimalString("seed");
  if (const Json& known = reader.Any("reference_accuracy"); !known.is_null()) {
    sweep.reference_accuracy = reader.Number("reference_accuracy");
  }
  const Json until = reader.Has("until") ? reader.Any("until") : Json();  // Likewise.
  sweep.specification_sha256 = Text(reader, "specification_sha256");
  sweep.submitted_unix_seconds = reader.Int("submitted_unix_seconds", 0, kLastSecond);
  sweep.ended_unix_seconds = reader.Int("ended_unix_seconds", 0, kLastSecond);
  sweep.noisefloor_version = Text(reader, "noisefloor_version");
  sweep.file = Text(reader, "file");
  sweep.file_submitted = reader.Bool("file_submitted");
  const Json& tags = reader.Any("tags");
  const Json& plans = reader.Any("plans");
  const Json& settings = reader.Any("settings");
  const Json& axes = reader.Any("axes");
  NF_RETURN_IF_ERROR(reader.Finish());
  if (!until.is_null())
    NF_RETURN_IF_ERROR(ReadUntil(until, place + ".until", sweep.until.emplace()));
  NF_RETURN_IF_ERROR(ReadTexts(tags, place + ".tags", sweep.tags));
  NF_RETURN_IF_ERROR(ForEach(plans, place + ".plans", [&](const Json& plan, const auto& at) {
    return ReadPlan(plan, at, sweep.plans.emplace_back());
  }));
  NF_RETURN_IF_ERROR(ForEach(settings, place + ".settings", [&](const Json& one, const auto& at) {
    return ReadSetting(one, at, sweep.settings.emplace_back());
  }));
  return ForEach(axes, place + ".axes", [&](const Json& axis, const auto& at) {
    return ReadAxis(axis, at, sweep.axes.emplace_back());
  });
}

}  // namespace noisefloor::inputs
