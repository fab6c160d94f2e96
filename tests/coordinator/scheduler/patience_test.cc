// What takes any hardware class waits for a faster one where it ends sooner so, and not for ever.
#include "coordinator/scheduler/patience.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Finish;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Started;
using test::Submit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// w1 has a slot of the class "fast", w2 one of "slow". Of the sweep, which takes any class, a
// member of cell 0 has ended on w1, one of cell 1 on w2, and one of cell 2 runs on w1.
class Patience : public testing::Test {
 protected:
  static sweep::Sweep OfAnyClass(size_t cells) {
    sweep::Sweep content = MakeSweep({"algo"}, 1);
    const sweep::NoisePlan plan = content.plans.at(0);
    content.plans.clear();
    for (size_t i = 0; i < cells; ++i) {
      content.plans.push_back(plan);
      content.plans.back().name = "algo:" + std::to_string(i);
    }
    content.hardware = {""};
    return content;
  }

  void Begin(double fast, double slow, size_t cells = 4) {
    (void)scheduler_.Step(Submit(OfAnyClass(cells)), now_);
    ASSERT_THAT(Started(scheduler_.Step(Join(1, 1, "u", {"fast"}), now_)),
                ElementsAre("s1c0r0 w1"));
    ASSERT_THAT(Started(scheduler_.Step(Join(2, 1, "v", {"slow"}), now_)),
                ElementsAre("s1c1r0 w2"));
    ASSERT_THAT(Started(End(1, 1, fast)), ElementsAre("s1c2r0 w1"));
    after_slow_ = Started(End(2, 2, slow));
  }

  Effects End(uint64_t worker, uint64_t lease, double seconds) {
    AttemptFinished end = Finish(worker, lease);
    end.outcome.train_seconds = seconds;
    return scheduler_.Step(end, now_);
  }

  // A second at a time, as the loop does; both workers are heard. What started first, and when.
  std::vector<std::string> Pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      now_ += absl::Seconds(1);
      for (uint64_t worker : {1, 2}) {
        Heartbeat beat{SessionId{worker}, {}};
        for (const RunningAttempt& running : scheduler_.Running()) {
          if (running.worker == WorkerId{worker}) beat.held.push_back({running.lease, 0, 0, 0});
        }
        (void)scheduler_.Step(beat, now_);
      }
      const std::vector<std::string> started = Started(scheduler_.Step(Tick{}, now_));
      if (!started.empty()) return started;
    }
    return {};
  }

  void TearDown() override { EXPECT_THAT(scheduler_.BrokenInvariants(), IsEmpty()); }

  absl::Time now_ = kT0;
  Scheduler scheduler_{Options{}};
  std::vector<std::string> after_slow_;
};

TEST_F(Patience, ASlotThatWillSoonBeFreeIsWaitedForWhereItEndsSooner) {
  Begin(10, 100);
  EXPECT_THAT(after_slow_, IsEmpty());
  const std::string why = scheduler_.Explain({SweepId{1}, 3, 0}, now_);
  EXPECT_THAT(why, HasSubstr("leaves a slot that is free for one of fast, where members of s1 "
                             "train for 10 s instead of 100 s; after 20 s it takes any."));
  EXPECT_THAT(Pass(10), IsEmpty());
  EXPECT_THAT(Started(End(1, 3, 10)), ElementsAre("s1c3r0 w1"));
}

TEST_F(Patience, WhatWouldEndNoSoonerIsNotWaitedFor) {
  Begin(60, 100);
  EXPECT_THAT(after_slow_, ElementsAre("s1c3r0 w2")) << "60 s to wait and 60 s there";
}

TEST_F(Patience, WhenTheExpectationFailsItTakesWhatThereIs) {
  Begin(10, 100);
  ASSERT_THAT(after_slow_, IsEmpty());
  EXPECT_THAT(Pass(19), IsEmpty());
  EXPECT_THAT(Pass(1), ElementsAre("s1c3r0 w2"));
}

// Twice what is expected would be 90 s; but after 55 s the slow class would have been no worse.
TEST_F(Patience, NothingIsWaitedForLongerThanItIsWorth) {
  Begin(45, 100);
  ASSERT_THAT(after_slow_, IsEmpty());
  EXPECT_THAT(Pass(54), IsEmpty());
  EXPECT_THAT(Pass(1), ElementsAre("s1c3r0 w2"));
}

TEST_F(Patience, WhatNobodyOffersAnyMoreIsNotWaitedFor) {
  Begin(30, 100);
  ASSERT_THAT(after_slow_, IsEmpty());
  (void)scheduler_.Step(SessionLost{SessionId{1}}, now_);
  EXPECT_THAT(scheduler_.Explain({SweepId{1}, 3, 0}, now_), Not(HasSubstr("for one of fast")));
  EXPECT_THAT(Pass(1), ElementsAre("s1c3r0 w2"));
}

TEST_F(Patience, AFasterClassThatComesMeanwhileIsTaken) {
  Begin(10, 100);
  ASSERT_THAT(after_slow_, IsEmpty());
  EXPECT_THAT(Started(scheduler_.Step(Join(3, 1, "w", {"fast"}), now_)), ElementsAre("s1c3r0 w3"));
}

// Each that waits makes it longer for the next: here the third would end sooner on the slow class.
TEST_F(Patience, ThoseThatWaitAlreadyCount) {
  Begin(30, 100, 8);
  // 30 + 30 and 60 + 30 are less than 100, 90 + 30 is not.
  EXPECT_THAT(after_slow_, ElementsAre("s1c5r0 w2"));
  EXPECT_THAT(scheduler_.Explain({SweepId{1}, 4, 0}, now_), HasSubstr("for one of fast"));
  EXPECT_THAT(scheduler_.Explain({SweepId{1}, 6, 0}, now_), Not(HasSubstr("for one of fast")));
}

TEST_F(Patience, OfTwoThatRunOneEndsInHalfTheTime) {
  (void)scheduler_.Step(Submit(OfAnyClass(5)), now_);
  ASSERT_THAT(Started(scheduler_.Step(Join(1, 2, "u", {"fast"}), now_)),
              ElementsAre("s1c0r0 w1", "s1c1r0 w1"));
  ASSERT_THAT(Started(scheduler_.Step(Join(2, 1, "v", {"slow"}), now_)), ElementsAre("s1c2r0 w2"));
  ASSERT_THAT(Started(End(1, 1, 60)), ElementsAre("s1c3r0 w1"));
  EXPECT_THAT(Started(End(2, 3, 100)), IsEmpty()) << "30 s to wait and 60 s there";
  EXPECT_THAT(scheduler_.Explain({SweepId{1}, 4, 0}, now_),
              HasSubstr("train for 60 s instead of 100 s; after 40 s it takes any."));
}

// Those of another sweep come later, whatever they wait for.
TEST_F(Patience, OnlyThoseOfItsOwnSweepAreBeforeIt) {
  Begin(30, 100, 5);
  ASSERT_THAT(after_slow_, IsEmpty()) << "two wait";
  ASSERT_THAT(Started(scheduler_.Step(Submit(OfAnyClass(5)), now_)), ElementsAre("s2c0r0 w2"));
  (void)scheduler_.Step(SweepUpdated{.request = 1, .sweep = SweepId{2}, .priority = 1}, now_);
  ASSERT_THAT(Started(End(1, 3, 30)), ElementsAre("s2c1r0 w1"));
  ASSERT_THAT(Started(End(2, 4, 100)), ElementsAre("s2c2r0 w2"));
  ASSERT_THAT(Started(End(1, 5, 30)), ElementsAre("s2c3r0 w1"));
  EXPECT_THAT(Started(End(2, 6, 100)), IsEmpty()) << "30 s to wait and 30 s there";
}

// However many cells would rather have the faster class, so many leave a slot for it at most.
TEST_F(Patience, ABoundedNumberWaitsAtOnce) {
  Begin(1, 10'000, 40);
  EXPECT_THAT(after_slow_, ElementsAre("s1c" + std::to_string(3 + kMostWaiting) + "r0 w2"));
  const uint64_t before = scheduler_.looked_at();
  EXPECT_THAT(Started(End(1, 3, 1)), ElementsAre("s1c3r0 w1"));
  EXPECT_LE(scheduler_.looked_at() - before, 2 * kMostWaiting + 16);
}

// What it leaves is for others.
TEST_F(Patience, ASlotThatIsLeftGoesToWhoeverWantsIt) {
  Begin(10, 100);
  ASSERT_THAT(after_slow_, IsEmpty());
  sweep::Sweep other = MakeSweep({"algo"}, 1, {"slow"});
  EXPECT_THAT(Started(scheduler_.Step(Submit(std::move(other)), now_)), ElementsAre("s2c0r0 w2"));
}

}  // namespace
}  // namespace noisefloor::scheduler
