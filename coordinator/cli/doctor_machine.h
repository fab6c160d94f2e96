// What `doctor` finds on this machine besides the data directory: what crashed programs left, who
// has the coordinator's port, and what workers keep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/cli/caches.h"
#include "coordinator/cli/doctor_checks.h"

namespace noisefloor::cli {

// What becomes of a program that crashes.
struct CoreRule {
  std::string pattern;       // As /proc/sys/kernel/core_pattern has it.
  bool may_be_large = true;  // Whether a process may leave one at all: `ulimit -c` is not 0.
};
CoreRule ReadCoreRule();

struct CrashFile {
  std::string path;
  uint64_t bytes = 0;
};
// Core dumps (by what they hold, whatever their names are) in these folders and in the trainers'
// folders below `spool` of them, and what the system's own collector keeps of our programs where
// the pattern says. What cannot be read is passed over.
std::vector<CrashFile> FindCrashFiles(const std::vector<std::string>& folders,
                                      const CoreRule& rule);
Finding JudgeCrashes(const CoreRule& rule, const std::vector<CrashFile>& files);

// Who listens on a port of this machine. Nobody: nothing.
struct PortHolder {
  int process = 0;   // 0: another user's, whose number only root may see.
  std::string name;  // Of its program.
};
std::optional<PortHolder> FindPortHolder(uint16_t port);
// `address`: where `serve` would listen in that data directory.
Finding JudgePort(const std::string& address, const std::optional<PortHolder>& holder);

// One driver for each model of GPU: results of others are never mixed.
Finding JudgeDrivers(const v1::ListWorkersResponse& workers);

Finding JudgeCaches(const absl::StatusOr<CacheUse>& use);

}  // namespace noisefloor::cli
