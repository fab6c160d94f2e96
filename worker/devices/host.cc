#include "worker/devices/host.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/trainer_protocol/hardware_class.h"
#include "worker/devices/cpu_quota.h"

namespace noisefloor {

namespace {

// The fastest first: a sweep that leaves the class open gets the first one.
std::vector<std::string> AllClasses(const Host& host) {
  if (!host.declared.empty()) return {host.declared};
  std::vector<std::string> all;
  for (const Gpu& gpu : host.gpus.gpus) {
    const bool is_new = std::ranges::find(all, gpu.hardware_class) == all.end();
    if (gpu.fault.empty() && is_new) all.push_back(gpu.hardware_class);
  }
  for (const std::string& name : CpuClasses(host.cpu)) all.push_back(name);
  return all;
}

// For a class that is not there; "" = nothing is wrong with the GPUs.
std::string FaultsOf(const GpuInventory& gpus) {
  std::string text = gpus.fault.empty() ? "" : "; its GPUs: " + gpus.fault;
  for (const Gpu& gpu : gpus.gpus) {
    if (!gpu.fault.empty()) text += fmt::format("; {} ({}): {}", gpu.uuid, gpu.name, gpu.fault);
  }
  return text;
}

}  // namespace

void BoundCores(std::optional<double> quota, Host& host) {
  if (!quota || *quota >= static_cast<double>(host.cores.size())) return;
  host.cores.resize(std::max<size_t>(1, static_cast<size_t>(*quota)));
  host.cores_are_shared = true;
}

absl::StatusOr<Host> ReadHost(const std::string& nvml_library) {
  Host host;
  utsname names{};
  if (uname(&names) == 0) {
    host.name = names.nodename;
    host.kernel = fmt::format("{} {}", names.sysname, names.release);
  }
  host.cpu = ReadCpuFacts();
  NF_ASSIGN_OR_RETURN(host.cores, AvailableCores());
  BoundCores(CpuQuota(), host);
  host.gpus = FindGpus(nvml_library);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    host.gpus.gpus = VisibleGpus(host.gpus.gpus, visible);
  }
  return host;
}

absl::StatusOr<std::vector<std::string>> ChooseClasses(const Host& host,
                                                       const std::vector<std::string>& wanted,
                                                       uint32_t gpus_per_slot) {
  std::vector<std::string> all = AllClasses(host);
  const auto offered = [&](const std::string& name) {
    return IsGpuClass(name) ? ClassOfSeveral(name, gpus_per_slot) : name;
  };
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::find(wanted, name) != wanted.end() ||
           std::ranges::find(wanted, offered(name)) != wanted.end();
  };
  for (const std::string& name : wanted) {
    if (std::ranges::find(all, name) != all.end()) continue;
    if (std::ranges::find(all, name, offered) != all.end()) continue;
    std::ranges::transform(all, all.begin(), offered);
    return InvalidInput(fmt::format("hardware class '{}': this machine has {}{}", name,
                                    fmt::join(all, ", "), FaultsOf(host.gpus)));
  }
  if (!wanted.empty()) {
    std::erase_if(all, [&](const std::string& name) { return !is_wanted(name); });
  }
  if (all.empty()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "this machine has no hardware class: expected at least SSE4.2, or --declare");
  }
  return all;
}

}  // namespace noisefloor
