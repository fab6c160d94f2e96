// `backup` and `restore`: on the machine of the data directory, with or without its coordinator.
#include "coordinator/store/backup.h"

#include "fmt/format.h"

#include "coordinator/cli/commands.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/cli/terminal_text.h"
#include "coordinator/store/restore.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(200);
constexpr std::string_view kLeftOut =
    "not in it: access/ (keys and access files) and the lock; `noisefloor access init` makes them "
    "anew, or copy them yourself";

std::string MegabytesText(uint64_t bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }

std::string TimeOf(const BackupManifest& manifest) {
  return TimeText(absl::ToUnixSeconds(manifest.made));
}

// A line that redraws itself on a terminal; elsewhere nothing.
class Line {
 public:
  explicit Line(Context& context) : context_(context) {}
  ~Line() {
    if (drawn_) context_.err << Style::kClearLine << std::flush;
  }
  void Show(std::string_view what, uint64_t done, uint64_t all) {
    const absl::Duration now = context_.clock.Steady();
    if (!context_.ErrRedraws() || (drawn_ && now - drawn_at_ < kRedraw)) return;
    context_.err << Style::kClearLine << fmt::format("{} {} of {}", what, done, all) << std::flush;
    drawn_ = true;
    drawn_at_ = now;
  }

 private:
  Context& context_;
  bool drawn_ = false;
  absl::Duration drawn_at_;
};

// These work on files of this machine.
absl::Status CheckNoCoordinator(const Context& context, std::string_view command) {
  if (context.options.coordinator.empty()) return absl::OkStatus();
  return InvalidInput(fmt::format(
      "--coordinator: {} works on the files of a data directory; run it there with --home",
      command));
}

Json ManifestJson(const BackupManifest& manifest) {
  Json missing = Json::array();
  for (const MissingBlob& one : manifest.missing) {
    missing.push_back(
        {{"sha256", one.sha256}, {"reason", one.reason}, {"of_result", one.of_result}});
  }
  return {{"made_unix_seconds", absl::ToUnixSeconds(manifest.made)},
          {"epoch", manifest.epoch},
          {"sweeps", manifest.sweeps},
          {"database_bytes", manifest.database_bytes},
          {"files", manifest.blobs},
          {"file_bytes", manifest.blob_bytes},
          {"missing", missing}};
}

// False: some results are without their files. What a refused one announced may never have come.
bool HasAllOfResults(Context& context, const BackupManifest& manifest) {
  bool all = true;
  for (const MissingBlob& one : manifest.missing) {
    if (!one.of_result) continue;
    all = false;
    context.err << "left out: " << one.sha256 << ": " << one.reason << "\n";
  }
  return all;
}

class Backup final : public Command {
 public:
  std::string_view Name() const override { return "backup"; }
  std::string_view Help() const override {
    return "Copy a data directory while its coordinator works; again: only what is new";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor backup /backup/noisefloor --home=/data/noisefloor
  noisefloor restore /backup/noisefloor --check     # is all of it there?)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("folder", folder_, "where it goes; an earlier backup there stays until the end")
        ->required()
        ->type_name("DIR");
    app.add_flag("--prune", prune_, "remove files there that the data directory no longer names");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_RETURN_IF_ERROR(CheckNoCoordinator(context, Name()));
    const StopSignal stop;
    BackupOptions options;
    options.version = NOISEFLOOR_VERSION;
    options.prune = prune_;
    options.stopped = [&stop] { return stop.Requested(); };
    absl::StatusOr<BackupResult> made;
    {
      Line line(context);
      options.progress = [&line](const BackupProgress& at) {
        line.Show(at.stage == BackupProgress::Stage::kDatabase ? "database: page" : "files:",
                  at.done, at.all);
      };
      made = MakeBackup(context.options.home, folder_, context.clock, options);
    }
    NF_RETURN_IF_ERROR(made.status());
    const BackupManifest& manifest = made->manifest;
    if (context.Json()) {
      Json json = ManifestJson(manifest);
      json["folder"] = folder_;
      json["copied"] = made->copied;
      json["copied_bytes"] = made->copied_bytes;
      json["pruned"] = made->pruned;
      PrintJson(context.out, json);
    } else {
      context.out << fmt::format("{}: state of {} UTC: {}, database {}, {} ({}), {} new ({})\n{}\n",
                                 folder_, TimeOf(manifest), Counted(manifest.sweeps, "sweep"),
                                 MegabytesText(manifest.database_bytes),
                                 Counted(manifest.blobs, "file"),
                                 MegabytesText(manifest.blob_bytes), made->copied,
                                 MegabytesText(made->copied_bytes), kLeftOut);
    }
    return HasAllOfResults(context, manifest) ? kDone : kDidNotHold;
  }

 private:
  std::string folder_;
  bool prune_ = false;
};

class Restore final : public Command {
 public:
  std::string_view Name() const override { return "restore"; }
  std::string_view Help() const override {
    return "Make a new data directory of a backup, or check the backup";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor restore /backup/noisefloor --home=/data/new
  noisefloor restore /backup/noisefloor --check)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("folder", folder_, "the backup")->required()->type_name("DIR");
    app.add_flag("--check", check_, "only verify it; nothing is written");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_RETURN_IF_ERROR(CheckNoCoordinator(context, Name()));
    if (!check_ && !context.options.home_given) {
      return InvalidInput("expected --home=DIR, the new data directory, or --check");
    }
    const StopSignal stop;
    RestoreOptions options;
    options.check_only = check_;
    options.stopped = [&stop] { return stop.Requested(); };
    absl::StatusOr<RestoreResult> made;
    {
      Line line(context);
      options.progress = [&line](uint64_t done, uint64_t all) { line.Show("files:", done, all); };
      made = RestoreBackup(folder_, context.options.home, context.clock, options);
    }
    NF_RETURN_IF_ERROR(made.status());
    Say(context, *made);
    return HasAllOfResults(context, made->manifest) || !check_ ? kDone : kDidNotHold;
  }

 private:
  void Say(Context& context, const RestoreResult& made) const {
    if (made.unfinished) {
      context.err << folder_ << ": a later backup there never ended; this is the one before it\n";
    }
    const BackupManifest& manifest = made.manifest;
    if (context.Json()) {
      Json json = ManifestJson(manifest);
      json["epoch"] = made.epoch;
      json["lost_attempts"] = made.lost_leases;
      if (!check_) json["home"] = context.options.home;
      PrintJson(context.out, json);
      return;
    }
    const std::string what =
        fmt::format("state of {} UTC: {}, database {}, {} ({})", TimeOf(manifest),
                    Counted(manifest.sweeps, "sweep"), MegabytesText(manifest.database_bytes),
                    Counted(manifest.blobs, "file"), MegabytesText(manifest.blob_bytes));
    if (check_) {
      context.out << folder_ << " is whole: " << what << "\n";
      return;
    }
    context.out << fmt::format("{}: {}; epoch {}\n", context.options.home, what, made.epoch);
    if (made.lost_leases > 0) {
      context.out << Counted(made.lost_leases, "attempt")
                  << " that ran are lost; their members wait again\n";
    }
    context.out << "without access: `noisefloor access init` makes keys and tokens for it\n";
  }

  std::string folder_;
  bool check_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeBackupCommand() { return std::make_unique<Backup>(); }
std::unique_ptr<Command> MakeRestore() { return std::make_unique<Restore>(); }

}  // namespace noisefloor::cli
