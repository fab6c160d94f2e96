// What the name of a hardware class means: for the worker, which makes a trainer run as one, and
// for the trainer, which checks that it does. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

// Of a process's environment.
using Variables = std::map<std::string, std::string>;

struct HardwareClass {
  bool gpu = false;
  // Of hardware that we do not find by ourselves: its worker was told its name, and its trainers
  // know what it is.
  bool declared = false;
  std::string vendor;           // Of a CPU class: "intel", "amd" or "other".
  std::string aten_capability;  // Of a CPU class, as LibTorch says it: "DEFAULT", "AVX2", "AVX512".
  // What must be set before a trainer starts. A CPU class sees no GPU; which one a GPU class sees
  // is not the class's to say.
  Variables variables;
};

// What a name of a class looks like, for refusals.
inline constexpr std::string_view kHardwareClassNames =
    "cpu-VENDOR-sse, -avx2 or -avx512 with vendor intel, amd or other, nvidia-MODEL, or what a "
    "worker declares, such as tpu-v4";

// "cpu-amd-avx2", "nvidia-h200", "tpu-v4"; a declared name is of lower-case letters, digits, '-'
// and
// '.', begins with a letter and has a digit or a '-'. `kernels_fixed`: a GPU class asks cuBLAS for
// a deterministic workspace. InvalidArgument for a name that is no class's.
absl::StatusOr<HardwareClass> ParseHardwareClass(std::string_view name, bool kernels_fixed);

bool IsGpuClass(std::string_view hardware_class);
// Of processors: the others are GPUs, or declared.
bool IsCpuClass(std::string_view hardware_class);

// Every CPU class that there is, on whatever machine.
std::vector<std::string> AllCpuClasses();

// The class of a GPU of this name: "Tesla V100-SXM2-32GB" is nvidia-v100-32gb. The model and, where
// models differ in it, the memory; never the form factor.
std::string GpuClassOf(std::string_view name, uint64_t memory_bytes);

// Of members that train on `count` GPUs of the class at once: "nvidia-h200-x4"; of one the class
// itself. And back: of "nvidia-h200-x4" "nvidia-h200" and 4.
std::string ClassOfSeveral(std::string_view gpu_class, uint32_t count);
struct GpuCount {
  std::string one;
  uint32_t count = 1;
};
GpuCount CountGpus(std::string_view gpu_class);
// How many GPUs each slot of a worker has that offers the class: 1, but for GpuCount's.
uint32_t GpusPerSlot(std::string_view hardware_class);

// Whether members with this `train.devices` are trained on the class: on GPUs where it has exactly
// so many, so that none of a slot idles for what trains on fewer; on processors always, where each
// device is a copy of the weights; of declared hardware its own trainers know.
bool HasDevices(std::string_view hardware_class, int64_t devices);

}  // namespace noisefloor
