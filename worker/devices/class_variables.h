// The environment variables that a worker starts a trainer with. Pure.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/trainer_protocol/hardware_class.h"

namespace noisefloor {

struct ClassRequest {
  std::string hardware_class = {};  // "cpu-amd-avx2", "nvidia-h200"
  std::string gpu_uuid = {};        // Of a GPU class: the devices the trainer sees, by ','.
  bool kernels_fixed = true;        // See ParseHardwareClass.
};

// Those of the class and, for a GPU class, the one that shows the device. InvalidArgument for a
// name that is no class's and for a GPU class without a device.
absl::StatusOr<Variables> VariablesOf(const ClassRequest& request);

// All of the above as text: part of a stack's fingerprint, since other variables mean other bits.
std::string VariablesTable();

}  // namespace noisefloor
