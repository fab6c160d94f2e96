#include "worker/devices/cpu.h"

#include <sched.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "common/trainer_protocol/hardware_class.h"

namespace noisefloor {

namespace {

// The value of the first "KEY : VALUE" line.
std::string_view ValueOf(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view name = line.substr(0, colon);
    while (!name.empty() && (name.back() == '\t' || name.back() == ' ')) name.remove_suffix(1);
    if (name != key) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
  }
  return {};
}

std::string VendorOf(std::string_view vendor_id) {
  if (vendor_id == "GenuineIntel") return "intel";
  if (vendor_id == "AuthenticAMD") return "amd";
  return "other";
}

}  // namespace

CpuFacts ParseCpuInfo(std::string_view text) {
  CpuFacts facts;
  facts.vendor = VendorOf(ValueOf(text, "vendor_id"));
  facts.model = std::string(ValueOf(text, "model name"));
  std::istringstream flags{std::string(ValueOf(text, "flags"))};
  for (std::string flag; flags >> flag;) facts.flags.insert(flag);
  if (facts.model.empty()) facts.model = "unknown " + facts.vendor + " processor";
  return facts;
}

CpuFacts ReadCpuFacts() {
  std::ifstream file("/proc/cpuinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return ParseCpuInfo(text.str());
}

std::vector<std::string> CpuClasses(const CpuFacts& facts) {
  const auto has = [&](std::initializer_list<std::string_view> flags) {
    for (const std::string_view flag : flags) {
      if (!facts.flags.contains(flag)) return false;
    }
    return true;
  };
  const std::string prefix = "cpu-" + facts.vendor + "-";
  std::vector<std::string> classes;
  // What ATen and oneDNN ask for before they take the kernels of that name.
  if (has({"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"})) {
    classes.push_back(prefix + "avx512");
  }
  if (has({"avx2", "fma"})) classes.push_back(prefix + "avx2");
  if (has({"sse4_1", "sse4_2"})) classes.push_back(prefix + "sse");
  return classes;
}

std::string LackingSet(const CpuFacts& facts, std::string_view hardware_class) {
  if (!IsCpuClass(hardware_class)) return "";
  const std::string_view ending = hardware_class.substr(hardware_class.rfind('-'));
  for (const std::string& here : CpuClasses(facts)) {
    if (here.ends_with(ending)) return "";
  }
  if (ending == "-avx512") return "AVX-512";
  return ending == "-avx2" ? "AVX2 with FMA" : "SSE4.2";
}

absl::StatusOr<std::vector<int>> AvailableCores() {
  // 64 Ki processors: more than Linux knows.
  std::vector<cpu_set_t> sets(64);
  const size_t bytes = sets.size() * sizeof(cpu_set_t);
  if (sched_getaffinity(0, bytes, sets.data()) != 0) {
    return absl::ErrnoToStatus(errno, "sched_getaffinity");
  }
  std::vector<int> cores;
  for (size_t core = 0; core < bytes * 8; ++core) {
    if (CPU_ISSET_S(core, bytes, sets.data())) cores.push_back(static_cast<int>(core));
  }
  return cores;
}

}  // namespace noisefloor
