#include "coordinator/cli/member_json.h"

#include <map>

#include "common/base/ids.h"
#include "common/rpc/kinds.h"

namespace noisefloor::cli {

namespace {

// A text that holds a JSON object, as that object; what is no JSON stays text.
Json Parsed(const std::string& text) {
  if (text.empty()) return Json::object();
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

Json Sorted(const google::protobuf::Map<std::string, std::string>& map) {
  return std::map<std::string, std::string>(map.begin(), map.end());
}

Json Metrics(const v1::Outcome& outcome) {
  Json metrics = Json::object();
  const std::map<std::string, double> sorted(outcome.metrics().begin(), outcome.metrics().end());
  for (const auto& [name, value] : sorted) metrics[name] = JsonNumber(value);
  return metrics;
}

Json Artifacts(const v1::Outcome& outcome) {
  Json artifacts = Json::array();
  for (const v1::Artifact& artifact : outcome.artifacts()) {
    artifacts.push_back({{"kind", artifact.kind()},
                         {"path", artifact.path()},
                         {"sha256", artifact.sha256()},
                         {"size", artifact.size()}});
    if (artifact.collected_unix_seconds() > 0) {
      artifacts.back()["collected"] = TimeText(artifact.collected_unix_seconds());
    }
  }
  return artifacts;
}

// Where a member stopped that did not come to its end is not kept.
Json Step(const v1::Member& member) {
  const bool broke_off = member.state() == v1::MEMBER_STATE_DIVERGED ||
                         member.state() == v1::MEMBER_STATE_FAILED ||
                         member.state() == v1::MEMBER_STATE_CANCELLED;
  return broke_off ? Json() : Json(member.step());
}

void AddSources(const v1::Member& member, Json& json) {
  json["lanes"] = Json::object();
  json["sources"] = Json::object();
  json["seeds"] = Json::object();
  const std::map<std::string, v1::SourceLane> sorted(member.sources().begin(),
                                                     member.sources().end());
  for (const auto& [source, lane] : sorted) {
    json["lanes"][source] = lane.lane();
    json["sources"][source] = Name(lane.state());
    json["seeds"][source] = std::to_string(lane.seed());
  }
}

void AddOutcome(const v1::Outcome& outcome, Json& json) {
  json["cause"] = outcome.cause();
  json["message"] = outcome.message();
  json["hashes"] = Sorted(outcome.hashes());
  json["metrics"] = Metrics(outcome);
  Json accuracies = Json::array();
  for (const double accuracy : outcome.per_class_accuracy()) {
    accuracies.push_back(JsonNumber(accuracy));
  }
  json["per_class_accuracy"] = accuracies;
  json["train_seconds"] = JsonNumber(outcome.train_seconds());
  json["data_identity"] = outcome.data_identity();
  json["environment"] = Parsed(outcome.environment());
  json["artifacts"] = Artifacts(outcome);
}

}  // namespace

std::string_view Name(v1::SourceState state) {
  const auto known = SourceStateFrom(state);
  return known ? noisefloor::Name(*known) : "unspecified";
}

Json MemberJson(const v1::Member& member) {
  Json json = {{"id", member.id()},
               {"sweep", noisefloor::ToText(SweepId{member.sweep()})},
               {"cell", member.cell()},
               {"replicate", member.replicate()},
               {"block", member.block()},
               {"hardware", member.hardware()},
               {"stack", member.stack()},
               {"plan", member.plan()},
               {"state", std::string(cli::Name(member.state()))},
               {"attempt", member.attempt()},
               {"worker", member.worker()},
               {"step", Step(member)},
               {"step_count", member.step_count()}};
  if (!member.subject().empty()) {
    json["subject"] = member.subject();
    json["weights_file"] = member.weights_file();
  }
  json["axes"] = Json::object();
  for (const v1::Setting& setting : member.axes()) {
    json["axes"][setting.path()] = ToText(setting.value());
  }
  AddSources(member, json);
  AddOutcome(member.outcome(), json);
  json["specification"] = Parsed(member.specification());
  json["specification_sha256"] = member.specification_sha256();
  return json;
}

Json EventJson(const v1::Event& event) {
  return {{"number", std::to_string(event.number())},
          {"unix_micros", std::to_string(event.unix_micros())},
          {"kind", v1::EventKind_Name(event.kind())},
          {"member", event.member()},
          {"attempt", event.attempt()},
          {"lease", std::to_string(event.lease())},
          {"worker", event.worker()},
          {"caller", event.caller()},
          {"text", event.text()}};
}

MembersJson::MembersJson(std::ostream& out) : out_(out) {
  out_ << "{\n  \"version\": 1,\n  \"members\": [";
}

void MembersJson::Add(const v1::Member& member) {
  out_ << (std::exchange(empty_, false) ? "\n    " : ",\n    ");
  for (const char c : MemberJson(member).dump(2, ' ', false, Json::error_handler_t::replace)) {
    out_.put(c);
    if (c == '\n') out_ << "    ";  // Within texts it is escaped.
  }
}

void MembersJson::Finish() { out_ << (empty_ ? "]\n}\n" : "\n  ]\n}\n"); }

}  // namespace noisefloor::cli
