#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "fmt/format.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "coordinator/cli/artifact.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/export_readme.h"
#include "coordinator/cli/infer_rows.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/member_json.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

namespace fs = std::filesystem;

struct Study {
  v1::GetStudyRequest::Form form;
  const char* name;
};
constexpr Study kStudies[] = {{v1::GetStudyRequest::FORM_JSON, "study.json"},
                              {v1::GetStudyRequest::FORM_CSV, "study.csv"}};

struct Kind {
  std::string_view kind;  // Also the name of its folder.
  std::string_view ending;
};
constexpr Kind kKinds[] = {
    {"predictions", ".npy"}, {"weights", ".safetensors"}, {"kernels", ".json"}};
// One of each test set, which its first member to run keeps for all.
constexpr Kind kSetKinds[] = {
    {"evaluation_labels", ".npy"}, {"evaluation_images", ".npy"}, {"evaluation_groups", ".csv"}};

// "cifar10", "cifar10-500" with `test_examples` of 500: what members are tested on. Of a folder of
// own images, which sizes and columns make many sets of, with the head of its identity:
// "faces-1a2b3c4d-500".
std::string TestSetOf(const v1::Member& member) {
  const Json parsed = Json::parse(member.specification(), nullptr, false);
  const Json data = parsed.is_object() ? parsed.value("data", Json()) : Json();
  if (!data.is_object()) return member.id();
  const int64_t examples = data.value("test_examples", int64_t{0});
  std::string name = data.value("name", member.id());
  if (data.value("image_size", int64_t{0}) != 0) {
    name += "-" + data.value("identity", std::string()).substr(0, 8);
  }
  return examples == 0 ? name : fmt::format("{}-{}", name, examples);
}

// Where an artifact goes: "predictions/s1c0r0.npy", and "predictions/s1c0r0-3.npy" for
// "predictions-3", those after the third evaluation. Empty: it is not exported.
std::string PlaceOf(const v1::Member& member, const std::string& kind) {
  for (const Kind& known : kKinds) {
    if (kind != known.kind && !kind.starts_with(fmt::format("{}-", known.kind))) continue;
    return fmt::format("{}/{}{}{}", known.kind, member.id(), kind.substr(known.kind.size()),
                       known.ending);
  }
  for (const Kind& known : kSetKinds) {
    if (kind == known.kind) return fmt::format("{}/{}{}", kind, TestSetOf(member), known.ending);
  }
  return "";
}

struct Written {
  size_t members = 0;
  bool page = false;
  bool inference = false;  // And no study.
  size_t files = 0;
  uint64_t bytes = 0;
  size_t collected = 0;  // Files that made room and are not there any more.
};

bool IsInference(const std::vector<v1::Member>& members) {
  return std::ranges::any_of(members,
                             [](const v1::Member& member) { return !member.subject().empty(); });
}

absl::StatusOr<bool> IsEmptyFolder(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return true;
  if (!fs::is_directory(path, error)) {
    return InvalidInput(fmt::format("--to={}: expected a folder, got a file", path));
  }
  const bool empty = fs::is_empty(path, error);
  if (error) {
    return MakeError(absl::StatusCode::kPermissionDenied,
                     fmt::format("--to={}: {}", path, error.message()));
  }
  return empty;
}

class Export final : public Command {
 public:
  std::string_view Name() const override { return "export"; }
  std::string_view Help() const override {
    return "Write a sweep's members, study, predictions, weights and labels as files";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor export s1 --to=s1
  noisefloor export s1 --to=s1 --force      # replaces what is there)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
    app.add_option("--to", to_, "the folder; appears when it is whole")
        ->required()
        ->type_name("DIR");
    app.add_flag("--force", force_, "replace what an earlier export wrote there");
  }

  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    while (to_.size() > 1 && to_.ends_with("/")) to_.pop_back();
    NF_ASSIGN_OR_RETURN(const bool empty, IsEmptyFolder(to_));
    if (!empty && !force_) {
      return InvalidInput(
          fmt::format("--to={}: the folder is not empty; --force replaces it", to_));
    }
    if (!empty && !PathExists(to_ + "/members.json")) {
      return InvalidInput(
          fmt::format("--to={}: expected a folder that export wrote, which has a members.json; "
                      "--force replaces "
                      "no other",
                      to_));
    }
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    const std::string aside = fmt::format("{}.part-{}", to_, getpid());
    const absl::StatusOr<Written> written = WriteAll(context, connection, sweep, aside);
    absl::Status status = written.ok() ? Replace(aside) : written.status();
    if (!status.ok()) {
      (void)RemoveTree(aside);
      return status;
    }
    Say(context, *written);
    return kDone;
  }

 private:
  static absl::StatusOr<Written> WriteAll(const Context& context, Connection& connection,
                                          uint64_t sweep, const std::string& folder) {
    NF_RETURN_IF_ERROR(CreateDirectories(folder));
    NF_ASSIGN_OR_RETURN(
        const std::vector<v1::Member> members,
        ListMembers(connection, sweep, v1::MEMBER_STATE_UNSPECIFIED, Detail::kFull));
    std::ostringstream listed;
    MembersJson json(listed);
    for (const v1::Member& member : members) json.Add(member);
    json.Finish();
    NF_RETURN_IF_ERROR(WriteFileAtomically(folder + "/members.json", listed.view()));
    NF_RETURN_IF_ERROR(WriteFileAtomically(folder + "/README.md", ExportReadme()));
    NF_RETURN_IF_ERROR(WriteSweepFile(connection, sweep, folder + "/sweep.yaml"));
    Written written = {.members = members.size()};
    if (IsInference(members)) {
      NF_ASSIGN_OR_RETURN(const std::vector<InferRow> rows, InferRows(connection, members));
      NF_RETURN_IF_ERROR(WriteFileAtomically(folder + "/infer.csv", InferCsv(rows)));
      written.inference = true;
    } else {
      NF_ASSIGN_OR_RETURN(written.page, WriteStudies(connection, context, sweep, folder));
    }
    for (const v1::Member& member : members) {
      NF_RETURN_IF_ERROR(WriteArtifacts(connection, member, folder, written));
    }
    return written;
  }

  // The study in all its forms; whether there is a page among them.
  static absl::StatusOr<bool> WriteStudies(Connection& connection, const Context& context,
                                           uint64_t sweep, const std::string& folder) {
    for (const Study& study : kStudies) {
      NF_RETURN_IF_ERROR(WriteStudy(connection, sweep, study.form, folder + "/" + study.name));
    }
    return WritePage(connection, context, sweep, folder + "/report.html");
  }

  // As submitted, or what it means when it came without a file.
  static absl::Status WriteSweepFile(Connection& connection, uint64_t sweep,
                                     const std::string& path) {
    v1::GetSweepRequest request;
    request.set_sweep_id(sweep);
    NF_ASSIGN_OR_RETURN(const v1::GetSweepResponse answer,
                        connection.Call(&Stub::GetSweep, request));
    return WriteFileAtomically(path,
                               answer.file().empty() ? answer.resolved_file() : answer.file());
  }

  static absl::Status WriteArtifacts(Connection& connection, const v1::Member& member,
                                     const std::string& folder, Written& written) {
    for (const v1::Artifact& artifact : member.outcome().artifacts()) {
      const std::string place = PlaceOf(member, artifact.kind());
      const fs::path path = fs::path(folder) / place;
      if (place.empty() || PathExists(path.string())) continue;
      if (artifact.collected_unix_seconds() > 0) {  // members.json says when.
        ++written.collected;
        continue;
      }
      NF_RETURN_IF_ERROR(CreateDirectories(path.parent_path().string()));
      NF_RETURN_IF_ERROR(WriteArtifact(connection, member.id(), artifact.kind(), artifact.sha256(),
                                       path.string()));
      ++written.files;
      written.bytes += artifact.size();
    }
    return absl::OkStatus();
  }

  // What was there steps aside first and goes when the new folder stands.
  absl::Status Replace(const std::string& aside) const {
    const std::string old = fmt::format("{}.old-{}", to_, getpid());
    std::error_code error;
    const bool had = fs::exists(to_, error);
    if (had) fs::rename(to_, old, error);
    if (!error) fs::rename(aside, to_, error);
    if (error) {
      std::error_code ignored;
      if (had && !fs::exists(to_, ignored)) fs::rename(old, to_, ignored);
      return MakeError(absl::StatusCode::kUnavailable,
                       fmt::format("--to={}: cannot be put in place: {}", to_, error.message()));
    }
    return had ? RemoveTree(old) : absl::OkStatus();
  }

  void Say(const Context& context, const Written& written) const {
    if (context.Json()) {
      PrintJson(context.out, {{"to", to_},
                              {"members", written.members},
                              {"page", written.page},
                              {"artifacts", written.files},
                              {"artifact_bytes", std::to_string(written.bytes)},
                              {"collected", written.collected}});
      return;
    }
    context.out << fmt::format(
        "wrote {}: README.md, sweep.yaml, members.json ({}), {}, {}{} of "
        "predictions, "
        "weights and test sets ({:.1f} MB)\n",
        to_, Counted(written.members, "member"),
        written.inference ? "infer.csv" : "study.json, study.csv",
        written.page ? "report.html, " : "", Counted(written.files, "file"), written.bytes / 1e6);
    if (written.collected > 0) {
      context.out << Counted(written.collected, "file")
                  << " made room and could not be written; members.json has the hashes\n";
    }
  }

  std::string sweep_;
  std::string to_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeExport() { return std::make_unique<Export>(); }

}  // namespace noisefloor::cli
