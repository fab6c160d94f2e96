#include "coordinator/pools/worker_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> OptionsOf(const std::string& hardware,
                                   const std::vector<std::string>& own = {}) {
  fleet::PoolWish wish;
  wish.hardware = hardware;
  wish.worker = own;
  wish.idle = absl::Seconds(90);
  return WorkerOptions(wish, /*stays=*/true);
}

TEST(WorkerOptionsTest, AWorkerLeavesUnlessItStays) {
  fleet::PoolWish wish;
  wish.idle = absl::Seconds(90);
  EXPECT_THAT(WorkerOptions(wish, /*stays=*/true),
              ElementsAre("--state-temporary", "--drain-timeout=1", "--give-up-after=1800"));
  EXPECT_THAT(WorkerOptions(wish, /*stays=*/false), Contains("--idle-timeout=90"));
}

TEST(WorkerOptionsTest, AClassOfSeveralGpusIsOfferedInSlotsOfSoMany) {
  EXPECT_THAT(OptionsOf("nvidia-h200-x4"),
              ElementsAre("--state-temporary", "--drain-timeout=1", "--give-up-after=1800",
                          "--classes=nvidia-h200-x4", "--gpus-per-slot=4"));
  EXPECT_THAT(OptionsOf("nvidia-h200"), Not(Contains(HasSubstr("--gpus-per-slot"))));
  EXPECT_THAT(OptionsOf("cpu-amd-avx2"), Contains("--classes=cpu-amd-avx2"));
  EXPECT_THAT(OptionsOf("cpu-amd-avx2"), Not(Contains(HasSubstr("--gpus-per-slot"))));
}

TEST(WorkerOptionsTest, WhatThePoolSaysItselfIsSaidOnce) {
  EXPECT_THAT(OptionsOf("nvidia-h200-x4", {"--gpus-per-slot=2"}),
              Not(Contains("--gpus-per-slot=4")));
  for (const char* own : {"--declare=nvidia-h200-x4", "--classes=nvidia-h200-x4"}) {
    const std::vector<std::string> options = OptionsOf("nvidia-h200-x4", {own});
    EXPECT_EQ(options.back(), own);
    EXPECT_EQ(options.size(), 4u) << "of classes and slots nothing else";
  }
}

}  // namespace
}  // namespace noisefloor::test
