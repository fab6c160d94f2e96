// What this machine offers: classes, slots' devices, and who it is.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/devices/cpu.h"
#include "worker/devices/gpu.h"

namespace noisefloor {

struct OfferedClass {
  std::string name;    // "cpu-amd-avx2"
  std::string device;  // "AMD EPYC 9654 96-Core Processor"
  friend bool operator==(const OfferedClass&, const OfferedClass&) = default;
};

struct Host {
  std::string name;
  std::string kernel;  // "Linux 6.1.0-18-amd64"
  CpuFacts cpu;
  std::vector<int> cores;  // That we may use.
  GpuInventory gpus;       // That we may use.
};

// Reads the machine. Honours CUDA_VISIBLE_DEVICES and the CPU affinity of this process.
absl::StatusOr<Host> ReadHost(const std::string& nvml_library = "libnvidia-ml.so.1");

// The offered classes: all of the host when `wanted` is empty, else exactly those, each of which
// the host must have. GPUs of several models in one worker are refused, since any slot must be
// able to run any class: start one worker per model, with --classes. Pure.
absl::StatusOr<std::vector<OfferedClass>> ChooseClasses(const Host& host,
                                                        const std::vector<std::string>& wanted);

// GPUs of the chosen classes: slot i has number i modulo their count. Pure.
std::vector<Gpu> ChooseGpus(const Host& host, const std::vector<OfferedClass>& classes);

// The physical device: GPU UUIDs, or the host and its processor. Pure.
std::string UnitOf(const Host& host, const std::vector<Gpu>& gpus);

}  // namespace noisefloor
