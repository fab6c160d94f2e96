#include <ATen/Version.h>
#include <c10/util/Exception.h>

#include "worker/trainer/torch/facts/adapter.h"

namespace noisefloor::trainer {

namespace {

bool Reduces(at::CuBLASReductionOption option) {
  using Option = at::CuBLASReductionOption;
  return option != Option::DisallowReducedPrecisionAllowSplitK &&
         option != Option::DisallowReducedPrecisionDisallowSplitK;
}

}  // namespace

bool IsLostDevice(const std::exception& error) {
  return dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr;
}

bool ReducesFp16(const at::Context& context) { return Reduces(context.allowFP16ReductionCuBLAS()); }

bool ReducesBf16(const at::Context& context) { return Reduces(context.allowBF16ReductionCuBLAS()); }

std::string CpuCapability() { return at::get_cpu_capability(); }

}  // namespace noisefloor::trainer
