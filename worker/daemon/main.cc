#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/clock.h"
#include "common/base/printable.h"
#include "common/files/directory.h"
#include "common/files/network_file_system.h"
#include "common/log/log.h"
#include "common/options/print.h"
#include "common/rpc/channel.h"
#include "worker/daemon/options.h"
#include "worker/daemon/probe.h"
#include "worker/daemon/signals.h"
#include "worker/daemon/stack_copy.h"
#include "worker/daemon/stack_fetch.h"
#include "worker/daemon/stacks.h"
#include "worker/daemon/state_directory.h"
#include "worker/daemon/worker.h"
#include "worker/daemon/worker_access.h"
#include "worker/devices/layout.h"

namespace noisefloor {

namespace {

// The coordinator was away while a stack was to come from it: the worker ends with 3.
constexpr absl::StatusCode kAway = absl::StatusCode::kAborted;

constexpr absl::Duration kStateLook = absl::Milliseconds(50);

// Without room for it, or whatever else fails, trainers run from where they lie.
SharedTree CopyStacks(const Options& options, const StateDirectory& state, const Clock& clock) {
  if (options.copy_stacks.empty()) return nullptr;
  const absl::Duration begin = clock.Steady();
  auto copy =
      CopyStack(options.copy_stacks, {CacheOf(options, state), options.cache_limit_mib << 20},
                clock.Now(), {.note = [](const std::string& what) {
                  LogWarning("stacks_copied_anew", {{"reason", what}});
                }});
  if (!copy.ok()) {
    LogWarning("stacks_not_copied", {{"from", options.copy_stacks}, {"error", copy.status()}});
    return nullptr;
  }
  LogInfo("stacks_copied", {{"from", options.copy_stacks},
                            {"to", copy->path()},
                            {"seconds", absl::ToDoubleSeconds(clock.Steady() - begin)}});
  return std::make_shared<const TreeUse>(*std::move(copy));
}

// Adds the programs of stacks that the coordinator has to `trainers`.
absl::StatusOr<std::vector<SharedTree>> FetchStacks(const WorkerSettings& settings,
                                                    const StateDirectory& state, const Clock& clock,
                                                    Commands& trainers) {
  std::vector<SharedTree> trees;
  const Options& options = settings.options;
  if (options.fetch_stacks.empty()) return trees;
  const WorkerStub stub(
      v1::WorkerService::NewStub(MakeChannel(options.coordinator, settings.access.get())));
  const TreeCache cache(CacheOf(options, state), options.cache_limit_mib << 20);
  const absl::Duration patience = std::max(TreeFetcher::kPatience, options.give_up_after);
  for (const StackWish& wish : options.fetch_stacks) {
    absl::StatusOr<SharedTree> tree =
        FetchStack(wish, stub, cache, clock, state.identity(), patience);
    if (absl::IsUnavailable(tree.status()) || absl::IsDeadlineExceeded(tree.status())) {
      return MakeError(kAway, Message(tree.status()));
    }
    NF_ASSIGN_OR_RETURN(trees.emplace_back(), std::move(tree));
    trainers.insert({wish.name, {trees.back()->path() + "/" + wish.program}});
  }
  return trees;
}

absl::StatusOr<WorkerSettings> MakeSettings(const Options& options, const StateDirectory& state,
                                            const Clock& clock) {
  WorkerSettings settings;
  settings.options = options;
  NF_ASSIGN_OR_RETURN(settings.access, ReadWorkerAccess(options.access_file));
  NF_ASSIGN_OR_RETURN(Host host, ReadHost());
  host.declared = options.declared;
  if (!options.host.empty()) host.name = options.host;
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> classes,
                      ChooseClasses(host, options.classes, options.layout.gpus_per_slot));
  Commands trainers = options.trainers;
  if (const SharedTree copy = CopyStacks(options, state, clock); copy != nullptr) {
    trainers = FromCopy(std::move(trainers), options.copy_stacks, copy->path());
    settings.stack_trees.push_back(copy);
  }
  NF_ASSIGN_OR_RETURN(const std::vector<SharedTree> fetched,
                      FetchStacks(settings, state, clock, trainers));
  settings.stack_trees.insert(settings.stack_trees.end(), fetched.begin(), fetched.end());
  NF_ASSIGN_OR_RETURN(settings.offer.stacks, FindStacks(trainers));
  if (!options.use_cache) {  // Weights are brought to the cache.
    for (auto& [name, stack] : settings.offer.stacks) stack.infers = false;
  }
  ProbedSlots probed = Probe(host, LayOut(host, classes, options.layout), settings.offer.stacks);
  settings.offer.inventory = std::move(probed.inventory);
  settings.slots = std::move(probed.slots);
  settings.offer.data_roots = options.data_roots;
  settings.offer.may_fetch = options.use_cache;
  settings.name = options.name.empty() ? host.name : options.name;
  return settings;
}

void LogStart(const WorkerSettings& settings, const StateDirectory& state) {
  const Inventory& inventory = settings.offer.inventory;
  NameInLog("worker", settings.name);
  LogInfo("worker_started", {{"worker", settings.name},
                             {"process", getpid()},
                             {"state", state.path()},
                             {"slots", inventory.slots.size()},
                             {"classes", fmt::format("{}", fmt::join(ClassesOf(inventory), " "))},
                             {"stacks", fmt::format("{}", fmt::join(StacksOf(inventory), " "))}});
  for (const Inventory::Withheld& withheld : inventory.withheld) {
    LogWarning("withheld", {{"what", withheld.what},
                            {"class", withheld.hardware_class},
                            {"stack", withheld.stack},
                            {"reason", withheld.reason}});
  }
}

// The state directory of a worker that was told to leave is free when it has left. `stopped`: a
// signal came while it was waited for.
absl::StatusOr<StateDirectory> OpenState(const Options& options, const Clock& clock,
                                         bool& stopped) {
  const absl::Duration give_up = clock.Steady() + options.state_wait;
  bool said = false;
  return StateDirectory::Open(options.state, [&] {
    if (clock.Steady() >= give_up) return false;
    if (!std::exchange(said, true)) LogInfo("state_in_use", {{"state", options.state}});
    stopped = WaitForStopSignal(kStateLook);
    return !stopped;
  });
}

// A worker there works, and is slower: each record waits for that file system's sync.
void WarnOfNetwork(const StateDirectory& state) {
  const absl::StatusOr<std::string> network = NetworkFileSystemAt(state.path());
  if (!network.ok() || network->empty()) return;
  LogWarning("state_on_network_file_system",
             {{"state", state.path()},
              {"file_system", *network},
              {"help",
               "expected a folder on a disk of this machine: --state=/tmp/DIR, and with it "
               "--state-temporary where it shall not stay"}});
}

// What is left there is of use to nobody.
void RemoveState(const std::string& path) {
  const absl::Status removed = RemoveTree(path);
  if (!removed.ok()) LogWarning("state_stays", {{"error", removed}});
}

// A temporary state goes, but for results that nobody took.
void LeaveState(const Options& options, const StateDirectory& state, bool has_results) {
  if (!options.state_is_temporary) return;
  if (!has_results) return RemoveState(state.path());
  for (const char* of_no_result : {"/cache", "/checkpoints"}) {
    if (PathExists(state.path() + of_no_result)) RemoveState(state.path() + of_no_result);
  }
}

// Of a worker that has not looked into it yet.
bool HasResults(const StateDirectory& state) {
  std::error_code error;
  return PathExists(state.spool()) && !std::filesystem::is_empty(state.spool(), error);
}

int SayStopped(const Options& options) {
  LogInfo("worker_stopped_before_start");
  return options.stopped_code;
}

int Refuse(const absl::Status& status) {
  const bool away = status.code() == kAway;
  LogError(away ? "unreachable" : "refused", {{"error", status}});
  return away ? 3 : 1;
}

int Main(const std::vector<std::string>& arguments) {
  BlockStopSignals();
  setenv("GRPC_VERBOSITY", "NONE", 0);  // Our log says what could not be reached.
  const ParsedOptions parsed = ParseOptions(arguments, FindProgramPlace());
  if (parsed.exit) {
    if (parsed.exit_code != 0) {
      std::fputs(Printable(parsed.text).c_str(), stderr);
      return parsed.exit_code;
    }
    return PrintWhole("noisefloor-worker", parsed.text);
  }
  const Options& options = parsed.options;
  SetUpLog({"noisefloor-worker", options.log_level, options.log_format});
  const SystemClock clock;
  const absl::Duration start = clock.Steady();
  bool stopped = false;
  const auto state = OpenState(options, clock, stopped);
  if (stopped) return SayStopped(options);
  if (!state.ok()) return Refuse(state.status());
  WarnOfNetwork(*state);
  auto settings = [&] {
    // Nothing is held yet but trainers that are asked, and these die with us.
    const StopSignals signals([&](StopSignal) {
      LeaveState(options, *state, HasResults(*state));
      _exit(SayStopped(options));
    });
    return MakeSettings(options, *state, clock);
  }();
  if (!settings.ok()) {
    LeaveState(options, *state, HasResults(*state));
    return Refuse(settings.status());
  }
  settings->ends_at = start + options.lifetime;
  settings->leaves_at = start + options.leave_after;
  LogStart(*settings, *state);
  Worker worker(*std::move(settings), *state, clock);
  const StopSignals signals([&worker](StopSignal signal) { worker.Stop(signal); });
  const int code = worker.Run();
  if (worker.has_undying()) _exit(code);
  // A worker that could not look into its spool knows of nothing there.
  LeaveState(options, *state, worker.has_results() || HasResults(*state));
  return code;
}

}  // namespace

}  // namespace noisefloor

int main(int argc, char** argv) {
  return noisefloor::Main(std::vector<std::string>(argv + 1, argv + argc));
}
