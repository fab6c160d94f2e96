// Every switch of LibTorch, cuDNN, cuBLAS and oneDNN that can change bits: set, then read back
// through another call, so that a run proves its own conditions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/specification.h"

namespace noisefloor::trainer {

struct SwitchPlan {
  bool deterministic = true;  // Off when the source `kernels` is free.
  // With `deterministic`: what LibTorch cannot vouch for warns and does not throw. The kernels are
  // the same. For a process without the variable by which cuBLAS is vouched for.
  bool warn_only = false;
  bool autotune = false;        // On when the source `autotune` is free.
  bool tf32 = false;            // On when train.precision is.
  int64_t threads = 1;          // Intra-op threads.
  std::string aten_capability;  // Expected of the variables set before; empty: any.
};

SwitchPlan PlanSwitches(const Specification& specification, int64_t threads);

struct SwitchReading {
  std::string name;
  std::string asked;
  std::string read;
};

// Process-wide; call while no tensor operation runs on another thread.
std::vector<SwitchReading> SetSwitches(const SwitchPlan& plan);

// Internal, naming the first switch that does not read as asked.
absl::Status CheckReadings(const std::vector<SwitchReading>& readings);

}  // namespace noisefloor::trainer
