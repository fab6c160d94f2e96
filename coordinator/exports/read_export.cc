#include "coordinator/exports/read_export.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/datasets.h"
#include "common/trainer_protocol/idle_sources.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/exports/layout.h"

namespace noisefloor::exports {

namespace {

constexpr uint64_t kMostJsonBytes = uint64_t{4} << 30;
constexpr int32_t kMostClasses = std::numeric_limits<int16_t>::max();
constexpr uint32_t kMost32 = std::numeric_limits<uint32_t>::max();

// A part of a file, with its place for messages: "members.json: members[3].plan".
class Part {
 public:
  Part(const Json& value, std::string place) : value_(value), place_(std::move(place)) {}

  const Json& value() const { return value_; }
  const std::string& place() const { return place_; }

  absl::Status Wrong(std::string_view expected) const {
    return InvalidInput(fmt::format("{}: expected {}", place_, expected));
  }
  absl::StatusOr<Part> At(const char* key) const {
    const std::string place = fmt::format("{}.{}", place_, key);
    if (!value_.is_object() || !value_.contains(key)) {
      return InvalidInput(fmt::format("{}: it is missing", place));
    }
    return Part(value_[key], place);
  }
  absl::StatusOr<std::string> Text(const char* key) const {
    NF_ASSIGN_OR_RETURN(const Part part, At(key));
    if (!part.value_.is_string()) return part.Wrong("a text");
    return part.value_.get<std::string>();
  }
  absl::StatusOr<uint32_t> Count(const char* key) const {
    NF_ASSIGN_OR_RETURN(const Part part, At(key));
    if (!part.value_.is_number_unsigned() || part.value_.get<uint64_t>() > kMost32) {
      return part.Wrong("a count");
    }
    return part.value_.get<uint32_t>();
  }
  absl::StatusOr<bool> Bool(const char* key) const {
    NF_ASSIGN_OR_RETURN(const Part part, At(key));
    if (!part.value_.is_boolean()) return part.Wrong("true or false");
    return part.value_.get<bool>();
  }
  absl::StatusOr<double> Number() const {
    const absl::StatusOr<double> number = NumberFromJson(value_);
    return number.ok() ? number : Wrong("a number");
  }
  // Each value of a list or an object.
  template <typename Visit>
  absl::Status ForEach(const char* key, const Visit& visit) const {
    NF_ASSIGN_OR_RETURN(const Part part, At(key));
    if (part.value_.is_array()) {
      for (size_t i = 0; i < part.value_.size(); ++i) {
        NF_RETURN_IF_ERROR(visit("", Part(part.value_[i], fmt::format("{}[{}]", part.place_, i))));
      }
      return absl::OkStatus();
    }
    if (!part.value_.is_object()) return part.Wrong("a list or an object");
    for (const auto& [name, value] : part.value_.items()) {
      NF_RETURN_IF_ERROR(visit(name, Part(value, fmt::format("{}.{}", part.place_, name))));
    }
    return absl::OkStatus();
  }

 private:
  const Json& value_;
  const std::string place_;
};

absl::StatusOr<Json> ReadJson(const std::string& folder, std::string_view name) {
  const std::string path = fmt::format("{}/{}", folder, name);
  absl::StatusOr<std::string> text = ReadFile(path, kMostJsonBytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<Json> json = ParseJson(*text);
  return json.ok() ? std::move(json) : absl::StatusOr<Json>(Annotate(json.status(), path));
}

absl::Status ReadSweep(const Part& study, report::SweepInput& sweep) {
  NF_ASSIGN_OR_RETURN(const Part part, study.At("sweep"));
  NF_ASSIGN_OR_RETURN(sweep.id, part.Text("id"));
  NF_ASSIGN_OR_RETURN(sweep.name, part.Text("name"));
  NF_ASSIGN_OR_RETURN(const std::string seed, part.Text("seed"));
  const char* const end = seed.data() + seed.size();
  if (const auto [rest, error] = std::from_chars(seed.data(), end, sweep.seed);
      error != std::errc() || rest != end) {
    return InvalidInput(part.place() + ".seed: expected a number as text");
  }
  NF_ASSIGN_OR_RETURN(const Part reference, part.At("reference_accuracy"));
  if (!reference.value().is_null()) {
    NF_ASSIGN_OR_RETURN(sweep.reference_accuracy, reference.Number());
  }
  return part.ForEach("settings", [&](const std::string&, const Part& setting) -> absl::Status {
    report::SettingInput& input = sweep.settings.emplace_back();
    NF_ASSIGN_OR_RETURN(input.path, setting.Text("path"));
    NF_ASSIGN_OR_RETURN(input.value, setting.Text("value"));
    NF_ASSIGN_OR_RETURN(input.changed, setting.Bool("changed"));
    return absl::OkStatus();
  });
}

absl::Status ReadSources(const Part& part, uint32_t block, report::CellInput& cell,
                         report::MemberInput& member) {
  NF_RETURN_IF_ERROR(
      part.ForEach("sources", [&](const std::string& name, const Part& state) -> absl::Status {
        const std::optional<NoiseSource> source = ParseNoiseSource(name);
        if (!source) return state.Wrong("a known source of noise");
        const std::optional<SourceState> known =
            state.value().is_string() ? ParseSourceState(state.value().get<std::string>())
                                      : std::nullopt;
        if (!known) return state.Wrong("off, fixed or free");
        cell.sources[*source] = *known;
        return absl::OkStatus();
      }));
  return part.ForEach("lanes", [&](const std::string& name, const Part& lane) -> absl::Status {
    const std::optional<NoiseSource> source = ParseNoiseSource(name);
    if (!source || !lane.value().is_number_unsigned()) return lane.Wrong("a lane of a source");
    const auto state = cell.sources.find(*source);
    if (state == cell.sources.end() || state->second == SourceState::kOff) return absl::OkStatus();
    member.lanes[*source] = {block, lane.value().get<uint32_t>()};
    return absl::OkStatus();
  });
}

absl::Status ReadResult(const Part& part, report::MemberInput& member) {
  NF_RETURN_IF_ERROR(
      part.ForEach("hashes", [&](const std::string& name, const Part& hash) -> absl::Status {
        if (!hash.value().is_string()) return hash.Wrong("a text");
        const auto text = hash.value().get<std::string>();
        if (name == "init") member.hashes.init = text;
        if (name == "first_batches") member.hashes.first_batches = text;
        if (name == "weights") member.hashes.weights = text;
        if (name == "logits") member.hashes.logits = text;
        return absl::OkStatus();
      }));
  return part.ForEach("metrics", [&](const std::string& name, const Part& metric) -> absl::Status {
    NF_ASSIGN_OR_RETURN(member.final_metrics[name], metric.Number());
    return absl::OkStatus();
  });
}

class Reader {
 public:
  explicit Reader(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<ExportedStudy> Read() {
    NF_ASSIGN_OR_RETURN(const Json study, ReadJson(folder_, kStudyFile));
    NF_RETURN_IF_ERROR(ReadSweep(Part(study, std::string(kStudyFile)), out_.input.sweep));
    NF_ASSIGN_OR_RETURN(const Json members, ReadJson(folder_, kMembersFile));
    out_.input.evaluations.clear();
    const Part root(members, std::string(kMembersFile));
    NF_RETURN_IF_ERROR(root.ForEach(
        "members", [&](const std::string&, const Part& part) { return ReadMember(part); }));
    if (out_.input.evaluations.empty()) out_.input.evaluations.emplace_back();
    return std::move(out_);
  }

 private:
  absl::Status ReadMember(const Part& part) {
    report::MemberInput member;
    NF_ASSIGN_OR_RETURN(member.id, part.Text("id"));
    // It becomes part of a path.
    if (!ParseMemberId(member.id)) return part.Wrong("an id such as s1c0r0");
    if (!ids_.insert(member.id).second) return part.Wrong("each member once");
    NF_ASSIGN_OR_RETURN(member.cell, part.Count("cell"));
    NF_ASSIGN_OR_RETURN(member.replicate, part.Count("replicate"));
    NF_ASSIGN_OR_RETURN(const std::string state, part.Text("state"));
    const std::optional<MemberState> known = ParseMemberState(state);
    if (!known) return part.Wrong("a state such as done");
    member.state = *known;
    report::CellInput cell;
    cell.index = member.cell;
    NF_ASSIGN_OR_RETURN(cell.plan, part.Text("plan"));
    NF_ASSIGN_OR_RETURN(cell.hardware, part.Text("hardware"));
    NF_ASSIGN_OR_RETURN(cell.stack, part.Text("stack"));
    NF_ASSIGN_OR_RETURN(cell.block, part.Count("block"));
    NF_RETURN_IF_ERROR(
        part.ForEach("axes", [&](const std::string& path, const Part& value) -> absl::Status {
          if (!value.value().is_string()) return value.Wrong("a text");
          cell.axes.push_back({path, value.value().get<std::string>()});
          return absl::OkStatus();
        }));
    NF_RETURN_IF_ERROR(ReadSources(part, cell.block, cell, member));
    NF_RETURN_IF_ERROR(ReadResult(part, member));
    NF_ASSIGN_OR_RETURN(cell.evaluation, TestSetOf(part, member));
    FindIdle(part, cell);
    if (member.state == MemberState::kDone) NF_RETURN_IF_ERROR(ReadPredictions(part, cell, member));
    if (cells_.insert(cell.index).second) out_.input.cells.push_back(std::move(cell));
    out_.input.members.push_back(std::move(member));
    return absl::OkStatus();
  }

  // As far as we know what its settings mean: another trainer's may be unknown.
  static void FindIdle(const Part& part, report::CellInput& cell) {
    const absl::StatusOr<Part> text = part.At("specification");
    if (!text.ok()) return;
    const absl::StatusOr<Specification> specification =
        SpecificationFromJson(text->value().dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!specification.ok()) return;
    for (const auto& [source, state] : cell.sources) {
      if (const auto why = IdleReason(*specification, source)) cell.idle.emplace(source, *why);
    }
  }

  absl::StatusOr<size_t> TestSetOf(const Part& part, const report::MemberInput& member) {
    NF_ASSIGN_OR_RETURN(const Part specification, part.At("specification"));
    NF_ASSIGN_OR_RETURN(const std::string identity, part.Text("data_identity"));
    const std::string labels = PlaceOf("evaluation_labels", member.id, specification.value());
    const auto [place, is_new] = sets_.emplace(labels, out_.input.evaluations.size());
    if (is_new) NF_RETURN_IF_ERROR(ReadTestSet(specification, labels));
    NF_ASSIGN_OR_RETURN(const std::string hash, Listed(part, "evaluation_labels"));
    if (!hash.empty()) NF_RETURN_IF_ERROR(CheckBytes(hash, folder_ + "/" + labels));
    std::string& known = out_.input.evaluations[place->second].identity;
    // A member that failed may have been refused for other data.
    if (known.empty() && member.state == MemberState::kDone) known = identity;
    if (member.state != MemberState::kDone || identity.empty() || known == identity) {
      return place->second;
    }
    return InvalidInput(
        fmt::format("{}: members were tested on other data of the same name", labels));
  }

  absl::Status ReadTestSet(const Part& specification, const std::string& labels) {
    report::EvaluationSet& set = out_.input.evaluations.emplace_back();
    if (const absl::StatusOr<Part> data = specification.At("data"); data.ok()) {
      set.data_set = data->Text("name").value_or("");
    }
    if (const KnownDataset* known = FindDataset(set.data_set); known != nullptr) {
      set.classes = static_cast<int32_t>(known->classes);
    }
    const std::string path = folder_ + "/" + labels;
    if (!PathExists(path)) return absl::OkStatus();
    NF_ASSIGN_OR_RETURN(NpyView array, NpyView::Open(path));
    const Shape& shape = array.shape();
    if (shape.empty() || shape.size() > 2 || array.type() != ElementType::kInt32) {
      return InvalidInput(path + ": expected int32 [examples] or [examples, attributes]");
    }
    NF_ASSIGN_OR_RETURN(const std::span<const int32_t> values, array.Values<int32_t>());
    set.labels.assign(values.begin(), values.end());
    if (shape.size() == 2) {
      set.attributes = shape[1];
      set.classes = 2;
    }
    const auto most = std::ranges::max_element(set.labels);
    if (set.classes == 0 && most != set.labels.end()) {
      set.classes = std::min(*most, kMostClasses - 1) + 1;
    }
    const auto wrong = std::ranges::find_if(
        set.labels, [&](int32_t label) { return label < 0 || label >= set.classes; });
    if (wrong == set.labels.end()) return absl::OkStatus();
    return InvalidInput(fmt::format("{}: the class {} of example {} is not below {}", path, *wrong,
                                    wrong - set.labels.begin(), set.classes));
  }

  absl::Status ReadPredictions(const Part& part, const report::CellInput& cell,
                               report::MemberInput& member) {
    const std::string path = fmt::format("{}/predictions/{}.npy", folder_, member.id);
    NF_ASSIGN_OR_RETURN(const std::string hash, Listed(part, "predictions"));
    if (hash.empty()) return absl::OkStatus();
    NF_RETURN_IF_ERROR(CheckBytes(hash, path));
    NF_ASSIGN_OR_RETURN(NpyView array, NpyView::Open(path));
    report::EvaluationSet& set = out_.input.evaluations[cell.evaluation];
    const Shape& shape = array.shape();
    if (shape.size() != 2 || array.type() != ElementType::kFloat32) {
      return InvalidInput(path + ": expected float32 [examples, classes]");
    }
    NF_ASSIGN_OR_RETURN(const std::span<const float> logits, array.Values<float>());
    if (set.attributes == 0 && shape[1] > set.classes) {
      set.classes = static_cast<int32_t>(shape[1]);  // The last classes have no example.
    }
    const int64_t columns = set.attributes > 0 ? set.attributes : set.classes;
    const auto labels = static_cast<int64_t>(set.labels.size());
    const int64_t decisions = set.attributes > 0 ? shape[0] * shape[1] : shape[0];
    if (shape[1] != columns || (labels != 0 && labels != decisions)) {
      return InvalidInput(fmt::format("{}: [{}, {}] are not the logits of {} labels", path,
                                      shape[0], shape[1], labels));
    }
    member.predictions = logits;
    if (set.attributes > 0) {
      std::vector<float>& both = out_.decisions.emplace_back();
      for (const float logit : logits) both.insert(both.end(), {0, logit});
      member.predictions = both;
    }
    out_.arrays.push_back(std::move(array));
    return absl::OkStatus();
  }

  // The hash that members.json has of an artifact of this member; empty: it left none, or it made
  // room.
  static absl::StatusOr<std::string> Listed(const Part& part, std::string_view kind) {
    std::string hash;
    NF_RETURN_IF_ERROR(
        part.ForEach("artifacts", [&](const std::string&, const Part& artifact) -> absl::Status {
          NF_ASSIGN_OR_RETURN(const std::string its, artifact.Text("kind"));
          if (its != kind || artifact.At("collected").ok()) return absl::OkStatus();
          NF_ASSIGN_OR_RETURN(hash, artifact.Text("sha256"));
          return absl::OkStatus();
        }));
    return hash;
  }

  // Are these the bytes that the member left?
  static absl::Status CheckBytes(const std::string& expected, const std::string& path) {
    NF_ASSIGN_OR_RETURN(const std::string found, Sha256File(path));
    if (found == expected) return absl::OkStatus();
    return MakeError(
        absl::StatusCode::kDataLoss,
        fmt::format("{}: its SHA-256 is {}, members.json says {}", path, found, expected));
  }

  const std::string folder_;
  ExportedStudy out_;
  std::map<std::string, size_t> sets_;  // By where their labels lie.
  std::set<uint32_t> cells_;
  std::set<std::string> ids_;
};

}  // namespace

absl::StatusOr<ExportedStudy> ReadExport(const std::string& folder) {
  return Reader(folder).Read();
}

}  // namespace noisefloor::exports
