// The functions of NVML that worker/devices/nvml.cc opens, as script.h tells.
#include <cstdio>
#include <set>

#include "tests/support/fake_gpus/script.h"

namespace {

constexpr int kSuccess = 0, kInvalid = 2, kNotSupported = 3, kNotFound = 6, kInsufficientSize = 7;
constexpr int kLost = 15;

struct Memory {
  unsigned long long total, free, used;
};

struct ProcessInfo {
  unsigned number;
  unsigned long long memory_bytes;
  unsigned instance, part;
};

int Put(char* text, unsigned size, const std::string& value) {
  std::snprintf(text, size, "%s", value.c_str());
  return kSuccess;
}

// Handles live as long as the process: they are the UUIDs themselves.
void* HandleOf(const std::string& uuid) {
  static std::set<std::string> known;
  return const_cast<std::string*>(&*known.insert(uuid).first);
}

// Calls `answer` with the GPU while it is there.
template <typename Answer>
int With(void* handle, const Answer& answer) {
  const fake_gpus::Script script = fake_gpus::Read();
  const fake_gpus::Gpu* gpu = script.Find(*static_cast<const std::string*>(handle));
  if (gpu == nullptr) return kInvalid;
  return gpu->Number("lost") != 0 ? kLost : answer(*gpu, script);
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return fake_gpus::Read().nvml; }
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int result) {
  switch (result) {
    case 9: return "Driver Not Loaded";
    case kLost: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return Put(text, size, fake_gpus::Read().driver);
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(fake_gpus::Read().Wholes().size());
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  const auto wholes = fake_gpus::Read().Wholes();
  if (index >= wholes.size()) return kInvalid;
  *handle = HandleOf(wholes[index]);
  return kSuccess;
}
int nvmlDeviceGetName(void* handle, char* text, unsigned size) {
  return With(handle,
              [&](const auto& gpu, const auto&) { return Put(text, size, gpu.Text("name")); });
}
// A lost one still says who it is.
int nvmlDeviceGetUUID(void* handle, char* text, unsigned size) {
  return Put(text, size, *static_cast<const std::string*>(handle));
}
int nvmlDeviceGetMemoryInfo(void* handle, Memory* memory) {
  return With(handle, [&](const auto& gpu, const auto&) {
    *memory = {gpu.Bytes(), gpu.Number("free_gib", gpu.Number("gib")) << 30, 0};
    memory->used = memory->total - memory->free;
    return kSuccess;
  });
}
// Of a GPU without one in the script the driver does not say.
int nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
  return With(handle, [&](const auto& gpu, const auto&) {
    return std::sscanf(gpu.Text("capability").c_str(), "%d.%d", major, minor) == 2 ? kSuccess
                                                                                   : kNotSupported;
  });
}
// Likewise of one without clocks.
int nvmlDeviceGetClockInfo(void* handle, int which, unsigned* mhz) {
  return With(handle, [&](const auto& gpu, const auto&) {
    *mhz = static_cast<unsigned>(gpu.Number(which == 1 ? "sm_mhz" : "memory_mhz"));
    return *mhz == 0 ? kNotSupported : kSuccess;
  });
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* reasons) {
  return With(handle, [&](const auto& gpu, const auto&) {
    *reasons = gpu.Number("throttle");
    return kSuccess;
  });
}
int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
  return With(handle, [&](const auto& gpu, const auto&) {
    *milliwatts = static_cast<unsigned>(gpu.Number("milliwatts"));
    return *milliwatts == 0 ? kNotSupported : kSuccess;
  });
}
int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* milliwatts) {
  return With(handle, [&](const auto& gpu, const auto&) {
    *milliwatts = static_cast<unsigned>(gpu.Number("most_milliwatts"));
    return *milliwatts == 0 ? kNotSupported : kSuccess;
  });
}
int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* celsius) {
  return With(handle, [&](const auto& gpu, const auto&) {
    *celsius = static_cast<unsigned>(gpu.Number("celsius"));
    return sensor != 0 || *celsius == 0 ? kNotSupported : kSuccess;
  });
}
int nvmlDeviceGetMigMode(void* handle, unsigned* now, unsigned* pending) {
  return With(handle, [&](const auto& gpu, const auto&) {
    if (gpu.Text("part_of") != "") return kInvalid;
    *now = *pending = static_cast<unsigned>(gpu.Number("mig"));
    return kSuccess;
  });
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 7;
  return kSuccess;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void* handle, unsigned index, void** part) {
  return With(handle, [&](const auto& gpu, const auto& script) {
    const auto parts = script.PartsOf(gpu.uuid);
    if (index >= parts.size()) return kNotFound;
    *part = HandleOf(parts[index]);
    return kSuccess;
  });
}
int nvmlDeviceGetTotalEccErrors(void* handle, int kind, int counter, unsigned long long* count) {
  return With(handle, [&](const auto& gpu, const auto&) {
    if (kind != 1 || counter != 0) return kNotSupported;
    *count = gpu.Number("errors");
    return kSuccess;
  });
}
int nvmlDeviceGetRemappedRows(void* handle, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  return With(handle, [&](const auto& gpu, const auto&) {
    *corrected = *uncorrected = 0;
    *pending = gpu.Text("rows") == "pending";
    *failed = gpu.Text("rows") == "failed";
    return kSuccess;
  });
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, ProcessInfo* into) {
  return With(handle, [&](const auto& gpu, const auto&) {
    const unsigned room = into == nullptr ? 0 : *count;
    *count = static_cast<unsigned>(gpu.Number("processes"));
    if (*count > room) return kInsufficientSize;
    for (unsigned i = 0; i < *count; ++i) {
      into[i] = {static_cast<unsigned>(gpu.Number("process")) + i, 1 << 30, 0, 0};
    }
    return kSuccess;
  });
}
}
