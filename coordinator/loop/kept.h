// What is said of writes that are on disk, to those who count and to the log.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/figures/loop_figures.h"
#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/scheduler.h"

namespace noisefloor {

// About how many rows the writes come to in the store: the time that a commit takes goes by them.
size_t RowsOf(const std::vector<scheduler::Write>& writes);

void CountKept(const std::vector<scheduler::Write>& writes, figures::LoopFigures& figures);

// Who had a member before these writes, and what a worker is called.
struct WhoRuns {
  std::function<std::optional<scheduler::RunningAttempt>(const MemberId&)> attempt;
  std::function<std::string(WorkerId)> name;
};

// A line for each event that was appended, by its kind, with the sweep, the member, the lease, the
// attempt and the worker that it is of, as far as there are any. What happens in every life is said
// at debug level, the rest at info. Costs a look at each write where nothing is to be said.
void LogKept(const std::vector<scheduler::Write>& writes, const WhoRuns& who);

}  // namespace noisefloor
