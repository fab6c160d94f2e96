// What this machine has that can train.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/devices/cpu.h"
#include "worker/devices/gpu.h"

namespace noisefloor {

struct Host {
  std::string name;
  std::string kernel;  // "Linux 6.1.0-18-amd64"
  CpuFacts cpu;
  std::vector<int> cores;  // That we may use.
  // A part of the time of all processors is ours, as many as `cores`, not certain ones of them:
  // others have theirs on the same.
  bool cores_are_shared = false;
  GpuInventory gpus;  // That we may use.
  // Whoever started the worker says what the host is: the one class of its processors' slots, and
  // no other is offered. "" = its classes are those that are found.
  std::string declared = {};
};

// Reads the machine. Honours CUDA_VISIBLE_DEVICES, the CPU affinity of this process and the quota
// of its control group. GPUs that cannot be used are there with what is wrong with them.
absl::StatusOr<Host> ReadHost(const std::string& nvml_library = "libnvidia-ml.so.1");

// With fewer processors' worth of time than there are processors: so many whole ones, at least one.
void BoundCores(std::optional<double> quota, Host& host);

// The classes to offer, the fastest first: all that the host has when `wanted` is empty, else
// exactly those, each of which it must have; of GPUs by the name of one, or as slots with
// `gpus_per_slot` of them are offered: ClassOfSeveral. They come by the name of one. Pure.
absl::StatusOr<std::vector<std::string>> ChooseClasses(const Host& host,
                                                       const std::vector<std::string>& wanted,
                                                       uint32_t gpus_per_slot = 1);

}  // namespace noisefloor
