// From a request to its outcome: one member, once in a process.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/trainer_protocol/json.h"
#include "worker/trainer/data/data_cache.h"
#include "worker/trainer/torch/facts/environment.h"
#include "worker/trainer/torch/step/reporter.h"

namespace noisefloor::trainer {

// What this process is, before a member is known.
struct Process {
  const Build& build;
  const Json& observed;  // From ObserveLibraries.
  const std::optional<DataCache>& cache;
  std::string checkpoints;          // Folder of all members' checkpoints; empty: none are kept.
  absl::Duration checkpoint_every;  // Infinite: only when asked to stop.
};

// Tells hello, records, artifacts and the outcome through `reporter`. Returns kNone when the
// outcome is done or diverged, else the cause that was told. LibTorch's exceptions pass through.
CauseClass RunMember(const TrainerRequest& request, const Process& process, const Clock& clock,
                     Reporter& reporter);

// Tells an outcome of a member that could not be brought to an end; returns `cause`.
CauseClass TellFailure(CauseClass cause, std::string message, Reporter& reporter);

}  // namespace noisefloor::trainer
