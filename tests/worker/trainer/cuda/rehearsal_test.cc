// Whether the rehearsal finds what it says that it finds, and nothing where nothing is wrong.
#include "tests/worker/trainer/cuda/rehearsal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/worker/trainer/cuda/planted.h"
#include "worker/trainer/cuda/kernels/arguments.h"

namespace noisefloor::cuda::rehearsal {

namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Report RunPlanted(const std::string& name, uint32_t grid, uint64_t seed) {
  std::vector<float> values(256), others(256, 3.0f);
  const PlantedArguments arguments{values.data(), others.data()};
  const std::vector<Region> regions = {{values.data(), 256 * sizeof(float), true},
                                       {others.data(), 256 * sizeof(float), false}};
  const Body body = PlantedBody(name);
  EXPECT_NE(body, nullptr) << name;
  return Run({.name = name,
              .body = body,
              .grid = grid,
              .block = 64,
              .arguments = std::as_bytes(std::span(&arguments, 1)),
              .regions = regions,
              .seed = seed});
}

struct Mistake {
  const char* kernel;
  uint32_t grid;
  const char* finding;
};

// In every order: a race is found from what is touched, not from what comes of it.
TEST(RehearsalTest, PlantedMistakesAreFound) {
  for (const Mistake& mistake : {
           Mistake{"NoBarrier", 1, "shared memory byte"},
           Mistake{"OverwrittenTooEarly", 1, "race: thread"},
           Mistake{"OneAddress", 1, "region 0 byte 0: race"},
           Mistake{"OneByteOfBoth", 1, "race: thread"},
           Mistake{"BlocksMeet", 2, "region 0 byte 28: race: thread 0 of block"},
           Mistake{"ReadOfAnotherBlocks", 2, "region 0 byte 0: race"},
           Mistake{"AtomicAndPlain", 1, "region 0 byte 0: race"},
           Mistake{"BehindTheEnd", 1, "thread 3 of block 0 writes 4 bytes outside"},
           Mistake{"BeforeTheBeginning", 1, "thread 3 of block 0 reads 4 bytes outside"},
           Mistake{"WritesWhatIsRead", 1, "writes region 1, which is only read"},
           Mistake{"IndexOfSharedOutside", 1, "an index outside of an array"},
           Mistake{"ReadsUnwrittenShared", 1, "what the block has not written"},
           Mistake{"BarrierOfSome", 1, "a barrier that 5 of 64 threads reach"},
           Mistake{"TwoBarriers", 1, "two barriers"},
           Mistake{"ShuffleOfSome", 1, "does not come to it"},
           Mistake{"ShuffleOutOfItsMask", 1, "outside of its mask"},
       }) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const Report report = RunPlanted(mistake.kernel, mistake.grid, seed);
      EXPECT_THAT(report.findings, Contains(HasSubstr(mistake.finding)))
          << mistake.kernel << ", order " << seed;
      for (const std::string& finding : report.findings) {
        EXPECT_THAT(finding, HasSubstr(mistake.kernel));
      }
    }
  }
}

TEST(RehearsalTest, WhatIsSoundPasses) {
  for (const char* kernel : {"Sound", "Atomics"}) {
    for (const uint32_t grid : {1u, 3u}) {
      EXPECT_THAT(RunPlanted(kernel, grid, grid).findings, IsEmpty()) << kernel;
    }
  }
  const Report report = RunPlanted("Sound", 2, 1);
  EXPECT_EQ(report.barriers, 2u);
  EXPECT_EQ(report.accesses, 2u * 64 * 2 + 64 * 2);  // Two a thread, and of block 0 two more.
  EXPECT_EQ(RunPlanted("Atomics", 3, 1).atomics, 3u * 64);
}

TEST(RehearsalTest, ALaunchWithAFindingIsAnError) {
  RehearsalLauncher launcher(1);
  float out = 0;
  std::vector<float> values(8, 1.0f);
  const NoisySumArguments arguments{values.data(), &out, 8, 1};
  const absl::Status good =
      launcher.Launch(KernelLaunch::Of(Kernel::kNoisySumRows, 1, 32, arguments,
                                       {{values.data(), 32, false}, {&out, sizeof out, true}}));
  EXPECT_TRUE(good.ok()) << good;
  EXPECT_EQ(out, 8.0f);
  const absl::Status status =
      launcher.Launch(KernelLaunch::Of(Kernel::kNoisySumRows, 1, 32, arguments,
                                       {{values.data(), 28, false}, {&out, sizeof out, true}}));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("NoisySumRows: thread 7 of block 0 reads"));
}

}  // namespace

}  // namespace noisefloor::cuda::rehearsal
