#include "coordinator/cli/export_files.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "coordinator/cli/artifact.h"
#include "coordinator/cli/export_readme.h"
#include "coordinator/cli/infer_rows.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/member_json.h"
#include "coordinator/cli/output.h"
#include "coordinator/inputs/layout.h"
#include "coordinator/inputs/study_source.h"

namespace noisefloor::cli {

namespace {

namespace fs = std::filesystem;

bool IsInference(const std::vector<v1::Member>& members) {
  return std::ranges::any_of(members,
                             [](const v1::Member& member) { return !member.subject().empty(); });
}

absl::Status WriteMembers(const std::vector<v1::Member>& members, const std::string& folder) {
  std::ostringstream listed;
  MembersJson json(listed);
  for (const v1::Member& member : members) json.Add(member);
  json.Finish();
  return WriteFileAtomically(fmt::format("{}/{}", folder, inputs::kMembersFile), listed.view());
}

absl::Status WriteStudyJson(Connection& connection, uint64_t sweep, const std::string& folder) {
  return WriteStudy(connection, sweep, v1::GetStudyRequest::FORM_JSON,
                    fmt::format("{}/{}", folder, inputs::kStudyFile));
}

// As submitted, or what it means when it came without a file.
absl::Status WriteSweepFile(Connection& connection, uint64_t sweep, const std::string& path) {
  v1::GetSweepRequest request;
  request.set_sweep_id(sweep);
  NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse answer, connection.Call(&Stub::GetSweep, request));
  return WriteFileAtomically(path, answer.file().empty() ? answer.resolved_file() : answer.file());
}

// With the data's identity, which the first lease of a set does not know yet.
Json SpecificationOf(const v1::Member& member) {
  Json specification = Json::parse(member.specification(), nullptr, false);
  const std::string& identity = member.outcome().data_identity();
  if (identity.empty() || !specification.is_object() || !specification.contains("data")) {
    return specification;
  }
  Json& data = specification["data"];
  if (data.is_object() && data.value("identity", Json("")) == "") data["identity"] = identity;
  return specification;
}

// Every file that a member left, that has a place and is not there already.
absl::Status WriteArtifacts(Connection& connection, const v1::Member& member,
                            const std::string& folder, Exported& written) {
  const Json specification = SpecificationOf(member);
  for (const v1::Artifact& artifact : member.outcome().artifacts()) {
    const std::string place = inputs::PlaceOf(artifact.kind(), member.id(), specification);
    const fs::path path = fs::path(folder) / place;
    if (place.empty() || PathExists(path.string())) continue;
    if (artifact.collected_unix_seconds() > 0) {  // members.json says when.
      ++written.collected;
      continue;
    }
    NF_RETURN_IF_ERROR(CreateDirectories(path.parent_path().string()));
    NF_RETURN_IF_ERROR(
        WriteArtifact(connection, member.id(), artifact.kind(), artifact.sha256(), path.string()));
    ++written.files;
    written.bytes += artifact.size();
  }
  return absl::OkStatus();
}

absl::StatusOr<inputs::StudySource> GetSource(Connection& connection, uint64_t sweep) {
  NF_ASSIGN_OR_RETURN(const std::string text,
                      ReadStudy(connection, sweep, v1::GetStudyRequest::FORM_INPUT));
  return inputs::SourceFromJson(text);
}

// Puts the arrays that a source names below a folder, where they are not there already.
class ArrayWriter {
 public:
  ArrayWriter(Connection& connection, const std::string& folder, const StopSignal& stop,
              Exported& written)
      : connection_(connection), folder_(folder), stop_(stop), written_(written) {}

  // From now on the source says that the file lies at `place`.
  absl::Status Put(const std::string& place, std::optional<inputs::InputFile>& file) {
    return file ? Put(place, *file) : absl::OkStatus();
  }
  absl::Status Put(const std::string& place, inputs::InputFile& file) {
    if (stop_.Requested()) return MakeError(absl::StatusCode::kCancelled, "stopped");
    const fs::path path = fs::path(folder_) / place;
    file.path = place;
    const absl::StatusOr<std::string> there = Sha256File(path.string());
    if (there.ok() && *there == file.sha256) return absl::OkStatus();
    if (there.ok()) {
      return MakeError(absl::StatusCode::kDataLoss,
                       fmt::format("{}: two files of the study would lie there", place));
    }
    NF_RETURN_IF_ERROR(CreateDirectories(path.parent_path().string()));
    NF_RETURN_IF_ERROR(
        WriteArtifact(connection_, file.member, file.kind, file.sha256, path.string()));
    ++written_.files;
    written_.bytes += file.size_bytes;
    return absl::OkStatus();
  }

 private:
  Connection& connection_;
  const std::string& folder_;
  const StopSignal& stop_;
  Exported& written_;
};

// `place_of_set`: of a file of an evaluation set.
absl::Status WriteInput(
    inputs::StudySource source, ArrayWriter& writer, const std::string& folder,
    const std::function<std::string(std::string_view kind, size_t set)>& place_of_set) {
  for (size_t i = 0; i < source.sets.size(); ++i) {
    NF_RETURN_IF_ERROR(writer.Put(place_of_set("evaluation_labels", i), source.sets[i].labels));
    NF_RETURN_IF_ERROR(writer.Put(place_of_set("evaluation_images", i), source.sets[i].images));
    NF_RETURN_IF_ERROR(writer.Put(place_of_set("evaluation_groups", i), source.sets[i].groups));
  }
  for (size_t m = 0; m < source.members.size(); ++m) {
    const std::string& id = source.input.members[m].id;
    inputs::StudySource::MemberFiles& files = source.members[m];
    NF_RETURN_IF_ERROR(writer.Put(inputs::PlaceOf("predictions", id, {}), files.predictions));
    NF_RETURN_IF_ERROR(writer.Put(inputs::PlaceOf("weights", id, {}), files.weights));
    for (inputs::InputFile& file : files.on_the_way) {
      NF_RETURN_IF_ERROR(writer.Put(inputs::PlaceOf(file.kind, id, {}), file));
    }
  }
  return WriteFileAtomically(fmt::format("{}/{}", folder, inputs::kInputFile),
                             inputs::SourceToJson(source));
}

// A set lies where its members' specifications say.
absl::Status WriteWholeInput(Connection& connection, uint64_t sweep,
                             const std::vector<v1::Member>& members, const std::string& folder,
                             const StopSignal& stop, Exported& written) {
  absl::StatusOr<inputs::StudySource> source = GetSource(connection, sweep);
  if (absl::IsFailedPrecondition(source.status())) return absl::OkStatus();  // A measurement.
  NF_RETURN_IF_ERROR(source.status());
  std::map<uint32_t, const v1::Member*> in_cell;
  for (const v1::Member& member : members) {  // One that knows which data it saw, if any does.
    const v1::Member*& of_cell = in_cell[member.cell()];
    if (of_cell == nullptr || of_cell->outcome().data_identity().empty()) of_cell = &member;
  }
  std::vector<const v1::Member*> of_set(source->sets.size());
  for (const report::CellInput& cell : source->input.cells) {
    const auto member = in_cell.find(cell.index);
    if (member != in_cell.end()) of_set[cell.evaluation] = member->second;
  }
  ArrayWriter writer(connection, folder, stop, written);
  return WriteInput(
      *std::move(source), writer, folder, [&](std::string_view kind, size_t set) -> std::string {
        if (of_set[set] == nullptr) return inputs::PlaceOf(kind, std::to_string(set), {});
        return inputs::PlaceOf(kind, of_set[set]->id(), SpecificationOf(*of_set[set]));
      });
}

// What only people read, and the forms of the study that are not read back.
absl::Status WriteForPeople(const Context& context, Connection& connection, uint64_t sweep,
                            const std::vector<v1::Member>& members, const std::string& folder,
                            Exported& written) {
  NF_RETURN_IF_ERROR(WriteFileAtomically(folder + "/README.md", ExportReadme()));
  NF_RETURN_IF_ERROR(WriteSweepFile(connection, sweep, folder + "/sweep.yaml"));
  if (written.inference) {
    NF_ASSIGN_OR_RETURN(const std::vector<InferRow> rows, InferRows(connection, members));
    return WriteFileAtomically(folder + "/infer.csv", InferCsv(rows));
  }
  NF_RETURN_IF_ERROR(
      WriteStudy(connection, sweep, v1::GetStudyRequest::FORM_CSV, folder + "/study.csv"));
  NF_ASSIGN_OR_RETURN(written.page, WritePage(connection, context, sweep, folder + "/report.html"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Exported> WriteExport(const Context& context, Connection& connection, uint64_t sweep,
                                     const std::string& folder, const StopSignal& stop) {
  NF_RETURN_IF_ERROR(CreateDirectories(folder));
  NF_ASSIGN_OR_RETURN(const std::vector<v1::Member> members,
                      ListMembers(connection, sweep, v1::MEMBER_STATE_UNSPECIFIED, Detail::kFull));
  NF_RETURN_IF_ERROR(WriteMembers(members, folder));
  Exported written = {.members = members.size(), .inference = IsInference(members)};
  if (!written.inference) NF_RETURN_IF_ERROR(WriteStudyJson(connection, sweep, folder));
  NF_RETURN_IF_ERROR(WriteForPeople(context, connection, sweep, members, folder, written));
  if (!written.inference) {
    NF_RETURN_IF_ERROR(WriteWholeInput(connection, sweep, members, folder, stop, written));
  }
  for (const v1::Member& member : members) {  // What else they left.
    if (stop.Requested()) return MakeError(absl::StatusCode::kCancelled, "stopped");
    NF_RETURN_IF_ERROR(WriteArtifacts(connection, member, folder, written));
  }
  return written;
}

absl::Status FetchAnswers(Connection& connection, uint64_t sweep, const std::string& folder,
                          const StopSignal& stop) {
  NF_RETURN_IF_ERROR(CreateDirectories(folder));
  NF_ASSIGN_OR_RETURN(inputs::StudySource source, GetSource(connection, sweep));
  for (inputs::StudySource::SetFiles& set : source.sets) {
    set.images.reset();
    set.groups.reset();
  }
  for (inputs::StudySource::MemberFiles& files : source.members) {
    files.weights.reset();
    files.on_the_way.clear();
  }
  Exported written;
  ArrayWriter writer(connection, folder, stop, written);
  return WriteInput(std::move(source), writer, folder, [](std::string_view kind, size_t set) {
    return fmt::format("{}/{}.npy", kind, set);
  });
}

}  // namespace noisefloor::cli
