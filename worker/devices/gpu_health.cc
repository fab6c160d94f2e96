#include "worker/devices/gpu_health.h"

#include <fstream>
#include <memory>

#include "worker/devices/nvml.h"

namespace noisefloor {

namespace {

std::string NameOf(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

absl::Status LookAt(const Nvml& nvml, uint32_t index, GpuHealth& gpu) {
  NF_ASSIGN_OR_RETURN(const Nvml::Handle device, nvml.DeviceAt(index));
  NF_ASSIGN_OR_RETURN(gpu.unit, nvml.Uuid(device));
  NF_ASSIGN_OR_RETURN(gpu.model, nvml.Name(device));
  NF_ASSIGN_OR_RETURN(gpu.memory_bytes, nvml.MemoryBytes(device));
  NF_ASSIGN_OR_RETURN(gpu.free_bytes, nvml.FreeMemoryBytes(device));
  gpu.processes = nvml.ComputeProcesses(device);
  for (const int process : nvml.ComputeProcessNumbers(device)) {
    gpu.users.push_back({process, NameOf(process)});
  }
  gpu.uncorrected_errors = nvml.UncorrectedErrors(device);
  gpu.fault = nvml.MemoryFault(device);
  return absl::OkStatus();
}

absl::Status LookAtAll(const std::string& library, GpuReport& report) {
  absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Open(library);
  report.installed = !nvml.ok() || *nvml != nullptr;
  NF_RETURN_IF_ERROR(nvml.status());
  if (*nvml == nullptr) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(report.driver, (*nvml)->DriverVersion());
  NF_ASSIGN_OR_RETURN(const uint32_t count, (*nvml)->DeviceCount());
  for (uint32_t i = 0; i < count; ++i) {
    GpuHealth& gpu = report.gpus.emplace_back();
    gpu.problem = Message(LookAt(**nvml, i, gpu));
  }
  return absl::OkStatus();
}

}  // namespace

GpuReport LookAtGpus(const std::string& library) {
  GpuReport report;
  report.problem = Message(LookAtAll(library, report));
  return report;
}

}  // namespace noisefloor
