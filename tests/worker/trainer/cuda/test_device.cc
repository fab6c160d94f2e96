#include "tests/worker/trainer/cuda/test_device.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "common/base/check.h"
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
class GpuDevice : public TestDevice {
 public:
  explicit GpuDevice(const std::string& library) {
    auto driver = Driver::Open(library, 0);
    NF_CHECK(driver.ok() && *driver != nullptr);
    driver_ = *std::move(driver);
    auto launcher = DriverLauncher::Make(*driver_, AllCubins());
    NF_CHECK(launcher.ok());
    launcher_ = *std::move(launcher);
  }
  ~GpuDevice() override {
    for (const DevicePointer memory : memory_) NF_CHECK(driver_->Free(memory).ok());
  }
  KernelLauncher& launcher() override { return *launcher_; }
  bool rehearsed() const override { return false; }
  void* Allocate(size_t bytes) override {
    const auto memory = driver_->Allocate(bytes);
    NF_CHECK(memory.ok());
    memory_.push_back(*memory);
    return reinterpret_cast<void*>(*memory);
  }
  void CopyIn(void* to, const void* from, size_t bytes) override {
    NF_CHECK(driver_->CopyIn(reinterpret_cast<DevicePointer>(to), from, bytes).ok());
  }
  void CopyOut(void* to, const void* from, size_t bytes) override {
    NF_CHECK(driver_->CopyOut(to, reinterpret_cast<DevicePointer>(from), bytes).ok());
  }

 private:
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<DriverLauncher> launcher_;
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
