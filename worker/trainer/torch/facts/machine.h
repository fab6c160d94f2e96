// What this process runs on, as JSON objects: read from the system, nothing measured. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/trainer_protocol/json_reader.h"

namespace noisefloor::trainer {

// "intel", "amd" or "other": the vendor in a hardware class's name.
std::string CpuVendor();

// Processor, caches, cores, memory, kernel, C library, host name; the machine's maker and product,
// which in a cloud name its type; the container's image, where NOISEFLOOR_IMAGE says it.
Json MachineJson();

// The variables that can change what a trainer computes or how fast: of LibTorch, oneDNN, MKL,
// OpenMP, CUDA, the loader and the allocator. Nothing else of the environment is shown.
Json VariablesJson();

// The GPUs that CUDA shows, in its order, through libraries that are open already; empty without
// one.
Json GpusJson();
// The first of them; null without one.
Json GpuJson();

// Its UUID as above; "" without.
std::string GpuUuid();

// "13.1.0": of cuBLAS, when it is open; else "".
std::string CublasVersion();
// 13000 and 91200: of CUDA's runtime and of cuDNN, when they are open; else 0.
int64_t CudaRuntimeVersion();
int64_t CudnnVersion();

}  // namespace noisefloor::trainer
