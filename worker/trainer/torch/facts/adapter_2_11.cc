#include <ATen/Version.h>
#include <c10/util/Exception.h>

#include <string_view>

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
  if (dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr) return true;
  // Of a kernel of our own.
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error != nullptr &&
         std::string_view(torch_error->what_without_backtrace()).starts_with("CUDA error: ");
}

bool ReducesFp16(const at::Context& context) { return Reduces(context.allowFP16ReductionCuBLAS()); }

bool ReducesBf16(const at::Context& context) { return Reduces(context.allowBF16ReductionCuBLAS()); }

std::string CpuCapability() { return at::get_cpu_capability(); }

}  // namespace noisefloor::trainer
