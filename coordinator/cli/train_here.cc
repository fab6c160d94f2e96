#include "coordinator/cli/train_here.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/cli/follow.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/offers.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/progress.h"

namespace noisefloor::cli {

namespace {

// For the worker to end what it trains, beyond what it gives itself.
constexpr absl::Duration kWorkerGrace = absl::Seconds(kLocalWorkerDrainSeconds + 15);

absl::Status EndedTooSoon(const Context& context, ChildProcess& worker) {
  return MakeError(absl::StatusCode::kInternal,
                   fmt::format("the worker ended with code {}; the end of {}:\n{}", worker.Wait(),
                               LocalWorkerLog(context), worker.EndOfLog(10)));
}

}  // namespace

absl::StatusOr<Connection> OpenToTrain(const Context& context, Connection::Home home,
                                       const std::string& page) {
  const Connection::Wish wish = {.home = home, .listen = "127.0.0.1:0", .page = page};
  {
    absl::StatusOr<Connection> connection = Connection::Open(context, wish);
    if (!connection.ok() || !LocalWorkerIsThere(context)) return connection;
  }
  context.err << "waiting for the worker of the run before, which finishes what it trains\n";
  const StopSignal stop;
  NF_RETURN_IF_ERROR(WaitUntilLocalWorkerHasLeft(context, stop));
  return Connection::Open(context, wish);
}

absl::StatusOr<TrainedHere> TrainHere(
    Context& context, Connection& connection, const LocalWorkerSettings& settings,
    const std::function<absl::StatusOr<uint64_t>(Connection&)>& submit) {
  StopSignal stop;
  NF_ASSIGN_OR_RETURN(ChildProcess worker, StartLocalWorker(context, connection, settings, stop));
  NF_ASSIGN_OR_RETURN(const uint64_t sweep, submit(connection));
  TrainedHere trained;
  NF_ASSIGN_OR_RETURN(
      trained.sweep,
      FollowSweep(context, connection, sweep,
                  {.stop = &stop, .also_stop_on = worker.ended_file(), .quiet = true}));
  trained.stopped = stop.Requested();
  if (worker.Ended() && !HasEnded(trained.sweep) && !trained.stopped) {
    return EndedTooSoon(context, worker);
  }
  stop.Clear();
  if (trained.stopped) {
    context.err << fmt::format("stopping: at most {} s for what trains; Ctrl-C again: at once\n",
                               kLocalWorkerDrainSeconds);
  }
  // A second Ctrl-C kills it, and with it its trainers: they die with who started them.
  worker.Stop(kWorkerGrace, stop.file());
  v1::GetSweepRequest request;
  request.set_sweep_id(sweep);
  NF_ASSIGN_OR_RETURN(v1::GetSweepResponse after, connection.Call(&Stub::GetSweep, request));
  trained.sweep = std::move(*after.mutable_sweep());
  return trained;
}

absl::Status CheckClassNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (ParseHardwareClass(name, /*kernels_fixed=*/true).ok()) continue;
    return InvalidInput(fmt::format("--hardware={}: expected {}", name, kHardwareClassNames));
  }
  return absl::OkStatus();
}

absl::Status CheckIsHere(Connection& connection, const NeededPlace& place) {
  NF_ASSIGN_OR_RETURN(const v1::ListWorkersResponse answer,
                      connection.Call(&Stub::ListWorkers, v1::ListWorkersRequest()));
  const bool any_class = place.hardware == "any";
  const bool any_stack = place.stack == "any";
  const std::string wanted = fmt::format("{}{}", any_class ? "hardware class" : place.hardware,
                                         any_stack ? "" : " with stack " + place.stack);
  bool fits = false;
  std::string has;
  for (const v1::WorkerSummary& worker : answer.workers()) {
    if (!worker.connected()) continue;
    for (const v1::Offer& offer : worker.inventory().offers()) {
      if (!any_class && offer.hardware_class() != place.hardware) continue;
      if (!any_stack && offer.stack() != place.stack) continue;
      if (offer.infers() || !place.infers) return absl::OkStatus();
      fits = true;
    }
    has = ClassesText(worker.inventory());
    if (!any_stack) has += fmt::format(" with {}", fmt::join(StacksOf(worker.inventory()), ", "));
  }
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      fits ? fmt::format("{}: its trainer here evaluates no weights that it is given", wanted)
           : fmt::format("this machine has no {}; it has {}", wanted, has));
}

absl::StatusOr<Connection> OpenToTrainSomewhere(const Context& context) {
  NF_ASSIGN_OR_RETURN(const std::optional<FoundCoordinator> named, FindCoordinator(context));
  if (named) return Connection::Open(context, {.home = Connection::Home::kToChange});
  absl::StatusOr<Connection> here = OpenToTrain(context, Connection::Home::kToChange);
  const bool held = !here.ok() && !HolderAddress(here.status()).empty();
  return held ? Connection::Open(context, {.home = Connection::Home::kToChange}) : std::move(here);
}

absl::StatusOr<TrainedHere> TrainSomewhere(
    Context& context, Connection& connection, const LocalWorkerSettings& worker,
    const std::function<absl::StatusOr<uint64_t>(Connection&)>& submit) {
  if (!connection.remote()) return TrainHere(context, connection, worker, submit);
  const StopSignal stop;
  TrainedHere trained;
  NF_ASSIGN_OR_RETURN(const uint64_t sweep, submit(connection));
  NF_ASSIGN_OR_RETURN(trained.sweep,
                      FollowSweep(context, connection, sweep, {.stop = &stop, .quiet = true}));
  trained.stopped = stop.Requested();
  return trained;
}

absl::StatusOr<int> Withdraw(const Context& context, Connection& connection,
                             const v1::SweepSummary& sweep) {
  v1::CancelSweepRequest request;
  request.set_sweep_id(sweep.id());
  NF_RETURN_IF_ERROR(connection.Call(&Stub::CancelSweep, request).status());
  context.err << fmt::format("stopped; s{} is cancelled\n", sweep.id());
  return kStopped;
}

}  // namespace noisefloor::cli
