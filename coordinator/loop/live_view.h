// What only the running coordinator knows, as one immutable value for those who read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "coordinator/scheduler/scheduler.h"

namespace noisefloor {

struct LiveView {
  std::vector<scheduler::WorkerStatus> workers;          // By number.
  std::map<LeaseId, scheduler::RunningAttempt> running;  // Live leases.
  std::vector<std::string> classes;                      // Of connected workers, sorted.
  std::vector<std::string> stacks;                       // Of connected workers, sorted.
  std::string storage_problem;                           // Why nothing can be kept now, or empty.
};

}  // namespace noisefloor
