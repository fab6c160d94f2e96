#include <map>
#include <utility>

#include "nlohmann/json.hpp"

#include "coordinator/inputs/source_version.h"
#include "coordinator/inputs/study_source.h"
#include "coordinator/report/sweep_json.h"

namespace noisefloor::inputs {

namespace {

using Ordered = nlohmann::ordered_json;
using report::Number;

Ordered FileJson(const std::optional<InputFile>& file) {
  if (!file) return nullptr;
  return {{"kind", file->kind},
          {"member", file->member},
          {"path", file->path},
          {"sha256", file->sha256},
          {"size", file->size_bytes}};
}

Ordered SetJson(const report::EvaluationSet& set, const StudySource::SetFiles& files) {
  return {{"data_set", set.data_set},
          {"identity", set.identity},
          {"labels", FileJson(files.labels)},
          {"images", FileJson(files.images)},
          {"groups", FileJson(files.groups)}};
}

Ordered CellJson(const report::CellInput& cell) {
  Ordered axes = Ordered::array();
  for (const report::AxisSetting& axis : cell.axes) {
    axes.push_back({{"path", axis.path}, {"value", axis.value}});
  }
  Ordered sources = Ordered::object();
  for (const auto& [source, state] : cell.sources) sources[std::string(Name(source))] = Name(state);
  Ordered idle = Ordered::object();
  for (const auto& [source, why] : cell.idle) idle[std::string(Name(source))] = why;
  return {{"index", cell.index},
          {"axes", std::move(axes)},
          {"plan", cell.plan},
          {"sources", std::move(sources)},
          {"hardware", cell.hardware},
          {"stack", cell.stack},
          {"block", cell.block},
          {"stack_fingerprint", cell.stack_fingerprint},
          {"trainer_build", cell.trainer_build},
          {"evaluation", cell.evaluation},
          {"idle", std::move(idle)}};
}

Ordered HashesJson(const report::Hashes& hashes) {
  return {{"init", hashes.init},
          {"first_batches", hashes.first_batches},
          {"weights", hashes.weights},
          {"logits", hashes.logits},
          {"weights_at", hashes.weights_at},
          {"deterministic_weights", hashes.deterministic_weights},
          {"plan_weights", hashes.plan_weights}};
}

Ordered CurveJson(const std::vector<report::CurvePoint>& points) {
  Ordered steps = Ordered::array();
  Ordered epochs = Ordered::array();
  Ordered values = Ordered::array();
  for (const report::CurvePoint& point : points) {
    steps.push_back(point.step);
    epochs.push_back(Number(point.epoch));
    values.push_back(Number(point.value));
  }
  return {
      {"steps", std::move(steps)}, {"epochs", std::move(epochs)}, {"values", std::move(values)}};
}

// Texts that many members share, each once.
class Texts {
 public:
  Ordered PlaceOf(const std::string& text) {
    if (text.empty()) return nullptr;
    const auto [place, is_new] = places_.emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return place->second;
  }
  Ordered Take() { return std::move(list_); }

 private:
  std::map<std::string, size_t> places_;
  Ordered list_ = Ordered::array();
};

Ordered MemberJson(const report::MemberInput& member, const StudySource::MemberFiles& files,
                   Texts& environments) {
  Ordered lanes = Ordered::object();
  for (const auto& [source, lane] : member.lanes) {
    lanes[std::string(Name(source))] = {lane.block, lane.number};
  }
  Ordered duplicates = Ordered::array();
  for (const report::Hashes& hashes : member.duplicates) duplicates.push_back(HashesJson(hashes));
  Ordered curves = Ordered::object();
  for (const auto& [metric, points] : member.curves) curves[metric] = CurveJson(points);
  Ordered metrics = Ordered::object();
  for (const auto& [name, value] : member.final_metrics) metrics[name] = Number(value);
  Ordered json = {{"id", member.id},
                  {"cell", member.cell},
                  {"replicate", member.replicate},
                  {"state", Name(member.state)},
                  {"attempts", member.attempts},
                  {"lanes", std::move(lanes)},
                  {"hashes", HashesJson(member.hashes)},
                  {"duplicates", std::move(duplicates)},
                  {"curves", std::move(curves)},
                  {"final_metrics", std::move(metrics)},
                  {"per_class_accuracy", report::Numbers(member.per_class_accuracy)},
                  {"failure_cause", member.failure_cause},
                  {"failure_message", member.failure_message},
                  {"seconds", Number(member.seconds)},
                  {"unit", member.unit},
                  {"stack_fingerprint", member.stack_fingerprint},
                  {"trainer_build", member.trainer_build},
                  {"environment", environments.PlaceOf(member.environment_json)},
                  {"predictions", FileJson(files.predictions)},
                  {"weights", FileJson(files.weights)}};
  if (files.on_the_way.empty()) return json;  // Older programs refuse the field.
  for (const InputFile& file : files.on_the_way) json["on_the_way"].push_back(FileJson(file));
  return json;
}

}  // namespace

std::string SourceToJson(const StudySource& source) {
  Ordered warnings = Ordered::array();
  for (const report::Warning& warning : source.warnings) {
    warnings.push_back(
        {{"severity", warning.severity}, {"subject", warning.subject}, {"text", warning.text}});
  }
  Ordered sets = Ordered::array();
  for (size_t i = 0; i < source.input.evaluations.size(); ++i) {
    sets.push_back(SetJson(source.input.evaluations[i], source.sets.at(i)));
  }
  Ordered cells = Ordered::array();
  for (const report::CellInput& cell : source.input.cells) cells.push_back(CellJson(cell));
  Texts environments;
  Ordered members = Ordered::array();
  for (size_t m = 0; m < source.input.members.size(); ++m) {
    members.push_back(MemberJson(source.input.members[m], source.members.at(m), environments));
  }
  const Ordered whole = {
      {"version", kSourceVersion},       {"sweep", report::SweepToJson(source.input.sweep)},
      {"warnings", std::move(warnings)}, {"evaluations", std::move(sets)},
      {"cells", std::move(cells)},       {"environments", environments.Take()},
      {"members", std::move(members)}};
  return whole.dump(-1, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

}  // namespace noisefloor::inputs
