// Trains a sweep with a worker beside this process, as `run`, `replay` and `infer` do, or with the
// workers of a coordinator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/local_worker.h"

namespace noisefloor::cli {

// The home with a coordinator in this process. A worker that an earlier one has left there, and
// that finishes what it trains, is waited for first: its results count when the next worker brings
// them before their leases end.
// `page`: see Connection::Wish.
absl::StatusOr<Connection> OpenToTrain(const Context& context, Connection::Home home,
                                       const std::string& page = "");

struct TrainedHere {
  v1::SweepSummary sweep;
  bool stopped = false;  // By a signal, before all had ended.
};

// Starts the worker, calls `submit` once it has registered, follows the sweep that it answers with,
// and lets the worker finish what it trains for a while. A worker that ends by itself is an error
// with the end of its log. Main thread.
absl::StatusOr<TrainedHere> TrainHere(
    Context& context, Connection& connection, const LocalWorkerSettings& worker,
    const std::function<absl::StatusOr<uint64_t>(Connection&)>& submit);

// InvalidArgument, with the names that there are, when one is no hardware class's. Of `--hardware`.
absl::Status CheckClassNames(const std::vector<std::string>& names);

// What a member needs to be trained or evaluated.
struct NeededPlace {
  std::string hardware = "any";
  std::string stack = "any";
  bool infers = false;  // By a trainer that evaluates weights that it is given.
};
// FailedPrecondition where this machine has no such place: where only it trains, that would be
// waited for in vain.
absl::Status CheckIsHere(Connection& connection, const NeededPlace& place);

// The coordinator that is named, or that holds the home; else the home, as OpenToTrain.
absl::StatusOr<Connection> OpenToTrainSomewhere(const Context& context);

// TrainHere where the connection's coordinator is in this process, else with its workers.
absl::StatusOr<TrainedHere> TrainSomewhere(
    Context& context, Connection& connection, const LocalWorkerSettings& worker,
    const std::function<absl::StatusOr<uint64_t>(Connection&)>& submit);

// Cancels what nobody would ask for: who began it has gone. The exit code.
absl::StatusOr<int> Withdraw(const Context& context, Connection& connection,
                             const v1::SweepSummary& sweep);

}  // namespace noisefloor::cli
