#include "coordinator/cli/train_here.h"

#include "fmt/format.h"

#include "coordinator/cli/follow.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/progress.h"

namespace noisefloor::cli {

namespace {

// For the worker to end what it trains, beyond what it gives itself.
constexpr absl::Duration kWorkerGrace = absl::Seconds(kLocalWorkerDrainSeconds + 15);

absl::Status EndedTooSoon(const Context& context, ChildProcess& worker) {
  const std::string log = LocalWorkerLog(context);
  return MakeError(absl::StatusCode::kInternal,
                   fmt::format("the worker ended with code {}; the end of {}:\n{}", worker.Wait(),
                               log, LastLines(log, 10)));
}

}  // namespace

absl::StatusOr<Connection> OpenToTrain(const Context& context, Connection::Home home) {
  const Connection::Wish wish = {.home = home, .listen = "127.0.0.1:0"};
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

}  // namespace noisefloor::cli
