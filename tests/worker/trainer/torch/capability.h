// Whether LibTorch may run here as it was told to: ATEN_CPU_CAPABILITY is believed, and what a
// processor does not have ends a process.
#pragma once

#include <ATen/Version.h>

#include <string>

namespace noisefloor::trainer {

inline bool ProcessorHasAtensCapability() {
  const std::string capability = at::get_cpu_capability();
  if (capability == "AVX512") return __builtin_cpu_supports("avx512vl") != 0;
  return capability != "AVX2" || __builtin_cpu_supports("avx2") != 0;
}

}  // namespace noisefloor::trainer
