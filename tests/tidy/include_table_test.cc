#include "tests/tidy/include_table.h"

#include "gtest/gtest.h"

namespace noisefloor::tidy {
namespace {

bool May(const char* file, const char* header) {
  const FolderRule* rule = RuleOf(file);
  return rule != nullptr && MayInclude(*rule, header);
}

TEST(IncludeTableTest, ACoreFolderKnowsNoFilesNoClockAndNoChance) {
  for (const char* file :
       {"coordinator/sweep/a.cc", "coordinator/scheduler/a.cc", "coordinator/ingest/a.cc",
        "coordinator/analysis/a.cc", "coordinator/report/a.cc", "worker/slots/a.cc",
        "worker/trainer/noise/a.cc"}) {
    EXPECT_TRUE(May(file, "vector")) << file;
    EXPECT_TRUE(May(file, "common/base/ids.h")) << file;
    for (const char* header :
         {"fstream", "filesystem", "iostream", "cstdio", "chrono", "ctime", "random", "thread",
          "unistd.h", "sys/stat.h", "unordered_map", "common/base/clock.h", "common/base/mutex.h",
          "absl/time/clock.h", "absl/synchronization/mutex.h", "spdlog/spdlog.h"}) {
      EXPECT_FALSE(May(file, header)) << file << " " << header;
    }
  }
}

TEST(IncludeTableTest, AnEdgeMayHaveEveryStandardHeaderButThreadsOnlyWhereItSays) {
  EXPECT_TRUE(May("coordinator/store/a.cc", "filesystem"));
  EXPECT_TRUE(May("coordinator/store/a.cc", "thread"));
  EXPECT_FALSE(May("common/files/a.cc", "thread"));
}

TEST(IncludeTableTest, ARuleIsForTheFilesOfItsFolderAlone) {
  EXPECT_TRUE(May("coordinator/coordinator.cc", "coordinator/rpc/worker_service.h"));
  EXPECT_FALSE(May("coordinator/coordinator.cc", "coordinator/cli/command.h"));
  EXPECT_FALSE(May("coordinator/store/a.cc", "coordinator/coordinator.h"));
  EXPECT_EQ(RuleOf("coordinator/a_new_folder/a.cc"), nullptr);
  EXPECT_EQ(RuleOf("a.cc"), nullptr);
}

}  // namespace
}  // namespace noisefloor::tidy
