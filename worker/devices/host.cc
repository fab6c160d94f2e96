#include "worker/devices/host.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "worker/devices/class_variables.h"

namespace noisefloor {

namespace {

// The fastest first: a sweep that leaves the class open gets the first one.
std::vector<OfferedClass> AllClasses(const Host& host) {
  std::vector<OfferedClass> all;
  for (const Gpu& gpu : host.gpus.gpus) {
    const OfferedClass offer{gpu.hardware_class, gpu.name};
    if (std::find(all.begin(), all.end(), offer) == all.end()) all.push_back(offer);
  }
  for (const std::string& name : CpuClasses(host.cpu)) all.push_back({name, host.cpu.model});
  return all;
}

absl::Status RefuseMixedGpus(const std::vector<OfferedClass>& classes) {
  std::set<std::string> models;
  for (const OfferedClass& offer : classes) {
    if (IsGpuClass(offer.name)) models.insert(offer.name);
  }
  if (models.size() <= 1) return absl::OkStatus();
  return InvalidInput(fmt::format(
      "this machine has GPUs of several classes ({}): start one worker for each, with --classes",
      fmt::join(models, ", ")));
}

}  // namespace

absl::StatusOr<Host> ReadHost(const std::string& nvml_library) {
  Host host;
  utsname names{};
  if (uname(&names) == 0) {
    host.name = names.nodename;
    host.kernel = fmt::format("{} {}", names.sysname, names.release);
  }
  NF_ASSIGN_OR_RETURN(host.cpu, ReadCpuFacts());
  NF_ASSIGN_OR_RETURN(host.cores, AvailableCores());
  NF_ASSIGN_OR_RETURN(host.gpus, FindGpus(nvml_library));
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    host.gpus.gpus = VisibleGpus(host.gpus.gpus, visible);
  }
  return host;
}

absl::StatusOr<std::vector<OfferedClass>> ChooseClasses(const Host& host,
                                                        const std::vector<std::string>& wanted) {
  const std::vector<OfferedClass> all = AllClasses(host);
  std::vector<OfferedClass> chosen;
  for (const OfferedClass& offer : all) {
    const bool asked = std::find(wanted.begin(), wanted.end(), offer.name) != wanted.end();
    if (wanted.empty() || asked) chosen.push_back(offer);
  }
  for (const std::string& name : wanted) {
    const bool found = std::any_of(all.begin(), all.end(),
                                   [&](const OfferedClass& offer) { return offer.name == name; });
    if (found) continue;
    std::vector<std::string> names;
    for (const OfferedClass& offer : all) names.push_back(offer.name);
    return InvalidInput(
        fmt::format("hardware class '{}': this machine has {}", name, fmt::join(names, ", ")));
  }
  NF_RETURN_IF_ERROR(RefuseMixedGpus(chosen));
  if (chosen.empty()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "this machine has no hardware class: expected at least SSE4.2");
  }
  return chosen;
}

std::vector<Gpu> ChooseGpus(const Host& host, const std::vector<OfferedClass>& classes) {
  std::vector<Gpu> gpus;
  for (const Gpu& gpu : host.gpus.gpus) {
    const OfferedClass offer{gpu.hardware_class, gpu.name};
    if (std::find(classes.begin(), classes.end(), offer) != classes.end()) gpus.push_back(gpu);
  }
  return gpus;
}

std::string UnitOf(const Host& host, const std::vector<Gpu>& gpus) {
  if (gpus.empty()) return fmt::format("{} {}", host.name, host.cpu.model);
  std::vector<std::string> uuids;
  for (const Gpu& gpu : gpus) uuids.push_back(gpu.uuid);
  return fmt::format("{}", fmt::join(uuids, " "));
}

}  // namespace noisefloor
