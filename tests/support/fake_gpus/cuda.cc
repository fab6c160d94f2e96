// The functions of the CUDA driver that tests/support/fake_trainer.cc opens, as script.h tells.
// Sees what CUDA_VISIBLE_DEVICES names, by UUID.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/support/fake_gpus/script.h"

namespace {

constexpr int kSuccess = 0, kInvalid = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidDevice = 101;
constexpr int kUnavailable = 46;
constexpr int kMajor = 75, kMinor = 76;

// As in CUDA, the list ends at the first entry that names nothing.
std::vector<fake_gpus::Gpu> Visible() {
  const fake_gpus::Script script = fake_gpus::Read();
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  std::istringstream entries(text == nullptr ? "" : text);
  std::vector<fake_gpus::Gpu> gpus;
  for (std::string entry; std::getline(entries, entry, ',');) {
    const fake_gpus::Gpu* gpu = script.Find(entry);
    if (gpu == nullptr) break;
    gpus.push_back(*gpu);
  }
  return gpus;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  const int result = fake_gpus::Read().cuda;
  if (result != kSuccess) return result;
  return Visible().empty() ? kNoDevice : kSuccess;
}
int cuGetErrorString(int result, const char** text) {
  *text = result == kOutOfMemory   ? "out of memory"
          : result == kUnavailable ? "CUDA-capable device(s) is/are busy or unavailable"
          : result == kNoDevice    ? "no CUDA-capable device is detected"
          : result == 803 ? "system has unsupported display driver / cuda driver combination"
                          : "unknown error";
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(Visible().size());
  return kSuccess;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return kSuccess;
}
int cuDeviceGetName(char* text, int size, int device) {
  const auto gpus = Visible();
  if (device < 0 || static_cast<size_t>(device) >= gpus.size()) return kInvalidDevice;
  const fake_gpus::Gpu& gpu = gpus[static_cast<size_t>(device)];
  std::snprintf(text, static_cast<size_t>(size), "%s",
                gpu.Text("cuda_name", gpu.Text("name")).c_str());
  return kSuccess;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  const auto gpus = Visible();
  if (device < 0 || static_cast<size_t>(device) >= gpus.size()) return kInvalidDevice;
  *bytes = gpus[static_cast<size_t>(device)].Bytes();
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const auto gpus = Visible();
  if (device < 0 || static_cast<size_t>(device) >= gpus.size()) return kInvalidDevice;
  const std::string capability = gpus[static_cast<size_t>(device)].Text("capability", "9.0");
  const size_t dot = capability.find('.');
  if (attribute != kMajor && attribute != kMinor) return kInvalid;
  *value = std::atoi(
      (attribute == kMajor ? capability.substr(0, dot) : capability.substr(dot + 1)).c_str());
  return kSuccess;
}
// On the first visible device.
int cuMemAlloc_v2(unsigned long long* memory, size_t bytes) {
  const auto gpus = Visible();
  if (gpus.empty()) return kNoDevice;
  if (gpus.front().Number("lost") != 0) return kUnavailable;
  const uint64_t free = gpus.front().Number("free_gib", gpus.front().Number("gib")) << 30;
  if (bytes > free) return kOutOfMemory;
  *memory = 1;
  return kSuccess;
}
}
