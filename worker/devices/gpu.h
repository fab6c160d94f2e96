// NVIDIA GPUs, through NVML opened at run time: a machine without a driver has none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

struct Gpu {
  std::string name;  // "NVIDIA H200"
  std::string uuid;  // "GPU-8a3f..."
  uint64_t memory_bytes = 0;
  std::string hardware_class;  // GpuClassOf its name: "nvidia-h200".
};

struct GpuInventory {
  std::string driver;     // "575.57.08"; empty without GPUs.
  std::vector<Gpu> gpus;  // In the order of their PCI bus ids.
};

// All GPUs of this machine. Empty when `library` cannot be opened (no driver); Unavailable when
// NVML is there but fails.
absl::StatusOr<GpuInventory> FindGpus(const std::string& library = "libnvidia-ml.so.1");

// The GPUs that CUDA_VISIBLE_DEVICES = `visible` leaves: indexes or UUIDs (or their beginnings);
// as in CUDA, the list ends at the first entry that names nothing. Pure.
std::vector<Gpu> VisibleGpus(const std::vector<Gpu>& gpus, std::string_view visible);

}  // namespace noisefloor
