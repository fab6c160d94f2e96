// Who asked for something stands beside what happened; tokens are kept like everything else.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::kT0;
using test::MakeSweep;
using test::Of;
using test::Submit;
using testing::ElementsAre;

// "kind: text (caller)" of each event.
std::vector<std::string> Happened(const Effects& effects) {
  std::vector<std::string> lines;
  for (const AppendEvent& event : Of<AppendEvent>(effects)) {
    lines.push_back(event.kind + ": " + event.text + " (" + event.caller + ")");
  }
  return lines;
}

TEST(Callers, AreKeptBesideWhatTheyAskedFor) {
  Scheduler scheduler{Options{}};
  SweepSubmitted submitted = Submit(MakeSweep({"algo"}, 2));
  submitted.caller = "alice";

  const Effects first = scheduler.Step(submitted, kT0);
  EXPECT_THAT(Happened(first),
              ElementsAre("sweep_submitted: s1 fleet: 2 members in 1 cell (alice)"));
  EXPECT_EQ(Of<KeepSweep>(first).at(0).sharing.owner, "alice");
  EXPECT_THAT(Happened(scheduler.Step(SweepCancelled{1, SweepId{1}, "bob"}, kT0)),
              ElementsAre("sweep_cancelled: 2 members cancelled (bob)"));
  EXPECT_THAT(Happened(scheduler.Step(SweepRetried{1, SweepId{1}, "carol"}, kT0)),
              ElementsAre("sweep_retried: 2 members waiting again (carol)"));
  EXPECT_THAT(Happened(scheduler.Step(test::Join(1, 1, "u1"), kT0)),
              ElementsAre("member_leased: s1c0r0 attempt 1 on w1 ()"));
}

TEST(Callers, AreKeptBesideUpdatesAndWhatIsTakenOutOfUse) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 2)), kT0);
  (void)scheduler.Step(test::Join(1, 1, "u1"), kT0);

  EXPECT_THAT(
      Happened(scheduler.Step(
          SweepUpdated{.request = 1, .sweep = SweepId{1}, .paused = true, .caller = "alice"}, kT0)),
      ElementsAre("sweep_updated: s1 paused (alice)"));
  EXPECT_THAT(
      Happened(scheduler.Step(
          WorkerUpdated{.request = 2, .worker = "w1", .drained = true, .caller = "bob"}, kT0)),
      ElementsAre("worker_drained: w1 takes no more leases until a person lets it; it finishes 1 "
                  "attempt (bob)"));
  EXPECT_THAT(
      Happened(scheduler.Step(
          WorkerUpdated{
              .request = 3, .worker = "w1", .unit = "u1", .quarantined = true, .caller = "carol"},
          kT0)),
      ElementsAre("quarantined_by_person: u1 of w1 gets no leases until a person releases "
                  "it (carol)"));
  EXPECT_THAT(
      Happened(scheduler.Step(
          WorkerUpdated{
              .request = 4, .worker = "w1", .unit = "u1", .quarantined = false, .caller = "dan"},
          kT0)),
      ElementsAre("released_by_person: u1 of w1 gets leases again (dan)"));
}

TEST(Callers, TokensAreKeptAndRevokedAndAnswered) {
  Scheduler scheduler{Options{}};
  access::TokenRecord token{.number = 3, .identity = "alice", .role = access::Role::kSubmitter};

  const Effects added = scheduler.Step(TokenAdded{7, token, "root"}, kT0);
  ASSERT_EQ(Of<KeepToken>(added).size(), 1u);
  EXPECT_EQ(Of<KeepToken>(added)[0].token.number, 3u);
  EXPECT_THAT(Happened(added),
              ElementsAre("token_added: token 3 of alice, submitter, added (root)"));
  EXPECT_EQ(Of<AnswerCount>(added).at(0).request, 7u);

  const Effects revoked = scheduler.Step(TokensRevoked{8, "alice", {3, 4}, "root"}, kT0);
  ASSERT_EQ(Of<RevokeToken>(revoked).size(), 2u);
  EXPECT_EQ(Of<RevokeToken>(revoked)[1].token, 4u);
  EXPECT_EQ(Of<RevokeToken>(revoked)[1].at, kT0);
  EXPECT_THAT(Happened(revoked), ElementsAre("token_revoked: token 3 of alice revoked (root)",
                                             "token_revoked: token 4 of alice revoked (root)"));
  EXPECT_EQ(Of<AnswerCount>(revoked).at(0).members, 2u);
}

TEST(Callers, WhatAFleetDecidesIsKeptAsItIsAndAnswered) {
  Scheduler scheduler{Options{}};
  fleet::PoolRecord pool;
  pool.number = 4;
  fleet::LaunchRecord launch;
  launch.number = 9;

  const Effects kept = scheduler.Step(
      FleetDecided{7, {pool}, {launch}, {2}, {{"pool_added", "pool a added"}}, "root"}, kT0);

  ASSERT_EQ(Of<KeepPool>(kept).size(), 1u);
  EXPECT_EQ(Of<KeepPool>(kept)[0].pool, pool);
  ASSERT_EQ(Of<KeepLaunch>(kept).size(), 1u);
  EXPECT_EQ(Of<KeepLaunch>(kept)[0].launch, launch);
  ASSERT_EQ(Of<DropPool>(kept).size(), 1u);
  EXPECT_EQ(Of<DropPool>(kept)[0].pool, 2u);
  EXPECT_EQ(Of<DropPool>(kept)[0].at, kT0);
  EXPECT_THAT(Happened(kept), ElementsAre("pool_added: pool a added (root)"));
  EXPECT_EQ(Of<AnswerCount>(kept).at(0).request, 7u);
}

// Whoever has a lease has it of a coordinator that is no more: nobody is at fault.
TEST(Callers, AfterABackupTookThePlaceOfTheDataNobodyHasALease) {
  Scheduler before{Options{}};
  (void)before.Step(Submit(MakeSweep({"algo"}, 3)), kT0);
  (void)before.Step(test::Join(1, 2, "u1"), kT0);
  Scheduler scheduler = Scheduler::Restore({}, before.Durable(), kT0);
  ASSERT_EQ(scheduler.Running().size(), 2u);

  const Effects effects = scheduler.Step(DataRestored{"the data are a backup's"}, kT0);

  EXPECT_THAT(
      Happened(effects),
      ElementsAre("data_restored: the data are a backup's ()",
                  "member_waits_again: s1c0r0 lost_worker: the data are a backup's (after 1 of 10 "
                  "attempts) ()",
                  "member_waits_again: s1c0r1 lost_worker: the data are a backup's (after 1 of 10 "
                  "attempts) ()"));
  const auto drops = Of<DropLease>(effects);
  ASSERT_EQ(drops.size(), 2u);
  for (const DropLease& drop : drops) {
    EXPECT_EQ(drop.cause, CauseClass::kLostWorker);
    EXPECT_EQ(drop.reason, "the data are a backup's");
    EXPECT_EQ(drop.at, kT0);
  }
  EXPECT_TRUE(scheduler.Running().empty());
  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kWaiting), 3u);
}

TEST(Callers, FilesThatMakeRoomAreCountedByTheirKind) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 2)), kT0);
  const std::vector<CollectedArtifact> files = {{LeaseId{1}, "weights", "w/1"},
                                                {LeaseId{1}, "log", "log.txt"},
                                                {LeaseId{2}, "log", "log.txt"}};

  const Effects kept = scheduler.Step(ArtifactsCollected{7, SweepId{1}, files, "ada"}, kT0);

  ASSERT_EQ(Of<CollectArtifacts>(kept).size(), 1u);
  EXPECT_EQ(Of<CollectArtifacts>(kept)[0].artifacts, files);
  EXPECT_EQ(Of<CollectArtifacts>(kept)[0].at, kT0);
  EXPECT_THAT(
      Happened(kept),
      ElementsAre("artifacts_collected: s1: files removed to make room: 2 log, 1 weights (ada)"));
  EXPECT_EQ(Of<AnswerCount>(kept).at(0).request, 7u);
  EXPECT_EQ(Of<AnswerCount>(kept).at(0).members, 3u);
  const Effects unknown = scheduler.Step(ArtifactsCollected{8, SweepId{9}, files, "ada"}, kT0);
  EXPECT_TRUE(unknown.writes.empty());
  EXPECT_EQ(Of<AnswerError>(unknown).at(0).code, absl::StatusCode::kNotFound);
}

// "class/stack: members" of each.
std::vector<std::string> NeedsOf(const Scheduler& scheduler) {
  std::vector<std::string> lines;
  for (const Need& need : scheduler.Needs()) {
    lines.push_back(need.hardware + "/" + need.stack + ": " + std::to_string(need.members));
  }
  return lines;
}

TEST(Needs, AreOfWhatCouldBeLeasedNow) {
  Scheduler scheduler{Options{}};
  EXPECT_THAT(NeedsOf(scheduler), ElementsAre());
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 5, {"gpu-a", "gpu-b"})), kT0);
  EXPECT_THAT(NeedsOf(scheduler), ElementsAre("gpu-a/: 5", "gpu-b/: 5"));

  (void)scheduler.Step(
      SweepUpdated{.request = 1, .sweep = SweepId{1}, .set_limits = {{"gpu-a", 2}}}, kT0);
  EXPECT_THAT(NeedsOf(scheduler), ElementsAre("gpu-a/: 2", "gpu-b/: 5"));
  (void)scheduler.Step(SweepUpdated{.request = 2, .sweep = SweepId{1}, .paused = true}, kT0);
  EXPECT_THAT(NeedsOf(scheduler), ElementsAre());
  (void)scheduler.Step(SweepUpdated{.request = 3, .sweep = SweepId{1}, .paused = false}, kT0);
  (void)scheduler.Step(SweepCancelled{4, SweepId{1}, ""}, kT0);
  EXPECT_THAT(NeedsOf(scheduler), ElementsAre());
}

TEST(Needs, OfALimitedSweepAreLessByWhatRuns) {
  Scheduler scheduler{Options{}};
  SweepSubmitted limited = Submit(MakeSweep({"algo"}, 5, {"gpu-a"}));
  limited.limits = {{"gpu-a", 2}};
  (void)scheduler.Step(limited, kT0);
  const auto needed = [&] {
    uint64_t members = 0;
    for (const Need& need : scheduler.Needs()) members += need.members;
    return members;
  };
  EXPECT_EQ(needed(), 2u);
  (void)scheduler.Step(test::Join(1, 1, "u1", {"gpu-a"}), kT0);
  EXPECT_EQ(needed(), 1u);
  (void)scheduler.Step(test::Join(2, 1, "u2", {"gpu-a"}), kT0);
  EXPECT_EQ(needed(), 0u);
}

}  // namespace
}  // namespace noisefloor::scheduler
