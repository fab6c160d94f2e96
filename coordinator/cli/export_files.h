// The files of an exported sweep, written into a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/stop_signal.h"

namespace noisefloor::cli {

// Everything, or what exports::ReadExport reads.
enum class ExportWish { kAll, kToCompare };

struct Exported {
  size_t members = 0;
  bool page = false;
  bool inference = false;  // And no study.
  size_t files = 0;
  uint64_t bytes = 0;
  size_t collected = 0;  // Files that made room and are not there any more.
};

// Makes the folder. What was written before an error stays. Cancelled once a signal has come
// (`stop` may be null).
absl::StatusOr<Exported> WriteExport(const Context& context, Connection& connection, uint64_t sweep,
                                     ExportWish wish, const std::string& folder,
                                     const StopSignal* stop);

}  // namespace noisefloor::cli
