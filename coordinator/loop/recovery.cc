#include "coordinator/loop/recovery.h"

#include <string>

#include "common/log/log.h"

namespace noisefloor {

absl::StatusOr<scheduler::Scheduler> RecoverScheduler(Store& store, scheduler::Options options,
                                                      absl::Time now) {
  NF_ASSIGN_OR_RETURN(const scheduler::RecoveredState state, store.Recover());
  scheduler::Scheduler scheduler = scheduler::Scheduler::Restore(options, state, now);
  std::string broken;
  for (const std::string& invariant : scheduler.BrokenInvariants()) broken += "; " + invariant;
  if (!broken.empty()) {
    return MakeError(absl::StatusCode::kDataLoss, "the store holds an impossible state" + broken);
  }
  LogInfo("recovered", {{"sweeps", state.sweeps.size()},
                        {"live_leases", state.leases.size()},
                        {"workers", state.workers.size()},
                        {"last_lease", state.last_lease.value}});
  return scheduler;
}

}  // namespace noisefloor
