#include "worker/trainer/cuda/kernel_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace noisefloor::cuda {

namespace {

TEST(KernelTableTest, EachKernelStandsAtItsPlace) {
  std::set<std::string_view> names;
  for (const KernelFacts& facts : AllKernels()) {
    EXPECT_EQ(&FactsOf(facts.kernel), &facts) << facts.name;
    names.insert(facts.name);
  }
  EXPECT_EQ(names.size(), AllKernels().size());
}

TEST(KernelTableTest, ArchitecturesServeFromP100ToBlackwell) {
  EXPECT_THAT(kArchitectures, testing::ElementsAre(60, 70, 75, 80, 86, 89, 90, 100, 120));
}

// Code runs on GPUs of its own major number and no lower minor number.
TEST(KernelTableTest, AGpuRunsCodeOfItsOwnMajorNumber) {
  struct Row {
    int major, minor, architecture;
  };
  for (const Row& row : {Row{6, 0, 60}, Row{6, 1, 60}, Row{7, 0, 70}, Row{7, 2, 70}, Row{7, 5, 75},
                         Row{8, 0, 80}, Row{8, 6, 86}, Row{8, 7, 86}, Row{8, 9, 89}, Row{9, 0, 90},
                         Row{10, 0, 100}, Row{10, 3, 100}, Row{12, 0, 120}, Row{12, 1, 120},
                         Row{5, 2, 0}, Row{11, 0, 0}, Row{13, 0, 0}, Row{0, 0, 0}}) {
    EXPECT_EQ(ArchitectureFor(row.major, row.minor), row.architecture)
        << row.major << "." << row.minor;
  }
}

}  // namespace

}  // namespace noisefloor::cuda
