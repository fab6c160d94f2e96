#include "coordinator/cli/local_worker.h"

#include <algorithm>

#include "fmt/format.h"

#include "common/files/directory.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);
constexpr absl::Duration kRegistration = absl::Seconds(60);
constexpr std::string_view kWorkerName = "local";
// The worker of a `run` that was killed finishes what it trains, for a while; the next one waits
// for it to leave.
constexpr int kDrainSeconds = 30;
constexpr int kStateWaitSeconds = 50;

ChildSettings Settings(const Context& context, const std::string& address,
                       const LocalWorkerSettings& wish) {
  ChildSettings settings;
  settings.program = context.program_folder + "/noisefloor-worker";
  settings.arguments = {"--coordinator=" + address,
                        fmt::format("--name={}", kWorkerName),
                        "--state=" + context.options.home + "/worker",
                        "--data-root=" + wish.data_roots,
                        fmt::format("--drain-timeout={}", kDrainSeconds),
                        fmt::format("--give-up-after={}", kDrainSeconds),
                        fmt::format("--state-wait={}", kStateWaitSeconds)};
  if (wish.slots > 0) settings.arguments.push_back(fmt::format("--slots={}", wish.slots));
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
    if (stop.WaitFor(kLook, worker.ended_file())) {
      return MakeError(absl::StatusCode::kCancelled, "stopped before the worker was ready");
    }
    if (worker.Ended()) {
      const std::string log = LocalWorkerLog(context);
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       fmt::format("the worker ended with code {}; the end of {}:\n{}",
                                   worker.Wait(), log, LastLines(log, 10)));
    }
  }
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("the worker has not registered in {}; see {}",
                               absl::FormatDuration(kRegistration), LocalWorkerLog(context)));
}

}  // namespace noisefloor::cli
