// The launcher of a GPU against a driver that is not one, and, where NOISEFLOOR_KERNELS_ON names a
// driver, nothing here: kernels_test.cc runs on it.
#include "worker/trainer/cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "worker/trainer/cuda/cubins.h"
#include "worker/trainer/cuda/driver_launcher.h"
#include "worker/trainer/cuda/requests.h"

namespace noisefloor::cuda {

namespace {

using testing::HasSubstr;

class DriverTest : public testing::Test {
 protected:
  static absl::StatusOr<std::unique_ptr<Driver>> OpenFake(const char* capability) {
    setenv("FAKE_GPU", capability, 1);
    return Driver::Open(FAKE_DRIVER, 0);
  }
  void TearDown() override { unsetenv("FAKE_GPU"); }
};

TEST_F(DriverTest, AMachineWithoutADriverIsNotAnError) {
  const auto driver = Driver::Open("libnoisefloor-has-no-such-driver.so", 0);
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ(*driver, nullptr);
}

TEST_F(DriverTest, ADriverWithoutAGpuSaysSo) {
  const auto driver = Driver::Open(FAKE_DRIVER, 0);
  EXPECT_EQ(driver.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(driver.status().message(), "CUDA driver: cuInit: error of the fake (100)");
  setenv("FAKE_GPU", "9.0", 1);
  EXPECT_THAT(std::string(Driver::Open(FAKE_DRIVER, 1).status().message()),
              HasSubstr("cuDeviceGet"));
}

TEST_F(DriverTest, ALibraryThatIsNoDriverSaysWhatItLacks) {
  EXPECT_EQ(Driver::Open("libm.so.6", 0).status().message(), "CUDA driver: it has no cuInit");
}

TEST_F(DriverTest, EveryGpuGetsTheModuleOfItsArchitecture) {
  struct Row {
    const char* capability;
    int architecture;
  };
  for (const Row& row : {Row{"6.0", 60}, Row{"7.5", 75}, Row{"8.7", 86}, Row{"9.0", 90}}) {
    const auto driver = OpenFake(row.capability);
    ASSERT_TRUE(driver.ok()) << driver.status();
    const auto launcher = DriverLauncher::Make(**driver, AllCubins());
    ASSERT_TRUE(launcher.ok()) << launcher.status();
    EXPECT_EQ((*launcher)->architecture(), row.architecture);
  }
  const auto old = OpenFake("5.2");
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(DriverLauncher::Make(**old, AllCubins()).status().message(),
            "no kernels for a GPU of compute capability 5.2");
}

TEST_F(DriverTest, AKernelRunsAndAFailureNamesIt) {
  const auto driver = OpenFake("8.0");
  ASSERT_TRUE(driver.ok());
  const auto launcher = DriverLauncher::Make(**driver, AllCubins());
  ASSERT_TRUE(launcher.ok());
  const std::vector<float> ones(100, 1.0f);
  const auto values = (*driver)->Allocate(400);
  const auto out = (*driver)->Allocate(4);
  ASSERT_TRUE(values.ok() && out.ok());
  float sum = 0;
  ASSERT_TRUE((*driver)->CopyIn(*values, ones.data(), 400).ok());
  ASSERT_TRUE((*driver)->CopyIn(*out, &sum, 4).ok());
  const auto* from = reinterpret_cast<const float*>(*values);
  auto* to = reinterpret_cast<float*>(*out);
  EXPECT_TRUE((*launcher)->Launch(NoisySumLaunch(from, 100, 1, to)).ok());
  ASSERT_TRUE((*driver)->CopyOut(&sum, *out, 4).ok());
  EXPECT_EQ(sum, 100.0f);
  EXPECT_THAT(std::string((*launcher)->Launch(NoisySumLaunch(from, 101, 1, to)).message()),
              testing::AllOf(HasSubstr("NoisySumRows: CUDA driver: cuLaunchKernel: "),
                             HasSubstr("outside of everything")));
  EXPECT_EQ((*driver)->Allocate(size_t{2} << 30).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE((*driver)->Free(*values).ok());
  EXPECT_FALSE((*driver)->Free(*values).ok());
  EXPECT_TRUE((*driver)->Free(*out).ok());
}

// Shards launch on threads of their own, on which nobody has made a context current.
TEST_F(DriverTest, OnEachThreadItEntersItsContext) {
  const auto on_another_thread = [](const std::function<absl::Status()>& call) {
    absl::Status status;
    std::thread([&] { status = call(); }).join();
    return status;
  };
  const auto driver = OpenFake("8.0");
  ASSERT_TRUE(driver.ok());
  const auto launcher = DriverLauncher::Make(**driver, AllCubins());
  ASSERT_TRUE(launcher.ok());
  DevicePointer memory = 0;
  EXPECT_TRUE(on_another_thread([&]() -> absl::Status {
                NF_ASSIGN_OR_RETURN(memory, (*driver)->Allocate(8));
                return absl::OkStatus();
              }).ok());
  const std::vector<float> given{2, 3};
  std::vector<float> got(2);
  EXPECT_TRUE(on_another_thread([&] { return (*driver)->CopyIn(memory, given.data(), 8); }).ok());
  auto* values = reinterpret_cast<float*>(memory);
  EXPECT_TRUE(on_another_thread([&] {
                return (*launcher)->Launch(NoisySumLaunch(values + 1, 1, 1, values));
              }).ok());
  EXPECT_TRUE(on_another_thread([&] { return (*driver)->CopyOut(got.data(), memory, 8); }).ok());
  EXPECT_EQ(got, (std::vector<float>{5, 3}));
  EXPECT_TRUE(on_another_thread([&] { return (*driver)->Free(memory); }).ok());
}

TEST_F(DriverTest, ALaunchOfNothingIsNone) {
  const auto driver = OpenFake("8.0");
  ASSERT_TRUE(driver.ok());
  const auto launcher = DriverLauncher::Make(**driver, AllCubins());
  ASSERT_TRUE(launcher.ok());
  KernelLaunch launch = NoisySumLaunch(nullptr, 0, 1, nullptr);
  launch.grid = 0;  // The driver itself would refuse it.
  EXPECT_TRUE((*launcher)->Launch(launch).ok());
}

}  // namespace

}  // namespace noisefloor::cuda
