#include "coordinator/cli/export_files.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "coordinator/cli/artifact.h"
#include "coordinator/cli/export_readme.h"
#include "coordinator/cli/infer_rows.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/member_json.h"
#include "coordinator/cli/output.h"
#include "coordinator/exports/layout.h"

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
  return WriteFileAtomically(fmt::format("{}/{}", folder, exports::kMembersFile), listed.view());
}

absl::Status WriteStudyJson(Connection& connection, uint64_t sweep, const std::string& folder) {
  return WriteStudy(connection, sweep, v1::GetStudyRequest::FORM_JSON,
                    fmt::format("{}/{}", folder, exports::kStudyFile));
}

// As submitted, or what it means when it came without a file.
absl::Status WriteSweepFile(Connection& connection, uint64_t sweep, const std::string& path) {
  v1::GetSweepRequest request;
  request.set_sweep_id(sweep);
  NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse answer, connection.Call(&Stub::GetSweep, request));
  return WriteFileAtomically(path, answer.file().empty() ? answer.resolved_file() : answer.file());
}

bool IsWanted(const v1::Artifact& artifact, ExportWish wish) {
  return wish == ExportWish::kAll || artifact.kind() == "predictions" ||
         artifact.kind() == "evaluation_labels";
}

absl::Status WriteArtifacts(Connection& connection, const v1::Member& member, ExportWish wish,
                            const std::string& folder, Exported& written) {
  const Json specification = Json::parse(member.specification(), nullptr, false);
  for (const v1::Artifact& artifact : member.outcome().artifacts()) {
    if (!IsWanted(artifact, wish)) continue;
    const std::string place = exports::PlaceOf(artifact.kind(), member.id(), specification);
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
                                     ExportWish wish, const std::string& folder,
                                     const StopSignal* stop) {
  NF_RETURN_IF_ERROR(CreateDirectories(folder));
  NF_ASSIGN_OR_RETURN(const std::vector<v1::Member> members,
                      ListMembers(connection, sweep, v1::MEMBER_STATE_UNSPECIFIED, Detail::kFull));
  NF_RETURN_IF_ERROR(WriteMembers(members, folder));
  Exported written = {.members = members.size(), .inference = IsInference(members)};
  if (!written.inference) NF_RETURN_IF_ERROR(WriteStudyJson(connection, sweep, folder));
  if (wish == ExportWish::kAll) {
    NF_RETURN_IF_ERROR(WriteForPeople(context, connection, sweep, members, folder, written));
  }
  for (const v1::Member& member : members) {
    if (stop != nullptr && stop->Requested()) {
      return MakeError(absl::StatusCode::kCancelled, "stopped");
    }
    NF_RETURN_IF_ERROR(WriteArtifacts(connection, member, wish, folder, written));
  }
  return written;
}

}  // namespace noisefloor::cli
