// The worker that `run` starts for a sweep.
#include "coordinator/cli/submission.h"

#include "gtest/gtest.h"

namespace noisefloor::cli {
namespace {

TEST(GpusPerSlot, AreAsManyAsTheSweepTrainsOn) {
  v1::Sweep sweep;
  EXPECT_EQ(GpusPerSlot(sweep), 1u);
  v1::Setting& other = *sweep.add_training();
  other.set_path("train.shards");
  other.mutable_value()->set_integer(8);
  EXPECT_EQ(GpusPerSlot(sweep), 1u);
  v1::Setting& devices = *sweep.add_training();
  devices.set_path("train.devices");
  devices.mutable_value()->set_integer(4);
  EXPECT_EQ(GpusPerSlot(sweep), 4u);
  // What is wrong with it the coordinator says.
  devices.mutable_value()->set_integer(0);
  EXPECT_EQ(GpusPerSlot(sweep), 1u);
  devices.mutable_value()->set_integer(int64_t{1} << 40);
  EXPECT_EQ(GpusPerSlot(sweep), 64u);
  devices.mutable_value()->set_text("four");
  EXPECT_EQ(GpusPerSlot(sweep), 1u);
}

}  // namespace
}  // namespace noisefloor::cli
