#include "worker/trainer/torch/facts/machine.h"

#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

extern char** environ;

namespace noisefloor::trainer {

namespace {

// The first line of a small system file, or empty.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of the first line "name<spaces>: value" of a file such as /proc/cpuinfo.
std::string Entry(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(name)) continue;
    if (line.find_first_not_of(" \t", name.size()) != colon) continue;
    const size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

constexpr std::array<std::string_view, 19> kShownFlags = {
    "sse2",     "sse4_1",   "sse4_2",   "avx",        "avx2",        "fma",         "f16c",
    "avx512f",  "avx512dq", "avx512bw", "avx512vl",   "avx512_vnni", "avx512_bf16", "avx512_fp16",
    "avx_vnni", "amx_tile", "amx_bf16", "avx512vbmi", "hypervisor"};

Json FlagsJson() {
  std::istringstream words(Entry("/proc/cpuinfo", "flags"));
  std::set<std::string> all;
  for (std::string word; words >> word;) all.insert(word);
  Json shown = Json::array();
  for (const std::string_view flag : kShownFlags) {
    if (all.contains(std::string(flag))) shown.push_back(flag);
  }
  return shown;
}

Json CachesJson() {
  Json caches = Json::object();
  for (int i = 0; i < 8; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const std::string level = FirstLine(folder + "level");
    if (level.empty()) break;
    const std::string type = FirstLine(folder + "type");
    const std::string suffix = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    caches["L" + level + suffix] = FirstLine(folder + "size");
  }
  return caches;
}

int AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

std::string HostName() {
  std::array<char, 256> name = {};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string Image() {
  const char* const image = std::getenv("NOISEFLOOR_IMAGE");
  return image == nullptr ? "" : image;
}

Json KernelJson() {
  utsname names = {};
  uname(&names);
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

}  // namespace

std::string CpuVendor() {
  const std::string id = Entry("/proc/cpuinfo", "vendor_id");
  if (id == "GenuineIntel") return "intel";
  if (id == "AuthenticAMD") return "amd";
  return "other";
}

Json MachineJson() {
  return {{"cpu_model", Entry("/proc/cpuinfo", "model name")},
          {"cpu_vendor", CpuVendor()},
          {"cpu_family", Entry("/proc/cpuinfo", "cpu family")},
          {"cpu_stepping", Entry("/proc/cpuinfo", "stepping")},
          {"microcode", Entry("/proc/cpuinfo", "microcode")},
          {"instruction_sets", FlagsJson()},
          {"caches", CachesJson()},
          {"cores_online", sysconf(_SC_NPROCESSORS_ONLN)},
          {"cores_allowed", AllowedCores()},
          {"memory", Entry("/proc/meminfo", "MemTotal")},
          {"huge_pages", FirstLine("/sys/kernel/mm/transparent_hugepage/enabled")},
          {"load", FirstLine("/proc/loadavg")},
          {"kernel", KernelJson()},
          {"c_library", std::string("glibc ") + gnu_get_libc_version()},
          {"maker", FirstLine("/sys/class/dmi/id/sys_vendor")},
          {"product", FirstLine("/sys/class/dmi/id/product_name")},
          {"image", Image()},
          {"host", HostName()}};
}

Json VariablesJson() {
  static constexpr std::array<std::string_view, 18> kPrefixes = {
      "ATEN_",  "ONEDNN_", "DNNL_",   "MKL_",   "OMP_",     "GOMP_",   "KMP_",   "CUBLAS", "CUDA_",
      "CUDNN_", "NCCL_",   "NVIDIA_", "TORCH_", "PYTORCH_", "MALLOC_", "GLIBC_", "LD_",    "THP_"};
  Json variables = Json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    for (const std::string_view prefix : kPrefixes) {
      if (!text.starts_with(prefix)) continue;
      variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
      break;
    }
  }
  return variables;
}

}  // namespace noisefloor::trainer
