#include "worker/trainer/torch/hardware.h"

#include <array>

namespace noisefloor::trainer {

namespace {

// The worker sets the same before it starts a trainer (worker/devices/class_variables.cc, which
// says why; a test compares the two). Here they are for a person's own run, and to check by.
struct CpuRow {
  std::string_view name;
  std::string_view vendor;
  std::string_view aten;       // ATEN_CPU_CAPABILITY
  std::string_view aten_says;  // What at::get_cpu_capability answers then.
  std::string_view onednn;     // ONEDNN_MAX_CPU_ISA
  std::string_view mkl;        // MKL_CBWR
};
constexpr std::array<CpuRow, 9> kCpuRows = {{
    {"cpu-intel-sse", "intel", "default", "DEFAULT", "SSE41", "SSE4_2"},
    {"cpu-intel-avx2", "intel", "avx2", "AVX2", "AVX2", "AVX2"},
    {"cpu-intel-avx512", "intel", "avx512", "AVX512", "AVX512_CORE", "AVX512"},
    {"cpu-amd-sse", "amd", "default", "DEFAULT", "SSE41", "COMPATIBLE"},
    {"cpu-amd-avx2", "amd", "avx2", "AVX2", "AVX2", "AUTO"},
    {"cpu-amd-avx512", "amd", "avx512", "AVX512", "AVX512_CORE", "AUTO"},
    {"cpu-other-sse", "other", "default", "DEFAULT", "SSE41", "COMPATIBLE"},
    {"cpu-other-avx2", "other", "avx2", "AVX2", "AVX2", "AUTO"},
    {"cpu-other-avx512", "other", "avx512", "AVX512", "AVX512_CORE", "AUTO"},
}};

// Thread counts are set per member; until then no library starts threads or changes a count.
const std::vector<Variable>& Common() {
  static const std::vector<Variable> variables = {{"OMP_NUM_THREADS", "1"},
                                                  {"MKL_NUM_THREADS", "1"},
                                                  {"OMP_DYNAMIC", "FALSE"},
                                                  {"MKL_DYNAMIC", "FALSE"}};
  return variables;
}

constexpr std::string_view kExpected =
    "; expected cpu-VENDOR-sse, -avx2 or -avx512 with vendor intel, amd or other, or nvidia-MODEL";

}  // namespace

absl::StatusOr<HardwareClass> ParseHardwareClass(std::string_view name) {
  HardwareClass hardware;
  if (name.empty()) return hardware;
  if (name.starts_with("nvidia-") && name.size() > 7) {
    hardware.gpu = true;
    hardware.variables = Common();
    hardware.variables.push_back({"CUDA_DEVICE_ORDER", "PCI_BUS_ID"});
    hardware.variables.push_back({"CUBLAS_WORKSPACE_CONFIG", ":4096:8"});
    return hardware;
  }
  for (const CpuRow& row : kCpuRows) {
    if (name != row.name) continue;
    hardware.vendor = row.vendor;
    hardware.aten_capability = row.aten_says;
    hardware.variables = Common();
    hardware.variables.push_back({"ATEN_CPU_CAPABILITY", std::string(row.aten)});
    hardware.variables.push_back({"ONEDNN_MAX_CPU_ISA", std::string(row.onednn)});
    hardware.variables.push_back({"MKL_CBWR", std::string(row.mkl)});
    return hardware;
  }
  return InvalidInput("hardware_class: '" + std::string(name) + "'" + std::string(kExpected));
}

}  // namespace noisefloor::trainer
