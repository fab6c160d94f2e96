#include "coordinator/cli/local_worker.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/names.h"
#include "common/base/printable.h"
#include "common/files/directory.h"
#include "common/stacks/installed_stack.h"
#include "common/stacks/known_stacks.h"
#include "coordinator/cli/python_package.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kLookForEnd = absl::Milliseconds(100);
constexpr absl::Duration kRegistration = absl::Minutes(5);  // A hung device is asked for two.
constexpr std::string_view kWorkerName = "local";
// For one that was told to leave: its drain, and its end.
constexpr int kStateWaitSeconds = 50;
// Its coordinator lives in this process: gone for so long, it has ended, and what is not delivered
// waits for the next run.
constexpr int kGiveUpSeconds = 8;

std::string StateOf(const Context& context) { return context.options.home + "/worker"; }

ChildSettings Settings(const Context& context, const std::string& address,
                       const LocalWorkerSettings& wish) {
  ChildSettings settings;
  settings.program = context.program_folder + "/noisefloor-worker";
  settings.arguments = {"--coordinator=" + address,
                        fmt::format("--name={}", kWorkerName),
                        "--state=" + StateOf(context),
                        "--data-root=" + wish.data_roots,
                        fmt::format("--drain-timeout={}", kLocalWorkerDrainSeconds),
                        fmt::format("--give-up-after={}", kGiveUpSeconds),
                        fmt::format("--state-wait={}", kStateWaitSeconds)};
  if (wish.slots > 0) settings.arguments.push_back(fmt::format("--slots={}", wish.slots));
  if (wish.gpus_per_slot > 1) {
    settings.arguments.push_back(fmt::format("--gpus-per-slot={}", wish.gpus_per_slot));
  }
  if (!wish.trainers.empty()) {
    settings.arguments.emplace_back("--trainer=ours");
    const std::string path = PythonPathWithPackage(context.program_folder);
    if (!path.empty()) settings.variables["PYTHONPATH"] = path;
  }
  for (const std::string& trainer : wish.trainers) {
    settings.arguments.push_back("--trainer=" + trainer);
  }
  if (!wish.stacks.empty()) {
    settings.arguments.push_back(fmt::format("--stacks={}", fmt::join(wish.stacks, ",")));
  }
  settings.log_path = LocalWorkerLog(context);
  return settings;
}

absl::StatusOr<bool> IsRegistered(Connection& connection) {
  NF_ASSIGN_OR_RETURN(const v1::ListWorkersResponse answer,
                      connection.Call(&Stub::ListWorkers, v1::ListWorkersRequest()));
  return std::ranges::any_of(answer.workers(), [](const v1::WorkerSummary& worker) {
    return worker.connected() && worker.name() == kWorkerName;
  });
}

}  // namespace

bool LocalWorkerIsThere(const Context& context) {
  // A worker holds `lock` in its state directory for as long as it lives.
  const int file = open((StateOf(context) + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  const bool held = flock(file, LOCK_EX | LOCK_NB) != 0;
  close(file);
  return held;
}

absl::Status WaitUntilLocalWorkerHasLeft(const Context& context, const StopSignal& stop) {
  const absl::Duration give_up = context.clock.Steady() + absl::Seconds(kStateWaitSeconds);
  while (LocalWorkerIsThere(context)) {
    if (stop.WaitFor(kLookForEnd)) {
      return MakeError(absl::StatusCode::kCancelled, "stopped before the worker had left");
    }
    if (context.clock.Steady() >= give_up) {
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       fmt::format("{}: a worker still uses it after {} s; see {}",
                                   StateOf(context), kStateWaitSeconds, LocalWorkerLog(context)));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> OurStacksOf(std::vector<std::string> stacks) {
  std::erase_if(stacks, [](const std::string& name) { return FindKnownStack(name) == nullptr; });
  return stacks;
}

std::vector<std::string> InstalledOf(std::vector<std::string> stacks) {
  const char* cache = std::getenv("NOISEFLOOR_CACHE");
  const std::string folder = StacksFolder(cache == nullptr ? "" : cache);
  stacks = OurStacksOf(std::move(stacks));
  std::erase_if(stacks, [&](const std::string& name) {
    return !HasLibTorch(fmt::format("{}/{}", folder, name), *FindKnownStack(name));
  });
  return stacks;
}

CLI::Validator StackAndCommand() {
  return {[](std::string& text) {
            const size_t equals = text.find('=');
            const bool both = equals != std::string::npos && equals + 1 < text.size();
            if (both && IsName(text.substr(0, equals))) return std::string();
            return PrintableLine(text) +
                   ": expected STACK=COMMAND, such as \"mine=python train.py\"";
          },
          ""};
}

std::string LocalWorkerLog(const Context& context) { return context.options.home + "/worker.log"; }

absl::StatusOr<ChildProcess> StartLocalWorker(const Context& context, Connection& connection,
                                              const LocalWorkerSettings& settings,
                                              const StopSignal& stop) {
  NF_ASSIGN_OR_RETURN(
      ChildProcess worker,
      ChildProcess::Start(Settings(context, connection.coordinator()->address(), settings)));
  const absl::Duration give_up = context.clock.Steady() + kRegistration;
  while (context.clock.Steady() < give_up) {
    NF_ASSIGN_OR_RETURN(const bool registered, IsRegistered(connection));
    if (registered) return worker;
    if (stop.WaitFor(kLookForEnd, worker.ended_file())) {
      return MakeError(absl::StatusCode::kCancelled, "stopped before the worker was ready");
    }
    if (worker.Ended()) {
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       fmt::format("the worker ended with code {}; the end of {}:\n{}",
                                   worker.Wait(), LocalWorkerLog(context), worker.EndOfLog(10)));
    }
  }
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("the worker has not registered in {}; see {}",
                               absl::FormatDuration(kRegistration), LocalWorkerLog(context)));
}

}  // namespace noisefloor::cli
