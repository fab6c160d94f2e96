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

bool IsErrorOfCuda(const std::exception& error) {
  if (dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr) return true;
  // Of a kernel of our own, and of calls of the driver.
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  if (torch_error == nullptr) return false;
  const std::string_view text = torch_error->what_without_backtrace();
  return text.starts_with("CUDA error: ") || text.starts_with("CUDA driver error: ");
}

bool ReducesFp16(const at::Context& context) { return Reduces(context.allowFP16ReductionCuBLAS()); }

bool ReducesBf16(const at::Context& context) { return Reduces(context.allowBF16ReductionCuBLAS()); }

std::string CpuCapability() { return at::get_cpu_capability(); }

}  // namespace noisefloor::trainer
