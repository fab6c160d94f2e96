#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "fmt/format.h"

#include "coordinator/inputs/json_lists.h"
#include "coordinator/inputs/on_the_way.h"
#include "coordinator/inputs/source_version.h"
#include "coordinator/inputs/study_source.h"
#include "coordinator/inputs/sweep_from_json.h"

namespace noisefloor::inputs {

namespace {

absl::Status ReadFile(const Json& json, const std::string& place, std::optional<InputFile>& file) {
  if (json.is_null()) return absl::OkStatus();
  JsonReader reader(json, place);
  file.emplace();
  file->kind = Text(reader, "kind");
  file->member = Text(reader, "member");
  file->path = Text(reader, "path");
  file->sha256 = Text(reader, "sha256");
  file->size_bytes = static_cast<uint64_t>(reader.Int("size", 0, kMost64));
  return reader.Finish();
}

absl::Status ReadFilesOnTheWay(const Json& json, const std::string& place,
                               std::vector<InputFile>& files) {
  if (!json.is_array()) return InvalidInput(place + ": expected a list of files");
  std::set<std::string> kinds;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", place, i);
    std::optional<InputFile> file;
    NF_RETURN_IF_ERROR(ReadFile(json[i], at, file));
    if (!file || !ReadOnTheWay(file->kind)) {
      return InvalidInput(at +
                          ".kind: expected predictions-1, weights-1, or that of another "
                          "evaluation");
    }
    if (!kinds.insert(file->kind).second) {
      return InvalidInput(at + ".kind: " + file->kind + " stands there twice");
    }
    files.push_back(*std::move(file));
  }
  return absl::OkStatus();
}

absl::Status ReadSet(const Json& json, const std::string& place, report::EvaluationSet& set,
                     StudySource::SetFiles& files) {
  JsonReader reader(json, place);
  set.data_set = Text(reader, "data_set");
  set.identity = Text(reader, "identity");
  const Json& labels = reader.Any("labels");
  const Json& images = reader.Any("images");
  const Json& groups = reader.Any("groups");
  NF_RETURN_IF_ERROR(reader.Finish());
  NF_RETURN_IF_ERROR(ReadFile(labels, place + ".labels", files.labels));
  NF_RETURN_IF_ERROR(ReadFile(images, place + ".images", files.images));
  return ReadFile(groups, place + ".groups", files.groups);
}

absl::Status ReadCell(const Json& json, const std::string& place, size_t sets,
                      report::CellInput& cell) {
  JsonReader reader(json, place);
  cell.index = Count(reader, "index");
  cell.plan = Text(reader, "plan");
  cell.hardware = Text(reader, "hardware");
  cell.stack = Text(reader, "stack");
  cell.block = Count(reader, "block");
  cell.stack_fingerprint = Text(reader, "stack_fingerprint");
  cell.trainer_build = Text(reader, "trainer_build");
  cell.evaluation = static_cast<size_t>(
      reader.Int("evaluation", 0, std::max<int64_t>(static_cast<int64_t>(sets) - 1, 0)));
  const Json& axes = reader.Any("axes");
  const Json& sources = reader.Any("sources");
  const Json& idle = reader.Any("idle");
  NF_RETURN_IF_ERROR(reader.Finish());
  NF_RETURN_IF_ERROR(ForEach(axes, place + ".axes", [&](const Json& axis, const auto& at) {
    JsonReader setting(axis, at);
    cell.axes.push_back({Text(setting, "path"), Text(setting, "value")});
    return setting.Finish();
  }));
  NF_RETURN_IF_ERROR(ForEachSource(
      sources, place + ".sources",
      [&](NoiseSource source, const Json& value, const std::string& at) -> absl::Status {
        NF_ASSIGN_OR_RETURN(cell.sources[source], StateOf(value, at));
        return absl::OkStatus();
      }));
  return ForEachSource(
      idle, place + ".idle",
      [&](NoiseSource source, const Json& why, const std::string& at) -> absl::Status {
        if (!why.is_string()) return InvalidInput(at + ": expected a text");
        cell.idle[source] = why.get<std::string>();
        return absl::OkStatus();
      });
}

absl::Status ReadHashes(const Json& json, const std::string& place, report::Hashes& hashes) {
  JsonReader reader(json, place);
  hashes.init = Text(reader, "init");
  hashes.first_batches = Text(reader, "first_batches");
  hashes.weights = Text(reader, "weights");
  hashes.logits = Text(reader, "logits");
  hashes.deterministic_weights = Text(reader, "deterministic_weights");
  hashes.plan_weights = Text(reader, "plan_weights");
  const Json& at = reader.Any("weights_at");
  NF_RETURN_IF_ERROR(reader.Finish());
  return ReadTexts(at, place + ".weights_at", hashes.weights_at);
}

absl::Status ReadCurve(const Json& json, const std::string& place,
                       std::vector<report::CurvePoint>& curve) {
  JsonReader reader(json, place);
  const Json& steps = reader.Any("steps");
  const Json& epochs = reader.Any("epochs");
  const Json& values = reader.Any("values");
  NF_RETURN_IF_ERROR(reader.Finish());
  std::vector<double> at;
  std::vector<double> measured;
  NF_RETURN_IF_ERROR(ReadNumbers(epochs, place + ".epochs", at));
  NF_RETURN_IF_ERROR(ReadNumbers(values, place + ".values", measured));
  if (!steps.is_array() || steps.size() != at.size() || steps.size() != measured.size()) {
    return InvalidInput(place + ": expected as many steps as epochs and values");
  }
  return ForEach(steps, place + ".steps", [&](const Json& step, const auto& where) -> absl::Status {
    if (!step.is_number_integer()) return InvalidInput(where + ": expected a number of steps");
    const size_t i = curve.size();
    curve.push_back({step.template get<int64_t>(), at[i], measured[i]});
    return absl::OkStatus();
  });
}

absl::Status ReadLanes(const Json& json, const std::string& place,
                       std::map<NoiseSource, Lane>& lanes) {
  return ForEachSource(
      json, place,
      [&](NoiseSource source, const Json& value, const std::string& at) -> absl::Status {
        std::vector<uint32_t> lane;
        NF_RETURN_IF_ERROR(ReadCounts(value, at, lane));
        if (lane.size() != 2) return InvalidInput(at + ": expected a block and a number");
        lanes[source] = {lane[0], lane[1]};
        return absl::OkStatus();
      });
}

absl::Status ReadResult(const Json& curves, const Json& metrics, const Json& duplicates,
                        const std::string& place, report::MemberInput& member) {
  NF_RETURN_IF_ERROR(
      ForEachOf(curves, place + ".curves", [&](const auto& metric, const Json& curve, auto at) {
        return ReadCurve(curve, at, member.curves[metric]);
      }));
  NF_RETURN_IF_ERROR(
      ForEachOf(metrics, place + ".final_metrics",
                [&](const auto& name, const Json& value, const std::string& at) -> absl::Status {
                  const absl::StatusOr<double> number = NumberFromJson(value);
                  if (!number.ok()) return Annotate(number.status(), at);
                  member.final_metrics[name] = *number;
                  return absl::OkStatus();
                }));
  return ForEach(duplicates, place + ".duplicates", [&](const Json& hashes, const auto& at) {
    return ReadHashes(hashes, at, member.duplicates.emplace_back());
  });
}

absl::Status ReadMember(const Json& json, const std::string& place,
                        const std::vector<std::string>& environments, report::MemberInput& member,
                        StudySource::MemberFiles& files) {
  JsonReader reader(json, place);
  member.id = Text(reader, "id");
  member.cell = Count(reader, "cell");
  member.replicate = Count(reader, "replicate");
  const std::optional<MemberState> state = ParseMemberState(Text(reader, "state"));
  if (!state) reader.Fail("state", "a state such as done");
  member.state = state.value_or(MemberState::kWaiting);
  member.attempts = Count(reader, "attempts");
  member.failure_cause = Text(reader, "failure_cause");
  member.failure_message = Text(reader, "failure_message");
  member.seconds = reader.Number("seconds");
  member.unit = Text(reader, "unit");
  member.stack_fingerprint = Text(reader, "stack_fingerprint");
  member.trainer_build = Text(reader, "trainer_build");
  if (const Json& environment = reader.Any("environment"); !environment.is_null()) {
    const int64_t most = static_cast<int64_t>(environments.size()) - 1;
    const int64_t at = reader.Int("environment", 0, std::max<int64_t>(most, 0));
    if (at > most) reader.Fail("environment", "the place of an environment");
    if (at <= most) member.environment_json = environments[static_cast<size_t>(at)];
  }
  const Json& lanes = reader.Any("lanes");
  const Json& hashes = reader.Any("hashes");
  const Json& duplicates = reader.Any("duplicates");
  const Json& curves = reader.Any("curves");
  const Json& metrics = reader.Any("final_metrics");
  const Json& accuracies = reader.Any("per_class_accuracy");
  const Json& predictions = reader.Any("predictions");
  const Json& weights = reader.Any("weights");
  const Json on_the_way =
      reader.Has("on_the_way") ? reader.Any("on_the_way") : Json::array();  // Often there is none.
  NF_RETURN_IF_ERROR(reader.Finish());
  NF_RETURN_IF_ERROR(ReadLanes(lanes, place + ".lanes", member.lanes));
  NF_RETURN_IF_ERROR(ReadHashes(hashes, place + ".hashes", member.hashes));
  NF_RETURN_IF_ERROR(ReadResult(curves, metrics, duplicates, place, member));
  NF_RETURN_IF_ERROR(
      ReadNumbers(accuracies, place + ".per_class_accuracy", member.per_class_accuracy));
  NF_RETURN_IF_ERROR(ReadFile(predictions, place + ".predictions", files.predictions));
  NF_RETURN_IF_ERROR(ReadFile(weights, place + ".weights", files.weights));
  return ReadFilesOnTheWay(on_the_way, place + ".on_the_way", files.on_the_way);
}

absl::Status ReadWarning(const Json& json, const std::string& place, report::Warning& warning) {
  JsonReader reader(json, place);
  warning = {Text(reader, "severity"), Text(reader, "subject"), Text(reader, "text")};
  return reader.Finish();
}

// What names a cell, a member, a place twice or one that is not there.
absl::Status CheckWhole(const report::StudyInput& input) {
  std::set<uint32_t> cells;
  std::set<
      std::tuple<std::vector<report::AxisSetting>, std::string, std::string, std::string, uint32_t>>
      kinds;
  for (const report::CellInput& cell : input.cells) {
    const bool is_new =
        kinds.insert({cell.axes, cell.plan, cell.hardware, cell.stack, cell.block}).second;
    if (cells.insert(cell.index).second && is_new) continue;
    return InvalidInput(fmt::format("cells: {} comes twice", cell.index));
  }
  std::set<std::string> ids;
  std::set<std::pair<uint32_t, uint32_t>> places;
  for (const report::MemberInput& member : input.members) {
    if (!cells.contains(member.cell)) {
      return InvalidInput(fmt::format("{}: there is no cell {}", member.id, member.cell));
    }
    const bool is_new = places.insert({member.cell, member.replicate}).second;
    if (!ids.insert(member.id).second || !is_new) {
      return InvalidInput(member.id + ": it comes twice");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StudySource> Read(const Json& json) {
  StudySource source;
  JsonReader reader(json, "");
  reader.Version("version", kSourceVersion);
  const Json& sweep = reader.Any("sweep");
  const Json& warnings = reader.Any("warnings");
  const Json& sets = reader.Any("evaluations");
  const Json& cells = reader.Any("cells");
  const Json& environments = reader.Any("environments");
  const Json& members = reader.Any("members");
  NF_RETURN_IF_ERROR(reader.Finish());
  NF_RETURN_IF_ERROR(ReadSweep(sweep, source.input.sweep));
  NF_RETURN_IF_ERROR(ForEach(warnings, "warnings", [&](const Json& warning, const auto& at) {
    return ReadWarning(warning, at, source.warnings.emplace_back());
  }));
  source.input.evaluations.clear();
  NF_RETURN_IF_ERROR(ForEach(sets, "evaluations", [&](const Json& set, const auto& at) {
    return ReadSet(set, at, source.input.evaluations.emplace_back(), source.sets.emplace_back());
  }));
  if (source.sets.empty()) return InvalidInput("evaluations: expected one at least");
  NF_RETURN_IF_ERROR(ForEach(cells, "cells", [&](const Json& cell, const auto& at) {
    return ReadCell(cell, at, source.sets.size(), source.input.cells.emplace_back());
  }));
  std::vector<std::string> texts;
  NF_RETURN_IF_ERROR(ReadTexts(environments, "environments", texts));
  NF_RETURN_IF_ERROR(ForEach(members, "members", [&](const Json& member, const auto& at) {
    return ReadMember(member, at, texts, source.input.members.emplace_back(),
                      source.members.emplace_back());
  }));
  NF_RETURN_IF_ERROR(CheckWhole(source.input));
  return source;
}

}  // namespace

absl::StatusOr<StudySource> SourceFromJson(std::string_view text) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  return Read(json);
}

}  // namespace noisefloor::inputs
