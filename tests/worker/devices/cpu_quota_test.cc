#include "worker/devices/cpu_quota.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

class CpuQuotaTest : public testing::Test {
 protected:
  CpuQuotaTest() { std::filesystem::create_directories(groups_); }
  ~CpuQuotaTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + path).parent_path());
    std::ofstream(folder_ + path) << text;
  }
  std::optional<double> Quota() const { return CpuQuota(groups_, folder_ + "/own"); }

  const std::string folder_ = testing::TempDir() + "/cpu-quota-" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string groups_ = folder_ + "/groups";
};

TEST_F(CpuQuotaTest, WithoutGroupsThereIsNone) { EXPECT_EQ(Quota(), std::nullopt); }

TEST_F(CpuQuotaTest, APodSeesItsOwnGroupAsTheRoot) {
  Write("/own", "0::/\n");
  Write("/groups/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  Write("/groups/cpu.max", "400000 100000\n");
  EXPECT_EQ(Quota(), 4.0);
}

TEST_F(CpuQuotaTest, TheLeastOfAllGroupsAboveCounts) {
  Write("/own", "0::/machine.slice/worker.service\n");
  Write("/groups/machine.slice/worker.service/cpu.max", "max 100000\n");
  Write("/groups/machine.slice/cpu.max", "250000 100000\n");
  EXPECT_EQ(Quota(), 2.5);
  Write("/groups/machine.slice/worker.service/cpu.max", "50000 100000\n");
  EXPECT_EQ(Quota(), 0.5);
}

TEST_F(CpuQuotaTest, GroupsOfVersion1HaveTwoFiles) {
  Write("/own", "4:memory:/m\n3:cpu,cpuacct:/kube/pod\n0::/x\n");
  Write("/groups/cpu,cpuacct/kube/pod/cpu.cfs_quota_us", "-1\n");
  Write("/groups/cpu,cpuacct/kube/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  Write("/groups/cpu,cpuacct/kube/pod/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(Quota(), 3.0);
}

TEST_F(CpuQuotaTest, TheControllerOfVersion1MayBeMountedAlone) {
  Write("/own", "4:cpuset:/other\n3:cpu:/kube/pod\n");
  Write("/groups/cpu/kube/pod/cpu.cfs_quota_us", "150000\n");
  Write("/groups/cpu/kube/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 1.5);
}

TEST_F(CpuQuotaTest, WhatMakesNoSenseIsNoBound) {
  for (const char* text : {"", "max", "a b", "100000", "0 100000", "100000 0", "-1 100000"}) {
    EXPECT_EQ(ParseCpuMax(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace noisefloor
