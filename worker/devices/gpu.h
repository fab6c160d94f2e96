// NVIDIA GPUs, as their driver tells of them: a machine without a driver has none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor {

// A GPU, or a part of one that is divided (MIG).
struct Gpu {
  std::string name;  // "NVIDIA H200", "NVIDIA H200 MIG 1g.18gb"; "" = it does not say.
  std::string uuid;  // "GPU-8a3f...", "MIG-..."; "GPU at place 3" = it does not say.
  uint64_t memory_bytes = 0;
  std::string hardware_class = {};  // GpuClassOf its name: "nvidia-h200".
  std::string architecture = {};    // "sm_90"; "" = the driver does not say.
  std::string fault = {};           // Why nothing should be trained on it; "" = nothing is wrong.
  std::string note = {};            // What is worth knowing; "" = nothing.
};

struct GpuInventory {
  std::string driver;     // "575.57.08"; empty without GPUs.
  std::vector<Gpu> gpus;  // In the order of their PCI bus ids.
  std::string fault;      // Why no GPU can be seen though a driver is installed; "" = none.
};

// All GPUs of this machine, what is wrong with each, and with all of them. One that does not answer
// keeps none of the others away.
GpuInventory FindGpus(const std::string& library = "libnvidia-ml.so.1");

// The GPUs that CUDA_VISIBLE_DEVICES = `visible` leaves: indexes or UUIDs (or their beginnings);
// as in CUDA, the list ends at the first entry that names nothing. Pure.
std::vector<Gpu> VisibleGpus(const std::vector<Gpu>& gpus, std::string_view visible);

}  // namespace noisefloor
