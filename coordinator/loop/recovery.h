// From what is on disk to a scheduler that goes on where the last process ended.
#pragma once

#include "absl/time/time.h"

#include "common/base/status.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/store/store.h"

namespace noisefloor {

// DataLoss when the store holds a state that no sequence of steps leads to; the message lists the
// invariants that are broken.
absl::StatusOr<scheduler::Scheduler> RecoverScheduler(Store& store, scheduler::Options options,
                                                      absl::Time now);

}  // namespace noisefloor
