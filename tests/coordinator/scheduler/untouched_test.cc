// Members that nothing has happened to have no row and no object: they follow from their cell.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/json.h"
#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Fail;
using test::Finish;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Of;
using test::Started;
using test::Submit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string CountsText(const Scheduler& scheduler) {
  const SweepCounts counts = *scheduler.CountsOf(SweepId{1});
  std::string text;
  for (const MemberState state :
       {MemberState::kWaiting, MemberState::kLeased, MemberState::kDone, MemberState::kDiverged,
        MemberState::kFailed, MemberState::kCancelled}) {
    if (counts.In(state) == 0) continue;
    text += (text.empty() ? "" : " ") + std::string(Name(state)) + " " +
            std::to_string(counts.In(state));
  }
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
  return text;
}

TEST(Untouched, AHundredThousandMembersAreSubmittedWithARowForEachCell) {
  Scheduler scheduler{Options{}};

  const Effects effects = scheduler.Step(Submit(MakeSweep({"control", "algo"}, 50000)), kT0);

  EXPECT_THAT(effects.writes, SizeIs(2)) << "the sweep with its cells, and the event";
  EXPECT_THAT(Of<KeepSweep>(effects).at(0).cells, SizeIs(2));
  EXPECT_EQ(CountsText(scheduler), "waiting 100000");
  EXPECT_THAT(scheduler.Durable().sweeps[0].cells[0].members, IsEmpty());
}

TEST(Untouched, ACancelEndsThemByTheCellAndARetryLetsThemWaitAgain) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1000)), kT0);
  (void)scheduler.Step(Join(1, 2, "u"), kT0);
  (void)scheduler.Step(Finish(1, 1), kT0);  // Its slot takes the third.
  ASSERT_EQ(CountsText(scheduler), "waiting 997 leased 2 done 1");

  const Effects cancelled = scheduler.Step(SweepCancelled{1, SweepId{1}}, kT0);

  EXPECT_EQ(Of<AnswerCount>(cancelled).at(0).members, 999u);
  EXPECT_THAT(Of<SetMemberState>(cancelled), SizeIs(2)) << "those that were leased";
  EXPECT_THAT(Of<SetUntouched>(cancelled), SizeIs(1));
  EXPECT_EQ(CountsText(scheduler), "done 1 cancelled 999");
  EXPECT_THAT(scheduler.Explain({SweepId{1}, 0, 500}, kT0), HasSubstr("was cancelled"));

  const Effects retried = scheduler.Step(SweepRetried{1, SweepId{1}}, kT0);

  EXPECT_EQ(Of<AnswerCount>(retried).at(0).members, 999u);
  EXPECT_THAT(Started(retried), ElementsAre("s1c0r1 w1", "s1c0r2 w1"));
  EXPECT_EQ(CountsText(scheduler), "waiting 997 leased 2 done 1");
  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->retries, 2u);
}

TEST(Untouched, WhatFailedForWantOfDataIsNotCancelledAgain) {
  Options options;
  options.data_grace = absl::ZeroDuration();
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 5)), kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  (void)scheduler.Step(AttemptStarted{SessionId{1}, LeaseId{1}, "not a hash"}, kT0);
  (void)scheduler.Step(Tick{}, kT0);
  ASSERT_EQ(CountsText(scheduler), "failed 5");

  const Effects cancelled = scheduler.Step(SweepCancelled{1, SweepId{1}}, kT0);

  EXPECT_EQ(Of<AnswerCount>(cancelled).at(0).members, 0u);
  EXPECT_EQ(CountsText(scheduler), "failed 5");
}

TEST(Untouched, ManyThatFailForWantOfDataDoSoOverSeveralTicks) {
  Options options;
  options.data_grace = absl::Seconds(10);
  options.most_writes = 8;
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 20)), kT0);
  bool more = scheduler.Step(Join(1, 20, "u"), kT0).more;
  while (more) more = scheduler.Step(Continue{}, kT0).more;
  WorkerConnected back = Join(1, 1, "u");  // Without them: they wait again, and have rows.
  back.session = SessionId{2};
  (void)scheduler.Step(back, kT0);
  (void)scheduler.Step(Continue{}, kT0);
  ASSERT_EQ(CountsText(scheduler), "waiting 19 leased 1");
  (void)scheduler.Step(AttemptStarted{SessionId{2}, LeaseId{21}, "not a hash"}, kT0);
  (void)scheduler.Step(Tick{}, kT0);
  ASSERT_EQ(CountsText(scheduler), "waiting 20");

  std::vector<std::string> after;
  for (int tick = 0; tick < 5 && CountsText(scheduler) != "failed 20"; ++tick) {
    const Effects effects = scheduler.Step(Tick{}, kT0 + absl::Seconds(10));
    EXPECT_LE(effects.writes.size(), options.most_writes + 1) << "and what happened";
    after.push_back(CountsText(scheduler));
  }

  EXPECT_THAT(after, ElementsAre("waiting 12 failed 8", "waiting 4 failed 16", "failed 20"));
}

TEST(Untouched, ARestartKnowsThemByTheirCell) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"control", "algo"}, 10)), kT0);
  (void)scheduler.Step(Join(1, 3, "u"), kT0);
  (void)scheduler.Step(Fail(1, 1, CauseClass::kInterrupted), kT0);

  const Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);

  EXPECT_EQ(CountsText(restored), CountsText(scheduler));
  SweepCounts counts = *restored.CountsOf(SweepId{1});
  counts.ended = scheduler.CountsOf(SweepId{1})->ended;  // Soft.
  EXPECT_EQ(counts, *scheduler.CountsOf(SweepId{1}));
  EXPECT_EQ(restored.Durable().sweeps[0].cells[1].members.size(),
            scheduler.Durable().sweeps[0].cells[1].members.size());
}

// Replicate r of every cell before r + 1, with cells of three classes in one fleet.
TEST(Untouched, AreLeasedInTheOrderOfTheirReplicates) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo", "impl"}, 3)), kT0);

  EXPECT_THAT(Started(scheduler.Step(Join(1, 5, "u"), kT0)),
              ElementsAre("s1c0r0 w1", "s1c1r0 w1", "s1c0r1 w1", "s1c1r1 w1", "s1c0r2 w1"));
}

TEST(Untouched, APositionCountsThoseOfOtherCellsToo) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  (void)scheduler.Step(Submit(MakeSweep({"algo", "impl"}, 50)), kT0);  // s1c0r0 is leased.
  (void)scheduler.Step(Finish(1, 1), kT0);                             // And s1c1r0: all pinned.
  const auto explain = [&](uint32_t cell, uint32_t replicate) {
    return scheduler.Explain({SweepId{1}, cell, replicate}, kT0);
  };

  EXPECT_THAT(explain(0, 1), HasSubstr("position 1 of 98 "));
  EXPECT_THAT(explain(1, 1), HasSubstr("position 2 of 98 "));
  EXPECT_THAT(explain(0, 49), HasSubstr("position 97 of 98 "));
  EXPECT_THAT(explain(1, 49), HasSubstr("position 98 of 98 "));
}

// What has failed on every free worker waits for another one and hides nobody.
TEST(Untouched, AreNotHiddenBehindMembersThatNoFreeWorkerMayHave) {
  Options options;
  options.quarantine_after = 1000;
  Scheduler scheduler{options};
  (void)scheduler.Step(Join(1, 100, "u1"), kT0);
  (void)scheduler.Step(Join(2, 1, "u2"), kT0);
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1000)), kT0);
  size_t failed = 0;
  size_t starts = 0;
  for (uint64_t lease = 1; failed < 150 && lease < 10000; ++lease) {
    const Effects effects = scheduler.Step(Fail(1, lease, CauseClass::kOutOfMemory), kT0);
    if (Of<KeepOutcome>(effects).empty()) continue;  // The other worker's.
    ++failed;
    starts += Started(effects).size();
  }

  EXPECT_EQ(failed, 150u);
  EXPECT_EQ(starts, failed) << "the other worker is busy, and each free slot found a fresh member";
}

TEST(Untouched, WhatMembersAreGivenFollowsTheDataThatWereFound) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 5)), kT0);
  const Effects first = scheduler.Step(Join(1, 1, "u"), kT0);
  ASSERT_THAT(Of<KeepSpecification>(first), SizeIs(1));
  EXPECT_EQ(SpecificationFromJson(Of<SendStart>(first).at(0).specification)->data.identity, "");
  const std::string identity(64, 'a');
  (void)scheduler.Step(AttemptStarted{SessionId{1}, LeaseId{1}, identity}, kT0);

  const Effects second = scheduler.Step(Finish(1, 1), kT0);
  const Effects third = scheduler.Step(Finish(1, 2), kT0);

  EXPECT_THAT(Of<KeepSpecification>(second), SizeIs(1));
  EXPECT_THAT(Of<KeepSpecification>(third), IsEmpty()) << "it is the same";
  for (const Effects* effects : {&second, &third}) {
    const auto given = SpecificationFromJson(Of<SendStart>(*effects).at(0).specification);
    EXPECT_EQ(given->data.identity, identity);
  }
}

TEST(Counts, ASweepIsAsFarAsItsLeasesAreAndNoFurtherWhenTheyEnd) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 4)), kT0);
  (void)scheduler.Step(Join(1, 2, "u"), kT0);
  const auto running = [&] { return scheduler.CountsOf(SweepId{1})->running; };
  const auto beat = [&](int64_t first, int64_t second) {
    return scheduler.Step(
        Heartbeat{SessionId{1}, {{LeaseId{1}, 0, first, 100}, {LeaseId{2}, 0, second, 10}}}, kT0);
  };
  (void)beat(25, 5);
  EXPECT_DOUBLE_EQ(running(), 0.75);
  const Effects effects = beat(50, 20);
  EXPECT_DOUBLE_EQ(running(), 1.5) << "no lease has done more than all of its steps";
  EXPECT_THAT(effects.changed.leases, ElementsAre(LeaseId{1}, LeaseId{2}));
  EXPECT_THAT(effects.changed.sweeps, ElementsAre(SweepId{1}));

  (void)scheduler.Step(Finish(1, 1), kT0);
  EXPECT_DOUBLE_EQ(running(), 1);
  (void)scheduler.Step(SweepCancelled{1, SweepId{1}}, kT0);
  EXPECT_EQ(running(), 0);
}

// What a switch of the network does: all leases end in one tick.
TEST(Pieces, ManyLeasesAreGrantedAndExpireInSeveralSteps) {
  Options options;
  options.most_at_once = 10;
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 100)), kT0);
  const auto steps = [&](Event event, absl::Time now, const auto& count) {
    std::vector<size_t> counts;
    Effects effects = scheduler.Step(std::move(event), now);
    counts.push_back(count(effects));
    while (effects.more && counts.size() < 20) {
      effects = scheduler.Step(Continue{}, now);
      counts.push_back(count(effects));
    }
    EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
    return counts;
  };
  const auto granted = [](const Effects& effects) { return Of<GrantLease>(effects).size(); };
  const auto dropped = [](const Effects& effects) { return Of<DropLease>(effects).size(); };
  EXPECT_THAT(steps(Join(1, 25, "u"), kT0, granted), ElementsAre(10, 10, 5));
  (void)scheduler.Step(Tick{}, kT0);

  EXPECT_THAT(steps(Tick{}, kT0 + options.lease_ttl / 2, dropped), ElementsAre(0));
  EXPECT_THAT(steps(Tick{}, kT0 + options.lease_ttl, dropped), ElementsAre(10, 10, 5));
  EXPECT_EQ(CountsText(scheduler), "waiting 100");
}

// A stall in the middle of the pieces: what became due meanwhile is the next tick's, which
// forgives.
TEST(Pieces, WhatAStallMadeDueIsNotContinued) {
  Options options;
  options.most_at_once = 1;
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 10)), kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  (void)scheduler.Step(Join(2, 1, "u"), kT0);
  (void)scheduler.Step(Join(3, 1, "u"), kT0 + absl::Seconds(1));
  for (int i = 0; i < 3; ++i) (void)scheduler.Step(Continue{}, kT0 + absl::Seconds(1));
  absl::Time now = kT0;
  while (now < kT0 + options.lease_ttl) {
    (void)scheduler.Step(Tick{}, now);
    now += absl::Milliseconds(500);
  }
  const Effects first = scheduler.Step(Tick{}, kT0 + options.lease_ttl);
  ASSERT_THAT(Of<DropLease>(first), SizeIs(1));
  ASSERT_TRUE(first.more);

  const absl::Time late = kT0 + options.lease_ttl + absl::Seconds(20);
  EXPECT_THAT(Of<DropLease>(scheduler.Step(Continue{}, late)), SizeIs(1)) << "it was due before";
  EXPECT_THAT(Of<DropLease>(scheduler.Step(Continue{}, late)), IsEmpty());
  EXPECT_THAT(Of<DropLease>(scheduler.Step(Tick{}, late)), IsEmpty()) << "the stall is forgiven";
}

TEST(Workers, AreForgottenWhenTheyHaveBeenGoneForLong) {
  Options options;
  options.forget_after = absl::Hours(1);
  options.lease_ttl = absl::Hours(3);
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "holds a lease"), kT0);
  (void)scheduler.Step(Join(2, 1, "goes"), kT0);
  (void)scheduler.Step(Join(3, 1, "stays"), kT0);
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);
  (void)scheduler.Step(SessionLost{SessionId{2}}, kT0);
  const absl::Time late = kT0 + absl::Hours(1);

  EXPECT_THAT(Of<ForgetWorker>(scheduler.Step(Tick{}, late - absl::Seconds(1))), IsEmpty());
  const Effects effects = scheduler.Step(Tick{}, late);

  ASSERT_THAT(Of<ForgetWorker>(effects), SizeIs(1));
  EXPECT_EQ(Of<ForgetWorker>(effects)[0].worker, WorkerId{2});
  EXPECT_THAT(effects.changed.workers, ElementsAre(WorkerId{2}));
  EXPECT_FALSE(scheduler.FindWorker(WorkerId{2}).has_value());
  EXPECT_THAT(scheduler.Workers(), SizeIs(2));
  WorkerConnected again = Join(2, 1, "goes");
  again.session = SessionId{9};
  EXPECT_EQ(Of<SendWelcome>(scheduler.Step(again, late)).at(0).worker, WorkerId{4});
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

// Else it would come back as one that nobody has put there.
TEST(Workers, AreNotForgottenWhileAPersonKeepsThemInQuarantine) {
  Options options;
  options.forget_after = absl::Hours(1);
  Scheduler scheduler{options};
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  (void)scheduler.Step(WorkerUpdated{.request = 1, .worker = "w1", .quarantined = true}, kT0);
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);
  const absl::Time late = kT0 + absl::Hours(2);

  EXPECT_THAT(Of<ForgetWorker>(scheduler.Step(Tick{}, late)), IsEmpty());

  WorkerConnected again = Join(1, 1, "u");
  again.session = SessionId{9};
  (void)scheduler.Step(again, late);
  EXPECT_THAT(Started(scheduler.Step(Submit(MakeSweep({"algo"}, 1)), late)), IsEmpty());
}

// It was lost with a lease, and may bring the result yet.
TEST(Workers, AreNotForgottenWhileALateResultMayCome) {
  Options options;
  options.forget_after = absl::Hours(1);
  options.forget_late_after = absl::Hours(9);
  for (const bool came : {false, true}) {
    Scheduler scheduler{options};
    (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
    (void)scheduler.Step(Join(1, 1, "u"), kT0);
    (void)scheduler.Step(SweepCancelled{1, SweepId{1}},
                         kT0);  // Its lease ends without a word of it.
    if (came) (void)scheduler.Step(Finish(1, 1), kT0);
    (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);
    Scheduler restored = Scheduler::Restore(options, scheduler.Durable(), kT0);
    for (Scheduler* one : {&scheduler, &restored}) {
      const auto forgets = [&](int hours) {
        return Of<ForgetWorker>(one->Step(Tick{}, kT0 + absl::Hours(hours))).size();
      };
      EXPECT_EQ(forgets(0), 0u) << "it has not been missed for long";
      EXPECT_EQ(forgets(1), came ? 1u : 0u);
      EXPECT_EQ(forgets(9), came ? 0u : 1u);
    }
  }
}

TEST(Counts, OffersAreThoseOfConnectedWorkers) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 1, "u", {"cpu", "gpu"}), kT0);
  (void)scheduler.Step(Join(2, 1, "v", {"cpu"}), kT0);
  EXPECT_THAT(scheduler.OfferedClasses(), ElementsAre("cpu", "gpu"));
  WorkerConnected again = Join(1, 1, "u", {"tpu"});
  again.session = SessionId{3};
  EXPECT_TRUE(scheduler.Step(again, kT0).changed.offers);  // Before its old session is missed.
  EXPECT_THAT(scheduler.OfferedClasses(), ElementsAre("cpu", "tpu"));
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);  // That old one.
  EXPECT_THAT(scheduler.OfferedClasses(), ElementsAre("cpu", "tpu"));
  (void)scheduler.Step(SessionLost{SessionId{2}}, kT0);
  EXPECT_THAT(scheduler.OfferedClasses(), ElementsAre("tpu"));
  (void)scheduler.Step(SessionLost{SessionId{3}}, kT0);
  EXPECT_THAT(scheduler.OfferedClasses(), IsEmpty());
  EXPECT_THAT(scheduler.OfferedStacks(), IsEmpty());
}

}  // namespace
}  // namespace noisefloor::scheduler
