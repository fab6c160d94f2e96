#include "tests/worker/trainer/cuda/test_device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/base/check.h"
#include "common/base/status.h"
#include "tests/worker/trainer/cuda/rehearsal.h"
#include "worker/trainer/cuda/cubins.h"
#include "worker/trainer/cuda/driver.h"
#include "worker/trainer/cuda/driver_launcher.h"

namespace noisefloor::cuda {

namespace {

class HostDevice : public TestDevice {
 public:
  explicit HostDevice(uint64_t seed) : launcher_(seed) {}
  KernelLauncher& launcher() override { return launcher_; }
  bool rehearsed() const override { return true; }
  void* Allocate(size_t bytes) override {
    memory_.push_back(std::make_unique<std::byte[]>(bytes));
    return memory_.back().get();
  }
  void CopyIn(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void CopyOut(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }

 private:
  rehearsal::RehearsalLauncher launcher_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

#ifdef NOISEFLOOR_HAS_CUBINS
struct Gpu {
  std::unique_ptr<Driver> driver;
  std::unique_ptr<DriverLauncher> launcher;
};

// Said before a check ends the program.
template <typename T>
void SayWhyNot(const absl::StatusOr<T>& opened, const std::string& library) {
  const std::string why = opened.ok() ? "there is no such library" : Message(opened.status());
  std::fprintf(stderr, "%s: %s\n", library.c_str(), why.c_str());
}

// One for all tests: a context that nobody else holds would be made for each anew.
Gpu& TheGpu(const std::string& library) {
  static Gpu* const gpu = [&] {
    auto driver = Driver::Open(library, 0);
    const bool opened = driver.ok() && *driver != nullptr;
    if (!opened) SayWhyNot(driver, library);
    NF_CHECK(opened);
    auto launcher = DriverLauncher::Make(**driver, AllCubins());
    if (!launcher.ok()) SayWhyNot(launcher, library);
    NF_CHECK(launcher.ok());
    return new Gpu{*std::move(driver), *std::move(launcher)};
  }();
  return *gpu;
}

class GpuDevice : public TestDevice {
 public:
  explicit GpuDevice(const std::string& library) : gpu_(TheGpu(library)) {}
  ~GpuDevice() override {
    for (const DevicePointer memory : memory_) NF_CHECK(gpu_.driver->Free(memory).ok());
  }
  KernelLauncher& launcher() override { return *gpu_.launcher; }
  bool rehearsed() const override { return std::getenv("FAKE_GPU") != nullptr; }
  void* Allocate(size_t bytes) override {
    const auto memory = gpu_.driver->Allocate(bytes);
    NF_CHECK(memory.ok());
    memory_.push_back(*memory);
    return reinterpret_cast<void*>(*memory);
  }
  void CopyIn(void* to, const void* from, size_t bytes) override {
    NF_CHECK(gpu_.driver->CopyIn(reinterpret_cast<DevicePointer>(to), from, bytes).ok());
  }
  void CopyOut(void* to, const void* from, size_t bytes) override {
    NF_CHECK(gpu_.driver->CopyOut(to, reinterpret_cast<DevicePointer>(from), bytes).ok());
  }

 private:
  Gpu& gpu_;
  std::vector<DevicePointer> memory_;
};
#endif

}  // namespace

std::unique_ptr<TestDevice> MakeTestDevice(uint64_t seed) {
#ifdef NOISEFLOOR_HAS_CUBINS
  const char* library = std::getenv("NOISEFLOOR_KERNELS_ON");
  if (library != nullptr && *library != '\0') return std::make_unique<GpuDevice>(library);
#endif
  return std::make_unique<HostDevice>(seed);
}

}  // namespace noisefloor::cuda
