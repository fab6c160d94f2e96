// What `doctor` looks at, one finding each: what was found, and what to do about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "noisefloor/v1/access_api.pb.h"
#include "noisefloor/v1/coordinator_api.pb.h"
#include "worker/devices/gpu_health.h"

namespace noisefloor::cli {

enum class Level : uint8_t { kOk, kWarning, kProblem };
std::string_view Name(Level level);  // "ok"

struct Finding {
  std::string check;  // "disk"
  Level level = Level::kOk;
  std::string text;
  std::string help;  // What to do; "" when all is well.
};

inline constexpr size_t kMostNamed = 5;  // Workers or files, in one finding.

// ---- What is known, judged. Pure.

Finding JudgeRoom(uint64_t free_bytes, uint64_t all_bytes);
// Where the bytes are; never a problem by itself.
Finding JudgeUse(const v1::GetStorageResponse& storage);
Finding JudgeSync(absl::Duration median);
// `offset`: the coordinator's clock against this one; `known_to`: half of what the call took.
Finding JudgeClock(absl::Duration offset, absl::Duration known_to);
Finding JudgeFileLimit(uint64_t soft);
Finding JudgeWorkers(const v1::ListWorkersResponse& workers, absl::Time now);
Finding JudgeVersions(const std::string& program, const std::string& coordinator,
                      const v1::ListWorkersResponse& workers);
Finding JudgeToken(const v1::WhoAmIResponse& who, absl::Time now);
Finding JudgeCertificate(absl::Time expires, absl::Time now);
std::vector<Finding> JudgeGpus(const GpuReport& report);

// ---- What must be looked at on this machine.

// Writes and syncs a small file in `home` some times. A problem when that cannot be done.
Finding CheckSync(const std::string& home);
// Who may read or change the data directory.
Finding CheckPermissions(const std::string& home);
Finding CheckRoom(const std::string& home);

}  // namespace noisefloor::cli
