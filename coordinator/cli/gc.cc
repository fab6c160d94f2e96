#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "fmt/format.h"

#include "common/files/directory.h"
#include "coordinator/cli/caches.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/duration.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kPatience = absl::Hours(6);
constexpr std::array<std::string_view, 5> kCollected = {"weights", "weights-N", "predictions-N",
                                                        "log", "kernels"};
constexpr std::array<std::string_view, 3> kJudgedThere = {"weights-", "predictions", "evaluation_"};

std::string Amount(uint64_t files, uint64_t bytes) {
  return fmt::format("{} ({:.1f} MB)", Counted(files, "file"), bytes / 1e6);
}

Json ToJson(const v1::StorageShare& share) {
  return {{"files", share.files()}, {"bytes", share.bytes()}};
}

class Gc final : public Command {
 public:
  std::string_view Name() const override { return "gc"; }
  std::string_view Help() const override {
    return "Make room: files that no member has, files of members that ended, caches of workers";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor gc --dry-run
  noisefloor gc --kind=weights --older-than=30d
  noisefloor gc --kind=weights --older-than=0s --sweep=s3
  noisefloor gc --caches --dry-run          # of the workers of this machine, beside them)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("--kind", kinds_,
                   "also files of this kind, such as weights (those after evaluations, too), "
                   "weights-N or predictions-N (those after evaluations alone) or log, of members "
                   "that have ended; their hashes stay, and predictions of the end and test sets "
                   "stay; a study has no distances of weights that went")
        ->type_name("KIND")
        ->allow_extra_args(false);
    app.add_option("--older-than", older_than_,
                   "and ended so long ago: 30d, 12h, 90m; of caches: last used (default 30d)")
        ->type_name("TIME");
    app.add_option("--sweep", sweeps_, "only of this sweep")
        ->type_name("ID")
        ->allow_extra_args(false);
    app.add_flag("--caches", caches_,
                 "instead, what workers of this machine keep: data sets that no trainer has used "
                 "lately, folders of attempts whose worker ended; what is in use stays, and so "
                 "does a result that waits for delivery");
    app.add_option("--state", states_,
                   "with --caches: the --state of a worker (default: worker/ of the data "
                   "directory, noisefloor-worker-state here)")
        ->type_name("DIR")
        ->allow_extra_args(false);
    app.add_option("--cache", folders_,
                   "with --caches: a folder of data sets, besides $NOISEFLOOR_CACHE and those of "
                   "the states")
        ->type_name("DIR")
        ->allow_extra_args(false);
    app.add_flag("--dry-run", dry_run_, "say what would go; nothing does");
  }
  absl::StatusOr<int> Run(Context& context) override {
    if (caches_) return CollectCaches(context);
    if (!states_.empty() || !folders_.empty()) {
      return InvalidInput("--state and --cache: expected --caches with them");
    }
    NF_ASSIGN_OR_RETURN(const v1::CollectGarbageRequest request, Request());
    NF_ASSIGN_OR_RETURN(Connection connection,
                        Connection::Open(context, {.home = Connection::Home::kToChange}));
    NF_RETURN_IF_ERROR(CheckKinds(connection));
    NF_RETURN_IF_ERROR(CheckSweeps(connection, request));
    NF_ASSIGN_OR_RETURN(const v1::CollectGarbageResponse answer,
                        connection.Call(&Stub::CollectGarbage, request, kPatience));
    Say(context, answer);
    return kDone;
  }

 private:
  absl::StatusOr<v1::CollectGarbageRequest> Request() const {
    v1::CollectGarbageRequest request;
    if (kinds_.empty() != older_than_.empty()) {
      return InvalidInput("expected --kind and --older-than together, or neither");
    }
    if (kinds_.empty() && !sweeps_.empty()) return InvalidInput("--sweep: expected --kind with it");
    if (!older_than_.empty()) {
      NF_ASSIGN_OR_RETURN(const int64_t seconds, SecondsOf("--older-than", older_than_));
      request.set_older_than_seconds(seconds);
    }
    for (const std::string& kind : kinds_) request.add_kinds(kind);
    for (const std::string& sweep : sweeps_) {
      NF_ASSIGN_OR_RETURN(const uint64_t number, RequiredSweepNumber(sweep));
      request.add_sweep_ids(number);
    }
    request.set_dry_run(dry_run_);
    return request;
  }

  // One that our trainers leave, or that a file is of: a trainer of somebody's own may have others.
  // What may not go the coordinator refuses.
  absl::Status CheckKinds(Connection& connection) const {
    const auto is_ours = [](std::string_view kind) {
      return std::ranges::find(kCollected, kind) != kCollected.end() ||
             std::ranges::any_of(kJudgedThere, [&](auto begin) { return kind.starts_with(begin); });
    };
    if (std::ranges::all_of(kinds_, is_ours)) return absl::OkStatus();
    NF_ASSIGN_OR_RETURN(const v1::GetStorageResponse storage,
                        connection.Call(&Stub::GetStorage, v1::GetStorageRequest(), kPatience));
    std::vector<std::string> known(kCollected.begin(), kCollected.end());
    for (const v1::StorageShare& share : storage.artifacts()) {
      if (!is_ours(share.kind())) known.push_back(share.kind());
    }
    for (const std::string& kind : kinds_) {
      if (is_ours(kind) || std::ranges::find(known, kind) != known.end()) continue;
      return InvalidInput(fmt::format("--kind={}: expected {}", kind, JoinChoices(known)));
    }
    return absl::OkStatus();
  }

  static absl::Status CheckSweeps(Connection& connection,
                                  const v1::CollectGarbageRequest& request) {
    for (const uint64_t sweep : request.sweep_ids()) {
      v1::GetSweepRequest get;
      get.set_sweep_id(sweep);
      NF_RETURN_IF_ERROR(connection.Call(&Stub::GetSweep, get).status());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int> CollectCaches(Context& context) const {
    if (!kinds_.empty() || !sweeps_.empty()) {
      return InvalidInput("--caches: expected neither --kind nor --sweep with it");
    }
    if (!context.options.coordinator.empty()) {
      return InvalidInput("--coordinator: caches lie on this machine; use --state and --cache");
    }
    for (const std::string& folder : Together(states_, folders_)) {
      if (PathExists(folder)) continue;
      return MakeError(absl::StatusCode::kNotFound, folder + ": there is no such folder");
    }
    NF_ASSIGN_OR_RETURN(const int64_t seconds,
                        SecondsOf("--older-than", older_than_.empty() ? "30d" : older_than_));
    const CachePlaces places = FindCachePlaces(context, states_, folders_);
    NF_ASSIGN_OR_RETURN(
        const CacheUse use,
        LookAtCaches(places, context.clock.Now() - absl::Seconds(seconds), !dry_run_));
    SayCaches(context, places, use);
    return kDone;
  }

  static std::vector<std::string> Together(std::vector<std::string> some,
                                           const std::vector<std::string>& more) {
    some.insert(some.end(), more.begin(), more.end());
    return some;
  }

  void SayCaches(Context& context, const CachePlaces& places, const CacheUse& use) const {
    const std::string_view done = dry_run_ ? "would go" : "removed";
    const std::tuple<const char*, std::string_view, const DiskShare&, bool> lines[] = {
        {"data set", done, use.sets.old, true},
        {"data set", "in use", use.sets.in_use, false},
        {"data set", "used lately", use.sets.young, false},
        {"fetched tree", done, use.trees.old, false},
        {"fetched tree", "in use", use.trees.in_use, false},
        {"fetched tree", "used lately", use.trees.young, false},
        {"unfinished attempt", done, use.attempts_old, true},
        {"unfinished attempt", "left lately", use.attempts_young, false},
        {"result", "waiting for its worker", use.attempts_waiting, false}};
    if (context.Json()) {
      Json folders = Json::array();
      for (const std::string& folder : Together(places.states, places.caches)) {
        folders.push_back(folder);
      }
      Json shares = Json::array();
      for (const auto& [thing, what, share, always] : lines) {
        shares.push_back(
            {{"thing", thing}, {"what", what}, {"count", share.count}, {"bytes", share.bytes}});
      }
      PrintJson(context.out, {{"dry_run", dry_run_}, {"folders", folders}, {"caches", shares}});
      return;
    }
    for (const auto& [thing, what, share, always] : lines) {
      if (share.count == 0 && !always) continue;
      context.out << fmt::format("{} ({:.1f} MB) {}\n", Counted(share.count, thing),
                                 share.bytes / 1e6, what);
    }
    if (places.states.empty() && places.caches.empty()) {
      context.out << "there is no cache here: --state and --cache name others\n";
    }
  }

  void Say(Context& context, const v1::CollectGarbageResponse& answer) const {
    if (context.Json()) {
      Json artifacts = Json::object();
      for (const v1::StorageShare& share : answer.artifacts()) {
        artifacts[share.kind()] = ToJson(share);
      }
      PrintJson(
          context.out,
          {{"dry_run", dry_run_}, {"unused", ToJson(answer.unused())}, {"artifacts", artifacts}});
      return;
    }
    const std::string_view done = dry_run_ ? "would go" : "removed";
    context.out << fmt::format("of no member: {} {}\n",
                               Amount(answer.unused().files(), answer.unused().bytes()), done);
    for (const v1::StorageShare& share : answer.artifacts()) {
      context.out << fmt::format("{}: {} {}\n", share.kind(), Amount(share.files(), share.bytes()),
                                 done);
    }
    if (!kinds_.empty() && answer.artifacts().empty()) {
      context.out << "no room was made: there is no file of that kind and age, or others have the "
                     "same contents\n";
    }
  }

  std::vector<std::string> kinds_;
  std::string older_than_;
  std::vector<std::string> sweeps_;
  std::vector<std::string> states_;
  std::vector<std::string> folders_;
  bool caches_ = false;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeGc() { return std::make_unique<Gc>(); }

}  // namespace noisefloor::cli
