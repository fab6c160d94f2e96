#include "worker/devices/gpu.h"

#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "fmt/format.h"

#include "common/trainer_protocol/hardware_class.h"
#include "worker/devices/nvml.h"

namespace noisefloor {

namespace {

// What is wrong with its memory; "" = nothing.
std::string MemoryFaultOf(const Nvml& nvml, Nvml::Handle device) {
  const std::string rows = nvml.MemoryFault(device);
  if (!rows.empty()) return rows;
  const uint64_t errors = nvml.UncorrectedErrors(device);
  if (errors == 0) return "";
  return fmt::format("{} memory errors since its last reset could not be corrected", errors);
}

std::string NoteOn(const Nvml& nvml, Nvml::Handle device) {
  const uint32_t processes = nvml.ComputeProcesses(device);
  if (processes == 0) return "";
  return fmt::format("{} other {} it", processes,
                     processes == 1 ? "process uses" : "processes use");
}

absl::Status Fill(const Nvml& nvml, Nvml::Handle device, Gpu& gpu) {
  NF_ASSIGN_OR_RETURN(gpu.uuid, nvml.Uuid(device));
  NF_ASSIGN_OR_RETURN(gpu.name, nvml.Name(device));
  NF_ASSIGN_OR_RETURN(gpu.memory_bytes, nvml.MemoryBytes(device));
  return absl::OkStatus();
}

Gpu ReadGpu(const Nvml& nvml, Nvml::Handle device, std::string place) {
  Gpu gpu = {"", std::move(place), 0};
  const absl::Status status = Fill(nvml, device, gpu);
  if (!gpu.name.empty()) gpu.hardware_class = GpuClassOf(gpu.name, gpu.memory_bytes);
  gpu.fault = status.ok() ? MemoryFaultOf(nvml, device) : Message(status);
  gpu.note = NoteOn(nvml, device);
  gpu.architecture = nvml.Architecture(device);
  return gpu;
}

void AddGpu(const Nvml& nvml, uint32_t index, std::vector<Gpu>& gpus) {
  const std::string place = fmt::format("GPU at place {}", index);
  const auto device = nvml.DeviceAt(index);
  if (!device.ok()) {
    gpus.push_back({.name = "", .uuid = place, .fault = Message(device.status())});
    return;
  }
  Gpu whole = ReadGpu(nvml, *device, place);
  const std::optional<std::vector<Nvml::Handle>> parts = nvml.Parts(*device);
  if (!parts) {
    gpus.push_back(std::move(whole));
    return;
  }
  if (parts->empty() && whole.fault.empty()) whole.fault = "MIG is on, and it has no instances";
  if (parts->empty()) gpus.push_back(whole);
  for (size_t i = 0; i < parts->size(); ++i) {
    Gpu part = ReadGpu(nvml, (*parts)[i], fmt::format("part {} of {}", i, whole.uuid));
    if (part.fault.empty()) part.fault = whole.fault;
    if (part.architecture.empty()) part.architecture = whole.architecture;
    gpus.push_back(std::move(part));
  }
}

absl::Status Read(const std::string& library, GpuInventory& inventory) {
  NF_ASSIGN_OR_RETURN(const std::unique_ptr<Nvml> nvml, Nvml::Open(library));
  if (nvml == nullptr) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(inventory.driver, nvml->DriverVersion());
  NF_ASSIGN_OR_RETURN(const uint32_t count, nvml->DeviceCount());
  for (uint32_t i = 0; i < count; ++i) AddGpu(*nvml, i, inventory.gpus);
  return absl::OkStatus();
}

}  // namespace

GpuInventory FindGpus(const std::string& library) {
  GpuInventory inventory;
  const absl::Status status = Read(library, inventory);
  if (!status.ok()) inventory.fault = Message(status);
  return inventory;
}

std::vector<Gpu> VisibleGpus(const std::vector<Gpu>& gpus, std::string_view visible) {
  std::vector<Gpu> chosen;
  while (!visible.empty()) {
    const size_t comma = visible.find(',');
    const std::string_view entry = visible.substr(0, comma);
    visible.remove_prefix(comma == std::string_view::npos ? visible.size() : comma + 1);
    size_t index = gpus.size();
    const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
    const bool is_index = error == std::errc() && end == entry.data() + entry.size();
    if (!is_index) {
      index = gpus.size();
      for (size_t i = gpus.size(); i-- > 0;) {
        if (!entry.empty() && gpus[i].uuid.rfind(entry, 0) == 0) index = i;
      }
    }
    if (index >= gpus.size()) break;
    chosen.push_back(gpus[index]);
  }
  return chosen;
}

}  // namespace noisefloor
