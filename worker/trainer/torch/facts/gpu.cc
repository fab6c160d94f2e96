// GpusJson, GpuJson and the versions of CUDA's libraries: through the C interfaces of libraries
// that LibTorch has opened, found by name, so that nothing of CUDA is needed to build or to start.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <utility>

#include "worker/trainer/torch/facts/machine.h"

namespace noisefloor::trainer {

namespace {

template <typename Function>
Function Find(void* library, const char* name) {
  return library == nullptr && library != RTLD_DEFAULT
             ? nullptr
             : reinterpret_cast<Function>(dlsym(library, name));
}

// Attribute numbers of cudaDeviceAttr and CUdevice_attribute, the same in all versions.
constexpr int kMultiprocessors = 16;
constexpr int kMajor = 75;
constexpr int kMinor = 76;
constexpr int kEcc = 32;
constexpr int kClockKhz = 13;

std::string HexUuid(const std::array<unsigned char, 16>& bytes) {
  std::string text = "GPU-";
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += "-";
    std::array<char, 3> hex = {};
    std::snprintf(hex.data(), hex.size(), "%02x", bytes[i]);
    text += hex.data();
  }
  return text;
}

void AddDevice(void* driver, int device, Json& json) {
  const auto name = Find<int (*)(char*, int, int)>(driver, "cuDeviceGetName");
  const auto uuid = Find<int (*)(unsigned char*, int)>(driver, "cuDeviceGetUuid_v2");
  const auto memory = Find<int (*)(size_t*, int)>(driver, "cuDeviceTotalMem_v2");
  const auto attribute = Find<int (*)(int*, int, int)>(driver, "cuDeviceGetAttribute");
  std::array<char, 256> text = {};
  if (name != nullptr && name(text.data(), 255, device) == 0) json["name"] = text.data();
  std::array<unsigned char, 16> bytes = {};
  if (uuid != nullptr && uuid(bytes.data(), device) == 0) json["uuid"] = HexUuid(bytes);
  size_t total = 0;
  if (memory != nullptr && memory(&total, device) == 0) {
    json["memory_bytes"] = std::to_string(total);
  }
  const auto value = [&](int number) {
    int read = -1;
    if (attribute != nullptr) attribute(&read, number, device);
    return read;
  };
  json["multiprocessors"] = value(kMultiprocessors);
  json["compute_capability"] = std::to_string(value(kMajor)) + "." + std::to_string(value(kMinor));
  json["ecc"] = value(kEcc) == 1;
  json["clock_khz"] = value(kClockKhz);
}

}  // namespace

Json GpusJson() {
  Json gpus = Json::array();
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto init = Find<int (*)(unsigned)>(driver, "cuInit");
  const auto count = Find<int (*)(int*)>(driver, "cuDeviceGetCount");
  const auto get = Find<int (*)(int*, int)>(driver, "cuDeviceGet");
  const auto version = Find<int (*)(int*)>(driver, "cuDriverGetVersion");
  int devices = 0;
  if (init == nullptr || count == nullptr || get == nullptr || init(0) != 0) return gpus;
  if (count(&devices) != 0) return gpus;
  for (int i = 0; i < devices; ++i) {
    int device = 0;
    if (get(&device, i) != 0) break;
    Json& gpu = gpus.emplace_back(Json{{"devices_visible", devices}});
    int driver_version = 0;
    if (version != nullptr && version(&driver_version) == 0) gpu["driver"] = driver_version;
    AddDevice(driver, device, gpu);
  }
  return gpus;
}

Json GpuJson() {
  Json gpus = GpusJson();
  return gpus.empty() ? Json() : std::move(gpus.front());
}

std::string GpuUuid() {
  const Json gpu = GpuJson();
  return gpu.is_object() ? gpu.value("uuid", "") : "";
}

std::string CublasVersion() {
  const auto property = Find<int (*)(int, int*)>(RTLD_DEFAULT, "cublasGetProperty");
  if (property == nullptr) return "";
  std::string version;
  for (const int part : {0, 1, 2}) {  // MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL
    int value = 0;
    if (property(part, &value) != 0) return "";
    version += (part == 0 ? "" : ".") + std::to_string(value);
  }
  return version;
}

int64_t CudaRuntimeVersion() {
  const auto version = Find<int (*)(int*)>(RTLD_DEFAULT, "cudaRuntimeGetVersion");
  int value = 0;
  return version != nullptr && version(&value) == 0 ? value : 0;
}

int64_t CudnnVersion() {
  const auto version = Find<size_t (*)()>(RTLD_DEFAULT, "cudnnGetVersion");
  return version == nullptr ? 0 : static_cast<int64_t>(version());
}

}  // namespace noisefloor::trainer
