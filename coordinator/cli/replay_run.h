// Runs a trainer once, outside of any sweep, and hears what it says.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/trainer_protocol/json.h"
#include "coordinator/cli/stop_signal.h"
#include "worker/devices/class_variables.h"

namespace noisefloor::cli {

struct ReplayRun {
  std::string program;  // Path of the trainer.
  TrainerRequest request;
  Variables variables;
  std::string folder;  // Gets request.json and trainer.log; exists.
  std::function<void(const ProgressEvent&)> progress = {};
};

struct ReplayEnd {
  HelloEvent hello;
  OutcomeEvent outcome;  // Done or diverged.
};

// Main thread. Cancelled after a stop signal (the trainer is given time to end). A trainer that
// fails, breaks the protocol or dies is an error with the end of its log.
absl::StatusOr<ReplayEnd> RunTrainer(const ReplayRun& run, const StopSignal& stop);

}  // namespace noisefloor::cli
