#include "worker/devices/class_variables.h"

#include <array>

#include "fmt/format.h"

namespace noisefloor {

namespace {

struct CpuRow {
  std::string_view vendor;
  std::string_view set;
  std::string_view aten;
  std::string_view onednn;
  std::string_view mkl;
};
// MKL takes the named branches (SSE4_2, AVX2, AVX512) on Intel's processors only. On others it
// obeys AUTO and COMPATIBLE, and answers any other name by switching reproducibility off, so those
// names would be worse than nothing there. COMPATIBLE is an SSE2 path: right for the class that
// means the oldest kernels, far too slow to stand for the others. AUTO keeps the branch that MKL
// picks for the processor and makes its results repeat; between avx2 and avx512 of one AMD
// processor, then, ATen and oneDNN differ and MKL does not.
constexpr std::array<CpuRow, 9> kCpuRows = {{
    {"intel", "sse", "default", "SSE41", "SSE4_2"},
    {"intel", "avx2", "avx2", "AVX2", "AVX2"},
    {"intel", "avx512", "avx512", "AVX512_CORE", "AVX512"},
    {"amd", "sse", "default", "SSE41", "COMPATIBLE"},
    {"amd", "avx2", "avx2", "AVX2", "AUTO"},
    {"amd", "avx512", "avx512", "AVX512_CORE", "AUTO"},
    {"other", "sse", "default", "SSE41", "COMPATIBLE"},
    {"other", "avx2", "avx2", "AVX2", "AUTO"},
    {"other", "avx512", "avx512", "AVX512_CORE", "AUTO"},
}};

// The trainer sets its thread counts itself, per member; until then no library starts threads, and
// none may change a count by itself.
const Variables& Common() {
  static const Variables variables = {{"OMP_NUM_THREADS", "1"},
                                      {"MKL_NUM_THREADS", "1"},
                                      {"OMP_DYNAMIC", "FALSE"},
                                      {"MKL_DYNAMIC", "FALSE"}};
  return variables;
}

constexpr std::string_view kWorkspace = ":4096:8";

Variables OfCpu(const CpuRow& row) {
  Variables variables = Common();
  variables["ATEN_CPU_CAPABILITY"] = row.aten;
  variables["ONEDNN_MAX_CPU_ISA"] = row.onednn;
  variables["MKL_CBWR"] = row.mkl;
  variables["CUDA_VISIBLE_DEVICES"] = "";
  return variables;
}

Variables OfGpu(const ClassRequest& request) {
  Variables variables = Common();
  variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  variables["CUDA_VISIBLE_DEVICES"] = request.gpu_uuid;
  if (request.kernels_fixed) variables["CUBLAS_WORKSPACE_CONFIG"] = kWorkspace;
  return variables;
}

std::string ToLine(std::string_view name, const Variables& variables) {
  std::string line(name);
  for (const auto& [key, value] : variables) line += fmt::format(" {}={}", key, value);
  return line + "\n";
}

}  // namespace

bool IsGpuClass(std::string_view hardware_class) { return hardware_class.rfind("nvidia-", 0) == 0; }

absl::StatusOr<Variables> VariablesOf(const ClassRequest& request) {
  for (const CpuRow& row : kCpuRows) {
    if (request.hardware_class == fmt::format("cpu-{}-{}", row.vendor, row.set)) return OfCpu(row);
  }
  if (!IsGpuClass(request.hardware_class)) {
    return InvalidInput(
        fmt::format("hardware class '{}': expected cpu-VENDOR-sse, -avx2 or -avx512 (vendor intel, "
                    "amd or other), or nvidia-MODEL",
                    request.hardware_class));
  }
  if (request.gpu_uuid.empty()) {
    return InvalidInput(
        fmt::format("hardware class '{}': this slot has no GPU", request.hardware_class));
  }
  return OfGpu(request);
}

std::string VariablesTable() {
  std::string table;
  for (const CpuRow& row : kCpuRows) {
    table += ToLine(fmt::format("cpu-{}-{}", row.vendor, row.set), OfCpu(row));
  }
  table += ToLine("nvidia fixed", OfGpu({.gpu_uuid = "UUID", .kernels_fixed = true}));
  table += ToLine("nvidia free", OfGpu({.gpu_uuid = "UUID", .kernels_fixed = false}));
  return table;
}

}  // namespace noisefloor
