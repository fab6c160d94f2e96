// The files of an exported sweep, written into a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/stop_signal.h"

namespace noisefloor::cli {

struct Exported {
  size_t members = 0;
  bool page = false;
  bool inference = false;  // And no study.
  size_t files = 0;
  uint64_t bytes = 0;
  size_t collected = 0;  // Files that made room and are not there any more.
};

// Makes the folder. What was written before an error stays. Cancelled once a signal has come.
absl::StatusOr<Exported> WriteExport(const Context& context, Connection& connection, uint64_t sweep,
                                     const std::string& folder, const StopSignal& stop);

// What inputs::ReadExport reads, of arrays only predictions and true classes. Makes the folder.
// Cancelled once a signal has come.
absl::Status FetchAnswers(Connection& connection, uint64_t sweep, const std::string& folder,
                          const StopSignal& stop);

}  // namespace noisefloor::cli
