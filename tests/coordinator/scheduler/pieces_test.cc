// What is done of many in one step is bounded by what it writes.
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::kT0;
using test::Of;

constexpr uint32_t kSlots = 1000;
constexpr size_t kWritesOfOne = 8;  // More than the last that is granted or ended makes.

// Steps until nothing is due; the most writes of one step.
size_t MostWrites(Scheduler& scheduler, Effects effects, absl::Time now) {
  size_t most = effects.writes.size();
  while (effects.more) {
    effects = scheduler.Step(Continue{}, now);
    most = std::max(most, effects.writes.size());
  }
  return most;
}

class FullSteps : public testing::Test {
 protected:
  FullSteps() {
    (void)scheduler_.Step(test::Submit(test::MakeSweep({"control"}, 2 * kSlots)), kT0);
  }
  size_t LeaseAll() {
    return MostWrites(scheduler_, scheduler_.Step(test::Join(1, kSlots, "unit"), kT0), kT0);
  }

  const Options options_ = {.most_writes = 100};
  Scheduler scheduler_{options_};
};

TEST_F(FullSteps, LeasesAreGrantedUntilAStepIsFull) {
  EXPECT_LE(LeaseAll(), options_.most_writes + kWritesOfOne);
  EXPECT_EQ(scheduler_.Running().size(), kSlots);
}

TEST_F(FullSteps, LeasesExpireUntilAStepIsFull) {
  (void)LeaseAll();
  (void)scheduler_.Step(Tick{}, kT0);
  absl::Time now = kT0;
  size_t most = 0;
  while (!scheduler_.Running().empty()) {
    now += absl::Seconds(5);
    most = std::max(most, MostWrites(scheduler_, scheduler_.Step(Tick{}, now), now));
  }
  EXPECT_GT(most, options_.most_writes / 2);
  EXPECT_LE(most, options_.most_writes + kWritesOfOne);
}

TEST_F(FullSteps, RunningMembersAreCancelledUntilAStepIsFull) {
  (void)LeaseAll();
  const Effects first = scheduler_.Step(SweepCancelled{1, SweepId{1}, "a"}, kT0);
  EXPECT_TRUE(first.more);
  // What a change looks at in a piece bounds it before its writes do.
  EXPECT_LE(MostWrites(scheduler_, first, kT0), 2 * options_.most_at_once + kWritesOfOne);
  EXPECT_EQ(scheduler_.CountsOf(SweepId{1})->In(MemberState::kCancelled), 2 * kSlots);
}

}  // namespace
}  // namespace noisefloor::scheduler
