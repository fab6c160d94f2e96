#include "worker/trainer/torch/hardware.h"

#include <array>

namespace noisefloor::trainer {

namespace {

struct InstructionSet {
  std::string_view name;
  std::string_view aten;           // ATEN_CPU_CAPABILITY
  std::string_view aten_says;      // What at::get_cpu_capability answers then.
  std::string_view onednn;         // ONEDNN_MAX_CPU_ISA
  std::string_view mkl;            // MKL_CBWR
};
constexpr std::array<InstructionSet, 3> kInstructionSets = {{
    {"sse", "default", "DEFAULT", "SSE41", "SSE4_2"},
    {"avx2", "avx2", "AVX2", "AVX2", "AVX2"},
    {"avx512", "avx512", "AVX512", "AVX512_CORE", "AVX512"},
}};

constexpr std::string_view kExpected =
    "; expected cpu-VENDOR-sse, -avx2 or -avx512 with vendor intel or amd, or nvidia-MODEL";

}  // namespace

absl::StatusOr<HardwareClass> ParseHardwareClass(std::string_view name) {
  HardwareClass hardware;
  if (name.empty()) return hardware;
  if (name.starts_with("nvidia-") && name.size() > 7) {
    hardware.gpu = true;
    hardware.variables = {{"CUBLAS_WORKSPACE_CONFIG", ":4096:8"}};
    return hardware;
  }
  for (const std::string_view vendor : {"intel", "amd"}) {
    for (const InstructionSet& set : kInstructionSets) {
      if (name != "cpu-" + std::string(vendor) + "-" + std::string(set.name)) continue;
      hardware.vendor = vendor;
      hardware.aten_capability = set.aten_says;
      hardware.variables = {{"ATEN_CPU_CAPABILITY", std::string(set.aten)},
                            {"ONEDNN_MAX_CPU_ISA", std::string(set.onednn)},
                            {"MKL_CBWR", std::string(set.mkl)}};
      return hardware;
    }
  }
  return InvalidInput("hardware_class: '" + std::string(name) + "'" + std::string(kExpected));
}

}  // namespace noisefloor::trainer
