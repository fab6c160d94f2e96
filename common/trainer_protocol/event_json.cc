#include <array>
#include <set>

#include "common/base/sha256_text.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"

namespace noisefloor {

namespace {

constexpr size_t kMaxName = 200;
constexpr size_t kMaxRecords = 100000;
constexpr size_t kMaxMetrics = 1000;  // Different ones in one event.
constexpr size_t kMaxEnvironment = 1 << 20;
constexpr int64_t kMaxCount = int64_t{1} << 53;

struct Cause {
  CauseClass cause;
  std::string_view name;
  int exit_code;
};
constexpr std::array<Cause, 8> kCauses = {{
    {CauseClass::kNone, "none", 0},
    {CauseClass::kBadSpecification, "bad_specification", 10},
    {CauseClass::kBadData, "bad_data", 11},
    {CauseClass::kOutOfMemory, "out_of_memory", 12},
    {CauseClass::kLostDevice, "lost_device", 13},
    {CauseClass::kInterrupted, "interrupted", 14},
    {CauseClass::kBug, "bug", 15},
    {CauseClass::kLostWorker, "lost_worker", 16},
}};

using Kind = Outcome::Kind;
constexpr std::array<std::pair<Kind, std::string_view>, 3> kKinds = {
    {{Kind::kDone, "done"}, {Kind::kDiverged, "diverged"}, {Kind::kFailed, "failed"}}};

Json Environment(const std::string& text) {
  const auto parsed = ParseJson(text.empty() ? "{}" : text);
  return parsed.ok() ? *parsed : Json::object();
}

struct Writer {
  Json operator()(const HelloEvent& e) const {
    Json hello = {{"event", "hello"},
                  {"protocol", e.protocol},
                  {"stack", e.stack},
                  {"build", e.build},
                  {"environment", Environment(e.environment)},
                  {"data_identity", e.data_identity}};
    if (e.resumes) hello["resumes"] = true;
    return hello;
  }
  Json operator()(const RecordsEvent& e) const {
    Json records = Json::array();
    for (const Record& r : e.records) {
      records.push_back({r.step, NumberToJson(r.epoch), r.metric, NumberToJson(r.value)});
    }
    return {{"event", "records"}, {"sequence", e.sequence}, {"records", std::move(records)}};
  }
  Json operator()(const ProgressEvent& e) const {
    return {{"event", "progress"}, {"step", e.step}, {"step_count", e.step_count}};
  }
  Json operator()(const Artifact& e) const {
    return {{"event", "artifact"},
            {"kind", e.kind},
            {"path", e.path},
            {"sha256", e.sha256},
            {"size", e.size}};
  }
  Json operator()(const Outcome& e) const {
    Json metrics = Json::object();
    for (const auto& [name, value] : e.metrics) metrics[name] = NumberToJson(value);
    Json per_class = Json::array();
    for (const double value : e.per_class_accuracy) per_class.push_back(NumberToJson(value));
    return {{"event", Name(e.kind)},
            {"cause", Name(e.cause)},
            {"message", e.message},
            {"hashes", e.hashes},
            {"metrics", std::move(metrics)},
            {"per_class_accuracy", std::move(per_class)},
            {"environment", Environment(e.environment)},
            {"train_seconds", NumberToJson(e.train_seconds)}};
  }
};

std::string ReadEnvironment(JsonReader& reader) {
  const Json& environment = reader.Any("environment");
  if (!environment.is_object()) reader.Fail("environment", "an object");
  std::string text = environment.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxEnvironment) reader.Fail("environment", "at most 1 MiB of JSON");
  return text;
}

absl::StatusOr<TrainerEvent> ReadHello(JsonReader& reader) {
  HelloEvent event;
  event.protocol = static_cast<int>(reader.Int("protocol", 1, 1000000));
  event.stack = reader.Text("stack", kMaxName);
  event.build = reader.Text("build", kMaxName);
  event.data_identity = reader.Text("data_identity", 64);
  event.environment = ReadEnvironment(reader);
  if (reader.Has("resumes")) event.resumes = reader.Bool("resumes");
  NF_RETURN_IF_ERROR(reader.Finish());
  return TrainerEvent(std::move(event));
}

absl::StatusOr<Record> ReadRecord(const Json& json, size_t place) {
  const std::string at = "records[" + std::to_string(place) + "]";
  const bool shape =
      json.is_array() && json.size() == 4 && json[0].is_number_integer() && json[2].is_string();
  if (!shape) return InvalidInput(at + ": expected [step, epoch, metric, value]");
  const auto epoch = NumberFromJson(json[1]);
  const auto value = NumberFromJson(json[3]);
  if (!epoch.ok()) return Annotate(epoch.status(), at + "[1]");
  if (!value.ok()) return Annotate(value.status(), at + "[3]");
  const int64_t step = json[0].get<int64_t>();
  if (step < 0 || step > kMaxCount) return InvalidInput(at + "[0]: expected a step from 0 on");
  const auto& metric = json[2].get_ref<const std::string&>();
  if (metric.empty() || metric.size() > kMaxName) {
    return InvalidInput(at + "[2]: expected the name of a metric, 1 to 200 bytes");
  }
  return Record{step, *epoch, metric, *value};
}

absl::StatusOr<std::vector<Record>> ReadRecordList(const Json& list) {
  std::vector<Record> records;
  std::set<std::string_view> metrics;
  for (size_t i = 0; i < list.size(); ++i) {
    NF_ASSIGN_OR_RETURN(Record record, ReadRecord(list[i], i));
    metrics.insert(list[i][2].get_ref<const std::string&>());
    records.push_back(std::move(record));
  }
  if (metrics.size() > kMaxMetrics) {
    return InvalidInput("records: expected at most 1000 different metrics, got " +
                        std::to_string(metrics.size()));
  }
  return records;
}

absl::StatusOr<TrainerEvent> ReadRecords(JsonReader& reader) {
  RecordsEvent event;
  event.sequence = static_cast<uint64_t>(reader.Int("sequence", 1, kMaxCount));
  const Json& records = reader.Any("records");
  if (!records.is_array() || records.empty() || records.size() > kMaxRecords) {
    reader.Fail("records", "a list of 1 to 100000 records");
  }
  NF_RETURN_IF_ERROR(reader.Finish());
  NF_ASSIGN_OR_RETURN(event.records, ReadRecordList(records));
  return TrainerEvent(std::move(event));
}

absl::StatusOr<TrainerEvent> ReadProgress(JsonReader& reader) {
  ProgressEvent event;
  event.step = reader.Int("step", 0, kMaxCount);
  event.step_count = reader.Int("step_count", 0, kMaxCount);
  NF_RETURN_IF_ERROR(reader.Finish());
  return TrainerEvent(event);
}

absl::StatusOr<TrainerEvent> ReadArtifact(JsonReader& reader) {
  Artifact event;
  event.kind = reader.Text("kind", kMaxName);
  event.path = reader.Text("path", kMaxName);
  event.sha256 = reader.Text("sha256", 64);
  event.size = static_cast<uint64_t>(reader.Int("size", 0, kMaxCount));
  if (!IsSha256(event.sha256)) reader.Fail("sha256", "64 lower-case hexadecimal digits");
  const bool inside = !event.path.empty() && event.path[0] != '/' &&
                      event.path.find("..") == std::string::npos &&
                      event.path.find('\0') == std::string::npos;
  if (!inside) reader.Fail("path", "a path inside the work directory");
  NF_RETURN_IF_ERROR(reader.Finish());
  return TrainerEvent(std::move(event));
}

void ReadHashes(JsonReader& reader, Outcome& event) {
  const Json& hashes = reader.Any("hashes");
  if (!hashes.is_object() || hashes.size() > kMaxOutcomeEntries) {
    return reader.Fail("hashes", "an object of at most 10000 hashes");
  }
  for (const auto& [name, value] : hashes.items()) {
    const bool valid = value.is_string() && name.size() <= kMaxName &&
                       IsSha256(value.get_ref<const std::string&>());
    if (!valid) return reader.Fail("hashes." + name, "64 lower-case hexadecimal digits");
    event.hashes[name] = value.get<std::string>();
  }
}

void ReadMetrics(JsonReader& reader, Outcome& event) {
  const Json& metrics = reader.Any("metrics");
  if (!metrics.is_object() || metrics.size() > kMaxOutcomeEntries) {
    return reader.Fail("metrics", "an object of at most 10000 numbers");
  }
  for (const auto& [name, value] : metrics.items()) {
    const auto number = NumberFromJson(value);
    if (!number.ok() || name.size() > kMaxName) return reader.Fail("metrics." + name, "a number");
    event.metrics[name] = *number;
  }
  const Json& per_class = reader.Any("per_class_accuracy");
  if (!per_class.is_array() || per_class.size() > kMaxOutcomeEntries) {
    return reader.Fail("per_class_accuracy", "a list of at most 10000 numbers");
  }
  for (const Json& value : per_class) {
    const auto number = NumberFromJson(value);
    if (!number.ok()) return reader.Fail("per_class_accuracy", "numbers");
    event.per_class_accuracy.push_back(*number);
  }
}

absl::StatusOr<TrainerEvent> ReadOutcome(JsonReader& reader, Kind kind) {
  Outcome event;
  event.kind = kind;
  const auto cause = ParseCauseClass(reader.Text("cause", kMaxName));
  event.message = reader.Text("message", 10000);
  event.train_seconds = reader.Number("train_seconds");
  event.environment = ReadEnvironment(reader);
  ReadHashes(reader, event);
  ReadMetrics(reader, event);
  if (!cause) reader.Fail("cause", "a known cause class");
  event.cause = cause.value_or(CauseClass::kBug);
  if ((kind == Kind::kFailed) == (event.cause == CauseClass::kNone)) {
    reader.Fail("cause", "a cause with failed, none otherwise");
  }
  // Only a coordinator can know that; it refuses to hear it.
  if (event.cause == CauseClass::kLostWorker)
    reader.Fail("cause", "another cause than lost_worker");
  NF_RETURN_IF_ERROR(reader.Finish());
  return TrainerEvent(std::move(event));
}

}  // namespace

std::string_view Name(Outcome::Kind kind) { return kKinds[static_cast<size_t>(kind)].second; }

std::optional<Outcome::Kind> ParseOutcomeKind(std::string_view name) {
  for (const auto& [kind, known] : kKinds) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

std::string_view Name(CauseClass cause) { return kCauses[static_cast<size_t>(cause)].name; }

std::optional<CauseClass> ParseCauseClass(std::string_view name) {
  for (const Cause& known : kCauses) {
    if (known.name == name) return known.cause;
  }
  return std::nullopt;
}

int ExitCodeOf(CauseClass cause) { return kCauses[static_cast<size_t>(cause)].exit_code; }

CauseClass CauseOfExitCode(int exit_code) {
  for (const Cause& known : kCauses) {
    if (known.exit_code == exit_code) return known.cause;
  }
  return CauseClass::kBug;
}

std::string NumberToText(double value) {
  const Json json = NumberToJson(value);
  return json.is_string() ? json.get<std::string>() : json.dump();
}

std::string EventToJson(const TrainerEvent& event) {
  return std::visit(Writer{}, event).dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<TrainerEvent> EventFromJson(std::string_view line) {
  if (line.size() > kMaxEventBytes) {
    return InvalidInput("event of " + std::to_string(line.size()) + " bytes: at most 4194304");
  }
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(line));
  JsonReader reader(json, "");
  const std::string event = reader.Text("event", kMaxName);
  if (event == "hello") return ReadHello(reader);
  if (event == "records") return ReadRecords(reader);
  if (event == "progress") return ReadProgress(reader);
  if (event == "artifact") return ReadArtifact(reader);
  for (const auto& [kind, name] : kKinds) {
    if (event == name) return ReadOutcome(reader, kind);
  }
  reader.Fail("event", "hello, records, progress, artifact, done, diverged or failed");
  return reader.Finish();
}

}  // namespace noisefloor
