// How much of the processors' time this process may use, where that is bounded otherwise than by
// which of them: a container's `--cpus`, the limits of a pod, CPUQuota= of a unit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace noisefloor {

// In processors, of this process's control group and all above it; nothing: no bound that can be
// seen. Versions 1 and 2 of control groups.
std::optional<double> CpuQuota(const std::string& groups = "/sys/fs/cgroup",
                               const std::string& own = "/proc/self/cgroup");

// "150000 100000" is 1.5, "max 100000" nothing, as is what is neither. Pure.
std::optional<double> ParseCpuMax(std::string_view text);

}  // namespace noisefloor
