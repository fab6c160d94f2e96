// The worker that `run` starts beside itself.
#pragma once

#include <string>
#include <vector>

#include "CLI/App.hpp"

#include "common/base/status.h"
#include "coordinator/cli/child_process.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/stop_signal.h"

namespace noisefloor::cli {

// How long it may finish what it trains once it is told to leave.
inline constexpr int kLocalWorkerDrainSeconds = 30;

inline constexpr char kTrainerHelp[] =
    "a trainer of your own beside ours, such as \"mine=python train.py\", for a sweep that says "
    "stack: mine; may be repeated";
// Of an option with that help.
CLI::Validator StackAndCommand();

// Those of noisefloor's own, which a worker can be given by name.
std::vector<std::string> OurStacksOf(std::vector<std::string> stacks);
// Of those the ones that are installed: a worker that is given another one does not start.
std::vector<std::string> InstalledOf(std::vector<std::string> stacks);

struct LocalWorkerSettings {
  int slots = 0;  // 0: the worker decides.
  uint32_t gpus_per_slot = 1;
  std::string data_roots;                  // "a:b".
  std::vector<std::string> trainers = {};  // STACK=COMMAND, beside ours.
  std::vector<std::string> stacks = {};    // Of noisefloor's, that a sweep names.
};

// Starts it and waits until it has registered. Cancelled when `stop` came first; Unavailable with
// the end of its log when it ended instead.
absl::StatusOr<ChildProcess> StartLocalWorker(const Context& context, Connection& connection,
                                              const LocalWorkerSettings& settings,
                                              const StopSignal& stop);

// Whether a worker of this home is running, though no coordinator of this home is.
bool LocalWorkerIsThere(const Context& context);
// Cancelled when `stop` came first, FailedPrecondition when it is still there after its time.
absl::Status WaitUntilLocalWorkerHasLeft(const Context& context, const StopSignal& stop);

std::string LocalWorkerLog(const Context& context);

}  // namespace noisefloor::cli
