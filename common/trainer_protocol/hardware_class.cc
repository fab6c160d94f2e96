#include "common/trainer_protocol/hardware_class.h"

#include <array>
#include <cctype>
#include <charconv>

namespace noisefloor {

namespace {

constexpr std::string_view kGpuPrefix = "nvidia-";

struct CpuRow {
  std::string_view name;
  std::string_view vendor;
  std::string_view aten;       // ATEN_CPU_CAPABILITY
  std::string_view aten_says;  // What LibTorch answers then.
  std::string_view onednn;     // ONEDNN_MAX_CPU_ISA
  std::string_view mkl;        // MKL_CBWR
};
// MKL takes the named branches (SSE4_2, AVX2, AVX512) on Intel's processors only. On others it
// obeys AUTO and COMPATIBLE, and answers any other name with a mode of its own choice, so those
// names would be worse than nothing there. COMPATIBLE is an SSE2 path: right for the class that
// means the oldest kernels, far too slow to stand for the others. AUTO keeps the branch that MKL
// picks for the processor and makes its results repeat; between avx2 and avx512 of one AMD
// processor, then, ATen and oneDNN differ and MKL does not.
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

// The trainer sets its thread counts itself, per member; until then no library starts threads, and
// none may change a count by itself.
const Variables& Common() {
  static const Variables variables = {{"OMP_NUM_THREADS", "1"},
                                      {"MKL_NUM_THREADS", "1"},
                                      {"OMP_DYNAMIC", "FALSE"},
                                      {"MKL_DYNAMIC", "FALSE"}};
  return variables;
}

HardwareClass OfCpu(const CpuRow& row) {
  HardwareClass hardware;
  hardware.vendor = row.vendor;
  hardware.aten_capability = row.aten_says;
  hardware.variables = Common();
  hardware.variables["ATEN_CPU_CAPABILITY"] = row.aten;
  hardware.variables["ONEDNN_MAX_CPU_ISA"] = row.onednn;
  hardware.variables["MKL_CBWR"] = row.mkl;
  hardware.variables["CUDA_VISIBLE_DEVICES"] = "";
  return hardware;
}

HardwareClass OfGpu(bool kernels_fixed) {
  HardwareClass hardware;
  hardware.gpu = true;
  hardware.variables = Common();
  hardware.variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  if (kernels_fixed) hardware.variables["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8";
  return hardware;
}

std::vector<std::string> LowerWords(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool IsAbout(std::string_view word, std::initializer_list<std::string_view> beginnings) {
  for (const std::string_view beginning : beginnings) {
    if (word.starts_with(beginning)) return true;
  }
  return false;
}

// Words alone, such as a misspelt `all`, and classes that are found are none.
bool IsDeclaredName(std::string_view name) {
  constexpr size_t kMost = 100;
  if (name.empty() || name.size() > kMost || IsCpuClass(name) || name.starts_with(kGpuPrefix)) {
    return false;
  }
  bool marked = false;
  for (const char c : name) {
    const bool lower = c >= 'a' && c <= 'z';
    const bool mark = (c >= '0' && c <= '9') || c == '-';
    if (!lower && !mark && c != '.') return false;
    marked = marked || mark;
  }
  const char first = name.front();
  return marked && first >= 'a' && first <= 'z' && name.back() != '-';
}

bool IsMemory(std::string_view word) {
  return word.size() > 2 && word.ends_with("gb") &&
         std::isdigit(static_cast<unsigned char>(word[0]));
}

}  // namespace

absl::StatusOr<HardwareClass> ParseHardwareClass(std::string_view name, bool kernels_fixed) {
  if (IsGpuClass(name)) return OfGpu(kernels_fixed);
  for (const CpuRow& row : kCpuRows) {
    if (row.name == name) return OfCpu(row);
  }
  if (IsDeclaredName(name)) {
    HardwareClass hardware;
    hardware.declared = true;
    hardware.variables = Common();
    return hardware;
  }
  return InvalidInput("hardware_class: '" + std::string(name) + "'; expected " +
                      std::string(kHardwareClassNames));
}

bool IsGpuClass(std::string_view hardware_class) {
  return hardware_class.starts_with(kGpuPrefix) && hardware_class.size() > kGpuPrefix.size();
}

bool IsCpuClass(std::string_view hardware_class) { return hardware_class.starts_with("cpu-"); }

std::vector<std::string> AllCpuClasses() {
  std::vector<std::string> names;
  names.reserve(std::size(kCpuRows));
  for (const CpuRow& row : kCpuRows) names.emplace_back(row.name);
  return names;
}

std::string ClassOfSeveral(std::string_view gpu_class, uint32_t count) {
  return std::string(gpu_class) + (count > 1 ? "-x" + std::to_string(count) : "");
}

GpuCount CountGpus(std::string_view gpu_class) {
  const size_t mark = gpu_class.rfind("-x");
  const GpuCount one = {std::string(gpu_class), 1};
  if (mark == std::string_view::npos) return one;
  const std::string_view digits = gpu_class.substr(mark + 2);
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool is_count = error == std::errc() && end == digits.data() + digits.size() && count > 1 &&
                        !digits.starts_with('0');
  return is_count ? GpuCount{std::string(gpu_class.substr(0, mark)), count} : one;
}

uint32_t GpusPerSlot(std::string_view hardware_class) {
  return IsGpuClass(hardware_class) ? CountGpus(hardware_class).count : 1;
}

bool HasDevices(std::string_view hardware_class, int64_t devices) {
  return !IsGpuClass(hardware_class) || GpusPerSlot(hardware_class) == devices;
}

std::string GpuClassOf(std::string_view name, uint64_t memory_bytes) {
  std::string result = "nvidia";
  bool has_memory = false;
  bool varies = false;
  for (const std::string& word : LowerWords(name)) {
    if (IsAbout(word, {"nvidia", "tesla", "geforce", "sxm", "pcie", "hbm", "hgx"})) continue;
    has_memory = has_memory || IsMemory(word);
    varies = varies || word == "v100" || word == "p100" || word == "a100";
    result += "-" + word;
  }
  if (varies && !has_memory) {
    // Drivers report a little less than what is sold: round up to a multiple of 4 GiB.
    const uint64_t gib = (memory_bytes + (uint64_t{1} << 30) - 1) >> 30;
    result += "-" + std::to_string((gib + 3) / 4 * 4) + "gb";
  }
  return result;
}

}  // namespace noisefloor
