#include <ATen/Version.h>
#include <c10/util/Exception.h>

#include <string_view>

#include "worker/trainer/torch/facts/adapter.h"

namespace noisefloor::trainer {

// This version has no type of its own for it; the macros that check CUDA's calls begin so.
bool IsErrorOfCuda(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  if (torch_error == nullptr) return false;
  const std::string_view text = torch_error->what_without_backtrace();
  return text.starts_with("CUDA error: ") || text.starts_with("CUDA driver error: ");
}

bool ReducesFp16(const at::Context& context) { return context.allowFP16ReductionCuBLAS(); }

bool ReducesBf16(const at::Context& context) { return context.allowBF16ReductionCuBLAS(); }

std::string CpuCapability() {
  const std::string name = at::get_cpu_capability();
  return name == "NO AVX" ? "DEFAULT" : name;
}

}  // namespace noisefloor::trainer
