#include "worker/devices/gpu.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <memory>

#include "fmt/format.h"

#include "common/trainer_protocol/hardware_class.h"

namespace noisefloor {

namespace {

// The few functions of NVML that are used, declared here so that its header is not needed.
using Handle = struct NvmlDevice*;
struct Memory {
  unsigned long long total, free, used;
};
using Result = int;  // 0: success.

struct Functions {
  Result (*init)() = nullptr;
  Result (*shutdown)() = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (*driver_version)(char*, unsigned) = nullptr;
  Result (*count)(unsigned*) = nullptr;
  Result (*handle)(unsigned, Handle*) = nullptr;
  Result (*name)(Handle, char*, unsigned) = nullptr;
  Result (*uuid)(Handle, char*, unsigned) = nullptr;
  Result (*memory)(Handle, Memory*) = nullptr;
};

template <typename F>
bool Load(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool LoadAll(void* library, Functions& f) {
  return Load(library, "nvmlInit_v2", f.init) && Load(library, "nvmlShutdown", f.shutdown) &&
         Load(library, "nvmlErrorString", f.error_string) &&
         Load(library, "nvmlSystemGetDriverVersion", f.driver_version) &&
         Load(library, "nvmlDeviceGetCount_v2", f.count) &&
         Load(library, "nvmlDeviceGetHandleByIndex_v2", f.handle) &&
         Load(library, "nvmlDeviceGetName", f.name) && Load(library, "nvmlDeviceGetUUID", f.uuid) &&
         Load(library, "nvmlDeviceGetMemoryInfo", f.memory);
}

absl::Status Check(const Functions& f, Result result, std::string_view call) {
  if (result == 0) return absl::OkStatus();
  const char* text = f.error_string(result);
  return MakeError(absl::StatusCode::kUnavailable,
                   fmt::format("NVML: {}: {}", call, text == nullptr ? "error" : text));
}

absl::StatusOr<Gpu> ReadGpu(const Functions& f, unsigned index) {
  Handle handle = nullptr;
  std::array<char, 128> name{};
  std::array<char, 128> uuid{};
  Memory memory{};
  NF_RETURN_IF_ERROR(Check(f, f.handle(index, &handle), fmt::format("device {}", index)));
  NF_RETURN_IF_ERROR(Check(f, f.name(handle, name.data(), name.size() - 1), "name"));
  NF_RETURN_IF_ERROR(Check(f, f.uuid(handle, uuid.data(), uuid.size() - 1), "UUID"));
  NF_RETURN_IF_ERROR(Check(f, f.memory(handle, &memory), "memory"));
  return Gpu{name.data(), uuid.data(), memory.total, GpuClassOf(name.data(), memory.total)};
}

absl::StatusOr<GpuInventory> ReadAll(const Functions& f) {
  GpuInventory inventory;
  std::array<char, 128> driver{};
  unsigned count = 0;
  NF_RETURN_IF_ERROR(Check(f, f.driver_version(driver.data(), driver.size() - 1), "driver"));
  NF_RETURN_IF_ERROR(Check(f, f.count(&count), "device count"));
  inventory.driver = driver.data();
  for (unsigned i = 0; i < count; ++i) {
    NF_ASSIGN_OR_RETURN(Gpu gpu, ReadGpu(f, i));
    inventory.gpus.push_back(std::move(gpu));
  }
  return inventory;
}

}  // namespace

absl::StatusOr<GpuInventory> FindGpus(const std::string& library) {
  const std::unique_ptr<void, int (*)(void*)> opened(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL),
                                                     dlclose);
  if (opened == nullptr) return GpuInventory{};
  Functions functions;
  if (!LoadAll(opened.get(), functions)) {
    return MakeError(absl::StatusCode::kUnavailable,
                     fmt::format("{}: a function of NVML is missing", library));
  }
  NF_RETURN_IF_ERROR(Check(functions, functions.init(), "init"));
  absl::StatusOr<GpuInventory> inventory = ReadAll(functions);
  functions.shutdown();
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
