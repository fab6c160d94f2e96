#include "worker/devices/nvml.h"

#include <dlfcn.h>

#include <array>

#include "fmt/format.h"

namespace noisefloor {

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned number;
  unsigned long long memory_bytes;
  unsigned instance, part;
};
using Text = int(void*, char*, unsigned);

constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr unsigned kMostProcesses = 64;  // Of one GPU that are named.
constexpr int kUncorrectedErrors = 1;
constexpr int kSmClock = 1, kMemoryClock = 2;
constexpr int kOfTheChip = 0;
constexpr int kSinceReset = 0;  // "Volatile": since the driver was loaded or the GPU reset.

template <typename F>
bool Load(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  return function != nullptr;
}

// What a function answers in its last argument; nothing where the driver has it not or does not
// say.
template <typename F, typename... Arguments>
std::optional<uint32_t> Figure(F* function, Arguments... arguments) {
  unsigned value = 0;
  if (function == nullptr || function(arguments..., &value) != kSuccess) return std::nullopt;
  return value;
}

}  // namespace

struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Handle*) = nullptr;
  Text* name = nullptr;
  Text* uuid = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  // Null where the driver has them not.
  int (*mig_mode)(Handle, unsigned*, unsigned*) = nullptr;
  int (*most_parts)(Handle, unsigned*) = nullptr;
  int (*part)(Handle, unsigned, Handle*) = nullptr;
  int (*total_errors)(Handle, int, int, unsigned long long*) = nullptr;
  int (*remapped_rows)(Handle, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  int (*processes)(Handle, unsigned*, void*) = nullptr;
  int (*capability)(Handle, int*, int*) = nullptr;
  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*throttle_reasons)(Handle, unsigned long long*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*most_power)(Handle, unsigned*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;

  bool LoadFrom(void* library) {
    Load(library, "nvmlDeviceGetMigMode", mig_mode);
    Load(library, "nvmlDeviceGetMaxMigDeviceCount", most_parts);
    Load(library, "nvmlDeviceGetMigDeviceHandleByIndex", part);
    Load(library, "nvmlDeviceGetTotalEccErrors", total_errors);
    Load(library, "nvmlDeviceGetRemappedRows", remapped_rows);
    Load(library, "nvmlDeviceGetComputeRunningProcesses_v3", processes);
    Load(library, "nvmlDeviceGetCudaComputeCapability", capability);
    Load(library, "nvmlDeviceGetClockInfo", clock);
    Load(library, "nvmlDeviceGetCurrentClocksThrottleReasons", throttle_reasons);
    Load(library, "nvmlDeviceGetPowerUsage", power);
    Load(library, "nvmlDeviceGetEnforcedPowerLimit", most_power);
    Load(library, "nvmlDeviceGetTemperature", temperature);
    return Load(library, "nvmlInit_v2", init) && Load(library, "nvmlShutdown", shutdown) &&
           Load(library, "nvmlErrorString", error_string) &&
           Load(library, "nvmlSystemGetDriverVersion", driver_version) &&
           Load(library, "nvmlDeviceGetCount_v2", count) &&
           Load(library, "nvmlDeviceGetHandleByIndex_v2", handle) &&
           Load(library, "nvmlDeviceGetName", name) && Load(library, "nvmlDeviceGetUUID", uuid) &&
           Load(library, "nvmlDeviceGetMemoryInfo", memory);
  }
};

Nvml::Nvml(void* library, std::unique_ptr<Functions> functions)
    : library_(library), functions_(std::move(functions)) {}

Nvml::~Nvml() {
  if (initialised_) functions_->shutdown();
  dlclose(library_);
}

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Open(const std::string& library) {
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return nullptr;
  auto functions = std::make_unique<Functions>();
  const bool complete = functions->LoadFrom(opened);
  std::unique_ptr<Nvml> nvml(new Nvml(opened, std::move(functions)));
  if (!complete) {
    return MakeError(absl::StatusCode::kUnavailable,
                     fmt::format("{}: a function of NVML is missing", library));
  }
  NF_RETURN_IF_ERROR(nvml->Check(nvml->functions_->init(), "init"));
  nvml->initialised_ = true;
  return nvml;
}

absl::Status Nvml::Check(int result, std::string_view call) const {
  if (result == kSuccess) return absl::OkStatus();
  const char* text = functions_->error_string(result);
  return MakeError(absl::StatusCode::kUnavailable,
                   fmt::format("NVML: {}: {}", call, text == nullptr ? "error" : text));
}

absl::StatusOr<std::string> Nvml::DriverVersion() const {
  std::array<char, 128> text{};
  NF_RETURN_IF_ERROR(Check(functions_->driver_version(text.data(), text.size() - 1), "driver"));
  return text.data();
}

absl::StatusOr<uint32_t> Nvml::DeviceCount() const {
  unsigned count = 0;
  NF_RETURN_IF_ERROR(Check(functions_->count(&count), "device count"));
  return count;
}

absl::StatusOr<Nvml::Handle> Nvml::DeviceAt(uint32_t index) const {
  Handle handle = nullptr;
  NF_RETURN_IF_ERROR(Check(functions_->handle(index, &handle), fmt::format("device {}", index)));
  return handle;
}

absl::StatusOr<std::string> Nvml::Name(Handle device) const {
  std::array<char, 128> text{};
  NF_RETURN_IF_ERROR(Check(functions_->name(device, text.data(), text.size() - 1), "name"));
  return text.data();
}

absl::StatusOr<std::string> Nvml::Uuid(Handle device) const {
  std::array<char, 128> text{};
  NF_RETURN_IF_ERROR(Check(functions_->uuid(device, text.data(), text.size() - 1), "UUID"));
  return text.data();
}

absl::StatusOr<uint64_t> Nvml::MemoryBytes(Handle device) const {
  Memory memory{};
  NF_RETURN_IF_ERROR(Check(functions_->memory(device, &memory), "memory"));
  return memory.total;
}

absl::StatusOr<uint64_t> Nvml::FreeMemoryBytes(Handle device) const {
  Memory memory{};
  NF_RETURN_IF_ERROR(Check(functions_->memory(device, &memory), "memory"));
  return memory.free;
}

std::optional<std::vector<Nvml::Handle>> Nvml::Parts(Handle device) const {
  const Functions& f = *functions_;
  unsigned now = 0, pending = 0, most = 0;
  if (f.mig_mode == nullptr || f.most_parts == nullptr || f.part == nullptr) return std::nullopt;
  if (f.mig_mode(device, &now, &pending) != kSuccess || now == 0) return std::nullopt;
  std::vector<Handle> parts;
  if (f.most_parts(device, &most) != kSuccess) return parts;
  for (unsigned i = 0; i < most; ++i) {
    Handle part = nullptr;
    if (f.part(device, i, &part) == kSuccess) parts.push_back(part);
  }
  return parts;
}

uint64_t Nvml::UncorrectedErrors(Handle device) const {
  unsigned long long count = 0;
  if (functions_->total_errors == nullptr) return 0;
  const int result = functions_->total_errors(device, kUncorrectedErrors, kSinceReset, &count);
  return result == kSuccess ? count : 0;
}

std::string Nvml::MemoryFault(Handle device) const {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (functions_->remapped_rows == nullptr) return "";
  if (functions_->remapped_rows(device, &corrected, &uncorrected, &pending, &failed) != kSuccess) {
    return "";
  }
  if (failed != 0) return "a bad row of its memory could not be replaced: it needs service";
  if (pending != 0) return "bad rows of its memory wait to be replaced: reset the GPU";
  return "";
}

uint32_t Nvml::ComputeProcesses(Handle device) const {
  unsigned count = 0;
  if (functions_->processes == nullptr) return 0;
  const int result = functions_->processes(device, &count, nullptr);
  return result == kSuccess || result == kInsufficientSize ? count : 0;
}

std::string Nvml::Architecture(Handle device) const {
  int major = 0, minor = 0;
  if (functions_->capability == nullptr) return "";
  if (functions_->capability(device, &major, &minor) != kSuccess) return "";
  return fmt::format("sm_{}{}", major, minor);
}

std::optional<Nvml::Pace> Nvml::PaceOf(Handle device) const {
  const Functions& f = *functions_;
  if (f.clock == nullptr || f.throttle_reasons == nullptr) return std::nullopt;
  unsigned sm = 0, memory = 0;
  unsigned long long reasons = 0;
  if (f.clock(device, kSmClock, &sm) != kSuccess ||
      f.clock(device, kMemoryClock, &memory) != kSuccess ||
      f.throttle_reasons(device, &reasons) != kSuccess) {
    return std::nullopt;
  }
  return Pace{sm, memory, reasons};
}

std::optional<uint32_t> Nvml::Milliwatts(Handle device) const {
  return Figure(functions_->power, device);
}

std::optional<uint32_t> Nvml::MostMilliwatts(Handle device) const {
  return Figure(functions_->most_power, device);
}

std::optional<uint32_t> Nvml::Celsius(Handle device) const {
  return Figure(functions_->temperature, device, kOfTheChip);
}

std::vector<int> Nvml::ComputeProcessNumbers(Handle device) const {
  std::array<ProcessInfo, kMostProcesses> found{};
  unsigned count = found.size();
  if (functions_->processes == nullptr) return {};
  if (functions_->processes(device, &count, found.data()) != kSuccess) return {};
  std::vector<int> numbers;
  for (unsigned i = 0; i < count && i < found.size(); ++i) {
    numbers.push_back(static_cast<int>(found[i].number));
  }
  return numbers;
}

}  // namespace noisefloor
