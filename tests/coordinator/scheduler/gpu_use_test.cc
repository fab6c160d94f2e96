// GPU hours of a sweep: counted per lease and GPU, bounded, and the same after a restart.
#include "coordinator/scheduler/gpu_use.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Fail;
using test::Finish;
using test::kT0;
using test::MakeSweep;
using test::Of;
using test::Started;
using test::Submit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kTwo = "nvidia-h100-x2";

class GpuUseTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(scheduler_.BrokenInvariants(), IsEmpty()); }

  void Begin(double gpu_hours, std::vector<std::string> classes = {"nvidia-h100"}) {
    const int64_t devices = classes.front() == kTwo ? 2 : 1;
    SweepSubmitted event = Submit(MakeSweep({"algo"}, 8, std::move(classes), devices));
    event.gpu_hours = gpu_hours;
    (void)scheduler_.Step(event, now_);
  }
  Effects Tell(const Event& event) { return scheduler_.Step(event, now_); }
  // Time passes in which the workers hold all that they have.
  std::vector<std::string> Pass(absl::Duration time) {
    std::vector<std::string> started;
    for (absl::Duration passed; passed < time; passed += absl::Seconds(10)) {
      now_ += absl::Seconds(10);
      std::map<WorkerId, Heartbeat> beats;
      for (const RunningAttempt& one : scheduler_.Running()) {
        beats[one.worker].session = SessionId{one.worker.value};
        beats[one.worker].held.push_back({one.lease});
      }
      for (const auto& [worker, beat] : beats) (void)Tell(beat);
      for (const std::string& one : Started(Tell(Tick{}))) started.push_back(one);
    }
    return started;
  }
  double Used() { return absl::ToDoubleHours(scheduler_.CountsOf(SweepId{1})->gpus.At(now_)); }

  // Like test::Join; each slot has two GPUs.
  static WorkerConnected JoinWithTwo(uint64_t number) {
    WorkerConnected event = test::Join(number, 1, "a+b", {kTwo});
    Inventory inventory = *event.inventory;
    inventory.devices.push_back(inventory.devices[0]);
    inventory.slots[0].devices = {0, 1};
    event.inventory = std::make_shared<const Inventory>(std::move(inventory));
    return event;
  }

  absl::Time now_ = kT0;
  Scheduler scheduler_{Options{}};
};

TEST_F(GpuUseTest, EachLeaseCountsFromItsGrantToItsEnd) {
  Begin(0);
  ASSERT_THAT(Started(Tell(test::Join(1, 2, "u", {"nvidia-h100"}))), SizeIs(2));
  Pass(absl::Hours(1));
  EXPECT_DOUBLE_EQ(Used(), 2);
  (void)Tell(Fail(1, 1, CauseClass::kInterrupted));  // What failed was used, too.
  (void)Tell(Finish(1, 2));
  Pass(absl::Hours(1));
  EXPECT_DOUBLE_EQ(Used(), 4) << "two others began at once";
}

TEST_F(GpuUseTest, EachGpuOfASlotCounts) {
  Begin(0, {kTwo});
  ASSERT_THAT(Started(Tell(JoinWithTwo(1))), SizeIs(1));
  Pass(absl::Hours(1));
  EXPECT_DOUBLE_EQ(Used(), 2);
}

TEST_F(GpuUseTest, ProcessorsDoNotCountAndWhatIsDeclaredDoes) {
  Begin(0, {"cpu-amd-avx2", "tpu-v4"});
  ASSERT_THAT(Started(Tell(test::Join(1, 1, "u", {"cpu-amd-avx2"}))), SizeIs(1));
  Pass(absl::Hours(1));
  EXPECT_DOUBLE_EQ(Used(), 0);
  ASSERT_THAT(Started(Tell(test::Join(2, 1, "v", {"tpu-v4"}))), SizeIs(1));
  Pass(absl::Hours(1));
  EXPECT_DOUBLE_EQ(Used(), 1);
}

TEST_F(GpuUseTest, NothingBeginsWhenTheyAreUsedAndWhatRunsFinishes) {
  Begin(1);
  ASSERT_THAT(Started(Tell(test::Join(1, 2, "u", {"nvidia-h100"}))), SizeIs(2));
  EXPECT_THAT(Pass(absl::Minutes(29)), IsEmpty());
  EXPECT_THAT(Started(Tell(Finish(1, 1))), ElementsAre("s1c0r2 w1")) << "58 minutes are used";
  EXPECT_THAT(Pass(absl::Minutes(2)), IsEmpty());
  EXPECT_THAT(Started(Tell(Finish(1, 2))), IsEmpty());
  EXPECT_THAT(Pass(absl::Minutes(10)), IsEmpty());
  EXPECT_THAT(Started(Tell(Finish(1, 3))), IsEmpty());
  EXPECT_THAT(scheduler_.Explain({SweepId{1}, 0, 4}, now_),
              HasSubstr("1.2 of 1 GPU hours are used. `update s1 --gpu-hours=N` changes"));
  EXPECT_THAT(scheduler_.ExplainSweep(SweepId{1}, now_).value_or(""),
              HasSubstr("It begins nothing more: 1.2 of 1 GPU hours"));
  EXPECT_THAT(scheduler_.Needs(), IsEmpty()) << "no pool begins a worker for it";
  // Another sweep has the slots.
  EXPECT_THAT(Started(Tell(Submit(MakeSweep({"control"}, 2, {"nvidia-h100"})))), SizeIs(2));
}

TEST_F(GpuUseTest, WhatRunsCountsWhileItRuns) {
  Begin(1);
  ASSERT_THAT(Started(Tell(test::Join(1, 1, "u", {"nvidia-h100"}))), SizeIs(1));
  Pass(absl::Minutes(61));
  EXPECT_THAT(Started(Tell(test::Join(2, 1, "v", {"nvidia-h100"}))), IsEmpty());
}

TEST_F(GpuUseTest, WithMoreHoursItGoesOnAtOnce) {
  Begin(1);
  ASSERT_THAT(Started(Tell(test::Join(1, 1, "u", {"nvidia-h100"}))), SizeIs(1));
  Pass(absl::Minutes(61));
  ASSERT_THAT(Started(Tell(Finish(1, 1))), IsEmpty());
  SweepUpdated more{.sweep = SweepId{1}};
  more.gpu_hours = 1.01;
  EXPECT_THAT(Started(Tell(more)), IsEmpty()) << "61 minutes are used";
  more.gpu_hours = 2;
  EXPECT_THAT(Started(Tell(more)), SizeIs(1));
  SweepUpdated less{.sweep = SweepId{1}};
  less.gpu_hours = 0.5;
  (void)Tell(less);
  EXPECT_THAT(Started(Tell(Finish(1, 2))), IsEmpty());
  less.gpu_hours = 0;
  EXPECT_THAT(Started(Tell(less)), SizeIs(1)) << "no bound";
}

TEST_F(GpuUseTest, ItIsSaidOnceWhileSomethingWaits) {
  Begin(0.5);
  ASSERT_THAT(Started(Tell(test::Join(1, 1, "u", {"nvidia-h100"}))), SizeIs(1));
  Pass(absl::Minutes(29));
  size_t said = 0;
  for (int i = 0; i < 5; ++i) {
    now_ += absl::Minutes(1);
    for (const AppendEvent& event : Of<AppendEvent>(Tell(Tick{}))) {
      said += event.kind == "gpu_hours_used" ? 1 : 0;
    }
  }
  EXPECT_EQ(said, 1u);
}

TEST_F(GpuUseTest, ARestartForgetsNothingOfIt) {
  Begin(1.5);
  ASSERT_THAT(Started(Tell(test::Join(1, 1, "u", {"nvidia-h100"}))), SizeIs(1));
  Pass(absl::Hours(1));
  ASSERT_THAT(Started(Tell(Finish(1, 1))), SizeIs(1));
  Pass(absl::Minutes(20));
  scheduler_ = Scheduler::Restore(Options{}, scheduler_.Durable(), now_);
  EXPECT_NEAR(Used(), 4. / 3, 1e-9);
  now_ += absl::Minutes(15);  // Nobody has ticked since.
  const RecoveredState later = scheduler_.Durable();
  scheduler_ = Scheduler::Restore(Options{}, later, now_);
  EXPECT_THAT(Started(Tell(test::Join(2, 1, "v", {"nvidia-h100"}))), IsEmpty())
      << "used before the first tick after the restart";
}

TEST_F(GpuUseTest, ALeaseThatNobodyNamesAfterARestartCountsNothing) {
  Begin(0);
  ASSERT_THAT(Started(Tell(test::Join(1, 1, "u", {"nvidia-h100"}))), SizeIs(1));
  Pass(absl::Hours(1));
  const RecoveredState kept = scheduler_.Durable();
  now_ += absl::Hours(100);  // No coordinator is there.
  scheduler_ = Scheduler::Restore(Options{}, kept, now_);
  std::vector<DropLease> drops;
  for (int second = 0; second < 20 && drops.empty(); ++second) {
    now_ += absl::Seconds(1);
    drops = Of<DropLease>(Tell(Tick{}));
  }
  ASSERT_THAT(drops, SizeIs(1));
  EXPECT_FALSE(drops[0].used);
  EXPECT_DOUBLE_EQ(Used(), 0);
}

// A clock that is put back takes nothing away.
TEST_F(GpuUseTest, AClockThatIsPutBackTakesNothingAway) {
  Begin(0);
  ASSERT_THAT(Started(Tell(test::Join(1, 1, "u", {"nvidia-h100"}))), SizeIs(1));
  now_ -= absl::Hours(1);
  (void)Tell(Finish(1, 1));
  EXPECT_GE(scheduler_.CountsOf(SweepId{1})->gpus.ended, absl::ZeroDuration());
}

}  // namespace
}  // namespace noisefloor::scheduler
