#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "fmt/format.h"

#include "common/files/directory.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/export_files.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/cli/study_output.h"
#include "coordinator/inputs/layout.h"

namespace noisefloor::cli {

namespace {

namespace fs = std::filesystem;

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

// Some name at the top of an export that no export writes; "": there is none.
absl::StatusOr<std::string> Foreign(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (!inputs::IsOfExport(name)) return name;
  }
  if (!error) return "";
  return MakeError(absl::StatusCode::kPermissionDenied,
                   fmt::format("--to={}: {}", folder, error.message()));
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
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, RequiredSweepNumber(sweep_));
    while (to_.size() > 1 && to_.ends_with("/")) to_.pop_back();
    to_ = LinkTarget(to_);
    NF_ASSIGN_OR_RETURN(const bool empty, IsEmptyFolder(to_));
    if (!empty && !PathExists(to_ + "/members.json")) {
      return InvalidInput(fmt::format(
          "--to={}: the folder is not empty, and no export wrote it, which has a members.json: "
          "name another",
          to_));
    }
    if (!empty && !force_) {
      return InvalidInput(
          fmt::format("--to={}: an earlier export lies there; --force replaces it", to_));
    }
    if (!empty) {
      NF_ASSIGN_OR_RETURN(const std::string foreign, Foreign(to_));
      if (!foreign.empty()) {
        return InvalidInput(fmt::format(
            "--to={}: no export wrote {}, which would go with the earlier one: move it, "
            "or name another folder",
            to_, foreign));
      }
    }
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    // An empty folder may be a mount, or where we are: it is filled, and not replaced.
    const bool fills = empty && PathExists(to_);
    const std::string aside = fmt::format("{}{}part-{}", to_, fills ? "/." : ".", getpid());
    const StopSignal stop;  // What is written aside has to go.
    const absl::StatusOr<Exported> written = WriteExport(context, connection, sweep, aside, stop);
    absl::Status status = !written.ok() ? written.status() : fills ? Fill(aside) : Replace(aside);
    if (!status.ok()) {
      (void)RemoveTree(aside);
      return status;
    }
    Say(context, *written);
    return kDone;
  }

 private:
  absl::Status Fill(const std::string& aside) const {
    std::error_code error;
    std::vector<fs::path> entries;
    for (const fs::directory_entry& entry : fs::directory_iterator(aside, error)) {
      entries.push_back(entry.path());
    }
    // Last what `export --force` and readers know an export by.
    std::ranges::stable_partition(
        entries, [](const fs::path& path) { return path.filename() != inputs::kMembersFile; });
    std::vector<std::string> moved;
    for (const fs::path& path : entries) {
      if (error) break;
      moved.push_back((fs::path(to_) / path.filename()).string());
      fs::rename(path, moved.back(), error);
    }
    if (!error) return RemoveTree(aside);
    for (const std::string& path : moved) (void)RemoveTree(path);
    return MakeError(absl::StatusCode::kPermissionDenied,
                     fmt::format("--to={}: cannot be filled: {}", to_, error.message()));
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
      return MakeError(absl::StatusCode::kPermissionDenied,
                       fmt::format("--to={}: cannot be put in place: {}", to_, error.message()));
    }
    return had ? RemoveTree(old) : absl::OkStatus();
  }

  void Say(const Context& context, const Exported& written) const {
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
