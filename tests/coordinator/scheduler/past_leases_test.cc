// What is kept of leases that were lost: whom it names, and that it does not grow for ever.
#include "coordinator/scheduler/past_leases.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Fail;
using test::Finish;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Started;
using test::Submit;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr SweepId kLeasedSweep{1};

class PastLeases : public testing::Test {
 protected:
  void SetUp() override { Begin({}); }

  void Begin(const Options& options, uint32_t replicates = 1) {
    scheduler_ = Scheduler{options};
    (void)scheduler_.Step(Submit(MakeSweep({"algo"}, replicates)), now_);
  }

  void TearDown() override { EXPECT_THAT(scheduler_.BrokenInvariants(), IsEmpty()); }

  // As if nobody spoke for so long.
  void Pass(absl::Duration length) {
    now_ += length;
    (void)scheduler_.Step(Tick{}, now_);
  }

  std::vector<PastLease> Kept() const { return scheduler_.Durable().past_leases; }

  uint32_t Retry(const std::string& worker) {
    SweepRetried retry{.request = 9, .sweep = kLeasedSweep};
    retry.selection.workers = {worker};
    const auto answers = test::Of<AnswerCount>(scheduler_.Step(retry, now_));
    return answers.empty() ? 0 : answers.at(0).members;
  }

  absl::Time now_ = kT0;
  Scheduler scheduler_{Options{}};
};

TEST_F(PastLeases, AWorkerThatIsForgottenIsStillKnownByNameToThoseItHad) {
  Begin({.most_attempts = 1}, 2);
  (void)scheduler_.Step(Join(1, 2, "u1"), now_);
  (void)scheduler_.Step(Fail(1, 1, CauseClass::kBug), now_);
  (void)scheduler_.Step(Fail(1, 2, CauseClass::kBug), now_);
  (void)scheduler_.Step(SessionLost{SessionId{1}}, now_);
  Pass(absl::Hours(24));
  ASSERT_THAT(scheduler_.Durable().workers, IsEmpty()) << "it is forgotten";
  EXPECT_THAT(scheduler_.Explain({kLeasedSweep, 0, 0}, now_), testing::HasSubstr(" on w1 "));
  const RecoveredState durable = scheduler_.Durable();
  EXPECT_EQ(durable.forgotten, (std::map<WorkerId, std::string>{{WorkerId{1}, "w1"}}));

  scheduler_ = Scheduler::Restore({.most_attempts = 1}, durable, now_);

  EXPECT_EQ(Retry("w2"), 0u);
  EXPECT_EQ(Retry("w1"), 2u);
}

TEST_F(PastLeases, WithTheLastOfThemGoesTheNameOfAWorkerThatIsForgotten) {
  (void)scheduler_.Step(Join(1, 1, "u1"), now_);
  (void)scheduler_.Step(Fail(1, 1, CauseClass::kInterrupted), now_);
  (void)scheduler_.Step(Fail(1, 2, CauseClass::kInterrupted), now_);
  (void)scheduler_.Step(SessionLost{SessionId{1}}, now_);
  Pass(absl::Hours(1));  // Lease 3 ends, and nobody says how.
  Pass(absl::Hours(24 * 30));
  ASSERT_THAT(scheduler_.Durable().workers, IsEmpty());
  ASSERT_THAT(scheduler_.Durable().forgotten, SizeIs(1));

  (void)scheduler_.Step(Join(2, 1, "u2"), now_);
  (void)scheduler_.Step(Finish(2, 4), now_);

  ASSERT_EQ(scheduler_.CountsOf(kLeasedSweep)->In(MemberState::kDone), 1u);
  EXPECT_THAT(Kept(), IsEmpty());
  EXPECT_THAT(scheduler_.Durable().forgotten, IsEmpty());
}

TEST_F(PastLeases, OfAMemberWithAResultThatAloneIsKeptWhichAWorkerMayBringLate) {
  (void)scheduler_.Step(Join(1, 1, "u1"), now_);
  (void)scheduler_.Step(Fail(1, 1, CauseClass::kInterrupted), now_);
  (void)scheduler_.Step(SessionLost{SessionId{1}}, now_);
  for (int i = 0; i < 20; ++i) Pass(absl::Seconds(1));
  (void)scheduler_.Step(Join(2, 1, "u2"), now_);
  (void)scheduler_.Step(Finish(2, 3), now_);
  ASSERT_EQ(scheduler_.CountsOf(kLeasedSweep)->In(MemberState::kDone), 1u);

  ASSERT_THAT(Kept(), SizeIs(1));
  EXPECT_EQ(Kept()[0].lease, LeaseId{2});
  (void)scheduler_.Step(Join(1, 1, "u1"), now_);
  EXPECT_THAT(test::Of<KeepOutcome>(scheduler_.Step(Finish(1, 2), now_)), SizeIs(1)) << "late";
  EXPECT_THAT(Kept(), IsEmpty());
  // It did not hear the answer and says it again.
  const auto again = test::Of<SendSettled>(scheduler_.Step(Finish(1, 2), now_));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_FALSE(again[0].accepted);
}

// Nobody brings it late: with its worker goes the last that is kept of the member.
TEST_F(PastLeases, WithAWorkerThatIsForgottenGoesWhatItMightHaveBrought) {
  (void)scheduler_.Step(Join(1, 1, "u1"), now_);
  (void)scheduler_.Step(SessionLost{SessionId{1}}, now_);
  for (int i = 0; i < 20; ++i) Pass(absl::Seconds(1));  // Lease 1 ends, and nobody says how.
  (void)scheduler_.Step(Join(2, 1, "u2"), now_);
  (void)scheduler_.Step(Finish(2, 2), now_);
  ASSERT_EQ(scheduler_.CountsOf(kLeasedSweep)->In(MemberState::kDone), 1u);
  ASSERT_THAT(Kept(), SizeIs(1));

  now_ += Options{}.forget_late_after;
  const Effects effects = scheduler_.Step(Tick{}, now_);

  ASSERT_THAT(test::Of<ForgetWorker>(effects), SizeIs(1));
  EXPECT_EQ(test::Of<ForgetWorker>(effects)[0].worker, WorkerId{1});
  EXPECT_EQ(scheduler_.CountsOf(kLeasedSweep)->In(MemberState::kDone), 1u);
  EXPECT_THAT(Kept(), IsEmpty());
  EXPECT_THAT(scheduler_.Durable().forgotten, IsEmpty());
}

TEST_F(PastLeases, OfWhatIsForgivenTheLastAloneIsKept) {
  (void)scheduler_.Step(Join(1, 1, "u1"), now_);
  for (uint64_t round = 0; round < 20; ++round) {
    (void)scheduler_.Step(Fail(1, 2 * round + 1, CauseClass::kOutOfMemory), now_);
    (void)scheduler_.Step(Fail(1, 2 * round + 2, CauseClass::kOutOfMemory), now_);
    ASSERT_THAT(Kept(), SizeIs(2)) << "what counts in round " << round;
    ASSERT_EQ(scheduler_.CountsOf(kLeasedSweep)->In(MemberState::kFailed), 1u);
    // Two failures in a row of one member are no reason for a quarantine.
    ASSERT_EQ(Retry("w1"), 1u);
    ASSERT_THAT(Kept(), SizeIs(1));
    EXPECT_EQ(Kept()[0].lease, LeaseId{2 * round + 2});
  }
}

TEST_F(PastLeases, WhatAWorkerLosesWithoutAWordIsBounded) {
  constexpr uint32_t kMembers = kMostUnheard + 50;
  Begin({}, kMembers);
  (void)scheduler_.Step(Join(1, kMembers, "u1"), now_);
  while (scheduler_.Step(Continue{}, now_).more) {
  }
  ASSERT_EQ(scheduler_.CountsOf(kLeasedSweep)->In(MemberState::kLeased), kMembers);
  (void)scheduler_.Step(Join(1, 0, "u1"), now_);  // It has none of them.
  ASSERT_THAT(Kept(), SizeIs(kMembers)) << "all count against their members";

  (void)scheduler_.Step(Join(2, kMembers, "u2"), now_);
  while (scheduler_.Step(Continue{}, now_).more) {
  }
  for (const RunningAttempt& lease : scheduler_.Running()) {
    (void)scheduler_.Step(Finish(2, lease.lease.value), now_);
  }

  ASSERT_EQ(scheduler_.CountsOf(kLeasedSweep)->In(MemberState::kDone), kMembers);
  EXPECT_THAT(Kept(), SizeIs(kMostUnheard));
  EXPECT_EQ(Kept().at(0).lease, LeaseId{51}) << "the oldest are not waited for";
}

TEST_F(PastLeases, WorkersThatAreTurnedAwayAreNotRememberedForEver) {
  (void)scheduler_.Step(Join(1, 1, "u1"), now_);
  const auto refuse = [&](uint64_t number) {
    WorkerConnected twin = Join(number, 1, "u1");
    twin.name = "w1";
    return test::Of<AppendEvent>(scheduler_.Step(twin, now_)).size();
  };
  EXPECT_EQ(refuse(2), 1u);
  EXPECT_EQ(refuse(2), 0u) << "told once";
  for (uint64_t number = 3; number < 1002; ++number) ASSERT_EQ(refuse(number), 1u) << number;
  EXPECT_EQ(refuse(2), 0u) << "a thousand are remembered";
  EXPECT_EQ(refuse(1002), 1u);
  EXPECT_EQ(refuse(2), 1u) << "and when one more comes, told once more";
}

}  // namespace
}  // namespace noisefloor::scheduler
