#include "coordinator/store/sweep_json.h"

#include <charconv>
#include <utility>

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/training_json.h"

namespace noisefloor {

namespace {

Json AxesToJson(const std::vector<sweep::Axis>& axes) {
  Json json = Json::array();
  for (const sweep::Axis& axis : axes) {
    Json columns = Json::array();
    for (const sweep::AxisColumn& column : axis.columns) {
      Json values = Json::array();
      for (const SettingValue& value : column.values) values.push_back(ToJson(value));
      columns.push_back({{"path", column.path}, {"values", std::move(values)}});
    }
    json.push_back(std::move(columns));
  }
  return json;
}

Json PlansToJson(const std::vector<sweep::NoisePlan>& plans) {
  Json json = Json::array();
  for (const sweep::NoisePlan& plan : plans) {
    Json states = Json::object();
    Json levels = Json::object();
    for (size_t i = 0; i < kAllNoiseSources.size(); ++i) {
      const LaneRule& rule = plan.rules[i];
      if (!IsTold(kAllNoiseSources[i], rule.state)) continue;
      const std::string name(Name(kAllNoiseSources[i]));
      states[name] = Name(rule.state);
      if (!rule.levels.empty()) levels[name] = rule.levels;
    }
    json.push_back({{"name", plan.name}, {"states", std::move(states)}});
    if (!levels.empty()) json.back()["levels"] = std::move(levels);
    if (plan.replicates != 0) json.back()["replicates"] = plan.replicates;
    if (plan.blocks != 0) json.back()["blocks"] = plan.blocks;
  }
  return json;
}

// [{"hardware": ["cpu-a"], "plans": [[REPLICATES, BLOCKS], ...]}, ...]
Json ExtentsToJson(const std::vector<sweep::Extent>& extents) {
  Json json = Json::array();
  for (const sweep::Extent& extent : extents) {
    Json plans = Json::array();
    for (const sweep::Extent::Plan& plan : extent.plans) {
      plans.push_back({plan.replicates, plan.blocks});
    }
    json.push_back({{"hardware", extent.hardware}, {"plans", std::move(plans)}});
  }
  return json;
}

std::vector<sweep::Extent> ExtentsFrom(const Json& json) {
  std::vector<sweep::Extent> extents;
  for (const Json& one : json) {
    sweep::Extent& extent = extents.emplace_back();
    extent.hardware = one.at("hardware").get<std::vector<std::string>>();
    for (const Json& plan : one.at("plans")) {
      extent.plans.push_back({plan.at(0).get<uint32_t>(), plan.at(1).get<uint32_t>()});
    }
  }
  return extents;
}

absl::Status Damaged(std::string_view what) {
  return MakeError(absl::StatusCode::kInternal,
                   "a kept sweep cannot be read: " + std::string(what));
}

absl::Status ReadTraining(const Json& json, sweep::Sweep& sweep) {
  const SettingsSchemaRef known = BuiltInSchema(sweep.schema);
  if (known != nullptr) sweep.base = known->Defaults();
  for (const auto& [path, value] : json.items()) {
    NF_ASSIGN_OR_RETURN(SettingValue setting, SettingFromJson(value));
    if (known != nullptr) {
      NF_ASSIGN_OR_RETURN(setting, known->Take(path, std::move(setting)));
    }
    PutSetting(sweep.base, path, std::move(setting));
  }
  return absl::OkStatus();
}

absl::Status ReadAxes(const Json& json, std::vector<sweep::Axis>& axes) {
  for (const Json& columns : json) {
    sweep::Axis& axis = axes.emplace_back();
    for (const Json& column : columns) {
      sweep::AxisColumn& out = axis.columns.emplace_back();
      out.path = column.at("path").get<std::string>();
      for (const Json& value : column.at("values")) {
        NF_ASSIGN_OR_RETURN(out.values.emplace_back(), SettingFromJson(value));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ReadPlans(const Json& json, std::vector<sweep::NoisePlan>& plans) {
  for (const Json& plan : json) {
    sweep::NoisePlan& out = plans.emplace_back();
    out.name = plan.at("name").get<std::string>();
    out.replicates = plan.value("replicates", uint32_t{0});
    out.blocks = plan.value("blocks", uint32_t{0});
    for (const NoiseSource source : kAllNoiseSources) {
      const bool left_out = !IsTold(source, SourceState::kOff);
      if (left_out) RuleOf(out.rules, source).state = SourceState::kOff;
    }
    for (const auto& [name, state] : plan.at("states").items()) {
      const auto source = ParseNoiseSource(name);
      const auto parsed = ParseSourceState(state.get<std::string>());
      if (!source || !parsed) return Damaged("plan " + out.name);
      RuleOf(out.rules, *source).state = *parsed;
    }
    const Json levels_of = plan.value("levels", Json::object());
    for (const auto& [name, levels] : levels_of.items()) {
      const auto source = ParseNoiseSource(name);
      auto parsed = LevelsFrom(levels);
      if (!source || !parsed) return Damaged("plan " + out.name);
      RuleOf(out.rules, *source).levels = *std::move(parsed);
    }
  }
  return absl::OkStatus();
}

Json UntilToJson(const sweep::Until& until) {
  return {{"figure", Name(until.figure)},
          {"half_width", until.half_width},
          {"most", until.most},
          {"settled", until.settled}};
}

absl::StatusOr<sweep::Until> UntilFrom(const Json& json) {
  const auto figure = sweep::ParseUntilFigure(json.at("figure").get<std::string>());
  if (!figure) return Damaged("its until");
  return sweep::Until{*figure, json.at("half_width").get<double>(), json.at("most").get<uint32_t>(),
                      json.at("settled").get<bool>()};
}

Json InferenceToJson(const sweep::Inference& inference) {
  Json cells = Json::array();
  for (const sweep::SubjectCell& cell : inference.cells) {
    Json weights = Json::array();
    for (const sweep::GivenWeights& given : cell.weights) {
      weights.push_back({given.replicate, given.sha256, given.size_bytes, given.file});
    }
    Json axes = Json::object();
    for (const auto& [path, value] : cell.axes) axes[path] = ToJson(value);
    cells.push_back({{"cell", cell.cell},
                     {"axes", std::move(axes)},
                     {"plan", cell.plan},
                     {"stack", cell.stack},
                     {"block", cell.block},
                     {"weights", std::move(weights)}});
  }
  return {{"sweep", inference.sweep.value}, {"cells", std::move(cells)}};
}

absl::StatusOr<sweep::Inference> InferenceFrom(const Json& json) {
  sweep::Inference inference;
  inference.sweep = SweepId{json.at("sweep").get<uint64_t>()};
  for (const Json& cell : json.at("cells")) {
    sweep::SubjectCell& out = inference.cells.emplace_back();
    out.cell = cell.at("cell").get<uint32_t>();
    for (const auto& [path, value] : cell.at("axes").items()) {
      NF_ASSIGN_OR_RETURN(SettingValue setting, SettingFromJson(value));
      out.axes.emplace_back(path, std::move(setting));
    }
    out.plan = cell.at("plan").get<std::string>();
    out.stack = cell.at("stack").get<std::string>();
    out.block = cell.at("block").get<uint32_t>();
    for (const Json& given : cell.at("weights")) {
      out.weights.push_back({given.at(0).get<uint32_t>(), given.at(1).get<std::string>(),
                             given.at(2).get<uint64_t>(), given.at(3).get<std::string>()});
    }
  }
  return inference;
}

absl::StatusOr<sweep::Sweep> SweepFrom(const Json& json) {
  sweep::Sweep sweep;
  sweep.name = json.at("name").get<std::string>();
  const std::string seed = json.at("seed").get<std::string>();
  std::from_chars(seed.data(), seed.data() + seed.size(), sweep.seed);
  sweep.schema = json.value("schema", "");
  NF_RETURN_IF_ERROR(ReadTraining(json.at("training"), sweep));
  sweep.kind = sweep::KindOf(sweep.base);
  NF_RETURN_IF_ERROR(ReadAxes(json.at("axes"), sweep.axes));
  NF_RETURN_IF_ERROR(ReadPlans(json.at("plans"), sweep.plans));
  sweep.hardware = json.at("hardware").get<std::vector<std::string>>();
  sweep.stacks = json.at("stacks").get<std::vector<std::string>>();
  sweep.replicates = json.at("replicates").get<uint32_t>();
  sweep.blocks = json.at("blocks").get<uint32_t>();
  if (json.contains("reference_accuracy")) {
    sweep.reference_accuracy = json.at("reference_accuracy").get<double>();
  }
  if (json.contains("until")) {
    NF_ASSIGN_OR_RETURN(sweep.until, UntilFrom(json.at("until")));
  }
  if (json.contains("subject")) {
    const auto kind = sweep::ParseKind(json.at("kind").get<std::string>());
    const Json& subject = json.at("subject");
    const auto member = ParseMemberId(subject.at("member").get<std::string>());
    if (!kind || !member) return Damaged("its kind or its subject");
    sweep.kind = *kind;
    sweep.subject = {*member, subject.at("block").get<uint32_t>()};
  }
  if (json.contains("inference")) {
    sweep.kind = sweep::Kind::kInfer;
    NF_ASSIGN_OR_RETURN(sweep.inference, InferenceFrom(json.at("inference")));
  }
  if (json.contains("before")) sweep.before = ExtentsFrom(json.at("before"));
  sweep.notes = json.at("notes").get<std::string>();
  sweep.tags = json.at("tags").get<std::map<std::string, std::string>>();
  return sweep;
}

}  // namespace

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string SettingsToJson(const std::vector<sweep::Setting>& settings) {
  Json json = Json::object();
  for (const auto& [path, value] : settings) json[path] = ToJson(value);
  return Dump(json);
}

std::string SweepToJson(const sweep::Sweep& sweep) {
  Json training = Json::object();
  for (const auto& [path, value] : sweep.base) training[path] = ToJson(value);
  Json json = {{"name", sweep.name},
               {"seed", std::to_string(sweep.seed)},
               {"training", std::move(training)},
               {"axes", AxesToJson(sweep.axes)},
               {"plans", PlansToJson(sweep.plans)},
               {"hardware", sweep.hardware},
               {"stacks", sweep.stacks},
               {"replicates", sweep.replicates},
               {"blocks", sweep.blocks},
               {"notes", sweep.notes},
               {"tags", sweep.tags}};
  if (!sweep.before.empty()) json["before"] = ExtentsToJson(sweep.before);
  if (!sweep.schema.empty()) json["schema"] = sweep.schema;
  if (sweep.reference_accuracy) json["reference_accuracy"] = *sweep.reference_accuracy;
  if (sweep.until) json["until"] = UntilToJson(*sweep.until);
  if (sweep.subject) {
    json["kind"] = Name(sweep.kind);
    json["subject"] = {{"member", ToText(sweep.subject->member)}, {"block", sweep.subject->block}};
  }
  if (sweep.inference) {
    json["kind"] = Name(sweep.kind);
    json["inference"] = InferenceToJson(*sweep.inference);
  }
  return Dump(json);
}

std::string LevelsToJson(const std::vector<uint32_t>& levels) {
  return levels.empty() ? "" : Dump(Json(levels));
}

std::optional<std::vector<uint32_t>> LevelsFromJson(std::string_view text) {
  if (text.empty()) return std::vector<uint32_t>();
  const absl::StatusOr<Json> json = ParseJson(text);
  return json.ok() ? LevelsFrom(*json) : std::nullopt;
}

std::string LimitsToJson(const std::map<std::string, uint32_t>& limits) {
  Json json = Json::object();
  for (const auto& [hardware, most] : limits) json[hardware] = most;
  return Dump(json);
}

absl::StatusOr<std::map<std::string, uint32_t>> LimitsFromJson(std::string_view text) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  try {
    return json.get<std::map<std::string, uint32_t>>();
  } catch (const Json::exception& error) {
    return Damaged(error.what());
  }
}

absl::StatusOr<sweep::Sweep> SweepFromJson(std::string_view text) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  try {
    return SweepFrom(json);
  } catch (const Json::exception& error) {
    return Damaged(error.what());
  }
}

}  // namespace noisefloor
