// What a coordinator tells of itself, as Prometheus reads it. deploy/README.md has the table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "coordinator/figures/call_figures.h"
#include "coordinator/figures/loop_figures.h"
#include "coordinator/scheduler/scheduler.h"

namespace noisefloor::metrics {

// Where the figures are. All of it outlives its readers; the functions may be called on any thread
// and cost what they return.
struct Sources {
  const figures::LoopFigures& loop;
  const figures::UploadFigures& uploads;
  const figures::CallFigures& calls;
  std::function<scheduler::ClassCounts()> members;
  std::function<uint64_t()> workers_connected;
  std::function<uint64_t()> mailbox_depth;
  std::function<bool()> can_keep;
  std::string wal_path;
  std::string version;
};

// In the text format, version 0.0.4. Costs do not grow with sweeps, members, records or events.
std::string Text(const Sources& sources);

}  // namespace noisefloor::metrics
