#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/json.h"
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
using testing::IsEmpty;
using testing::SizeIs;

TEST(Placement, FillsEverySlotAndNoMore) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 5)), kT0);

  EXPECT_THAT(Started(scheduler.Step(Join(1, 3, "u1"), kT0)), SizeIs(3));
  EXPECT_THAT(Started(scheduler.Step(Join(2, 4, "u2"), kT0)), SizeIs(2));
}

TEST(Placement, SharesMembersByTheSlotsInUse) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  (void)scheduler.Step(Join(2, 3, "u2"), kT0);

  EXPECT_THAT(Started(scheduler.Step(Submit(MakeSweep({"algo"}, 4)), kT0)),
              ElementsAre("s1c0r0 w1", "s1c0r1 w2", "s1c0r2 w2", "s1c0r3 w2"));
}

TEST(Placement, SpreadsAControlCohortOverUnitsNotWorkers) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 4, "gpu-1"), kT0);
  (void)scheduler.Step(Join(2, 4, "gpu-1"), kT0);
  (void)scheduler.Step(Join(3, 4, "gpu-2"), kT0);

  const std::vector<std::string> started =
      Started(scheduler.Step(Submit(MakeSweep({"control"}, 4)), kT0));

  const auto on_third = std::count_if(started.begin(), started.end(),
                                      [](const std::string& s) { return s.ends_with("w3"); });
  EXPECT_EQ(on_third, 2);
}

// Also where the sweep leaves the stack open; and where they are in the way of nothing else.
TEST(Placement, AMemberGoesToATrainerWithTheSettingsOfItsSweep) {
  Scheduler scheduler{Options{}};
  WorkerConnected other = Join(1, 1, "u1");
  other.inventory = test::MakeInventory(
      {.unit = "u1",
       .stacks = {{"", "forest", "f2", "b", "of-the-forest"}, {"", "wood", "f3", "b", "of-wood"}}});
  (void)scheduler.Step(other, kT0);
  EXPECT_THAT(Started(scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0)), IsEmpty());
  EXPECT_THAT(scheduler.Explain({SweepId{1}, 0, 0}, kT0),
              testing::HasSubstr("what w1 offers has other settings than those that s1 was checked "
                                 "against. Submit it anew"));

  sweep::Sweep of_wood = MakeSweep({"algo"}, 1);
  of_wood.schema = "of-wood";
  EXPECT_THAT(Started(scheduler.Step(Submit(of_wood), kT0)), ElementsAre("s2c0r0 w1"));
  EXPECT_THAT(Started(scheduler.Step(Join(2, 2, "u2"), kT0)), ElementsAre("s1c0r0 w2"));
}

TEST(Placement, SettingsAreKeptOnceAndSharedByWorkers) {
  Scheduler scheduler{Options{}};
  WorkerConnected first = Join(1, 1, "u1");
  first.schemas = {std::make_shared<const SettingsSchema>(std::vector<SettingRule>{})};
  WorkerConnected second = Join(2, 1, "u2");
  second.schemas = {std::make_shared<const SettingsSchema>(std::vector<SettingRule>{})};

  EXPECT_THAT(test::Of<KeepSchema>(scheduler.Step(first, kT0)), SizeIs(1));
  EXPECT_THAT(test::Of<KeepSchema>(scheduler.Step(second, kT0)), IsEmpty());
  EXPECT_EQ(scheduler.FindWorker(WorkerId{2})->schemas.at(0), first.schemas.at(0));
}

TEST(Placement, OfSettingsOnlyNewOnesCountTowardsWhatIsKept) {
  const auto settings = [](int number) {
    return std::make_shared<const SettingsSchema>(
        std::vector<SettingRule>{{.path = "own.number_" + std::to_string(number)}});
  };
  Scheduler scheduler{Options{}};
  WorkerConnected first = Join(1, 1, "u1");
  for (int i = 0; i < 1000; ++i) first.schemas.push_back(settings(i));
  EXPECT_THAT(test::Of<KeepSchema>(scheduler.Step(first, kT0)), SizeIs(1000));
  WorkerConnected same = Join(2, 1, "u2");
  same.schemas = {settings(7)};
  EXPECT_THAT(test::Of<CloseSession>(scheduler.Step(same, kT0)), IsEmpty());
  WorkerConnected other = Join(3, 1, "u3");
  other.schemas = {settings(1000)};
  EXPECT_THAT(test::Of<CloseSession>(scheduler.Step(other, kT0)), SizeIs(1));
}

TEST(Placement, OfSoMuchSoftwareAndNoMoreItIsKeptWhatItIs) {
  Scheduler scheduler{Options{}};
  WorkerConnected event = Join(1, 1, "u1");
  const auto versions = std::make_shared<const Versions>();
  for (int i = 0; i < 10001; ++i) {
    event.software.push_back({"f" + std::to_string(i), versions, "{}"});
  }
  EXPECT_THAT(test::Of<KeepSoftware>(scheduler.Step(event, kT0)), SizeIs(10000));
}

WorkerConnected JoinWith(uint64_t number, const std::string& fingerprint, Versions versions) {
  WorkerConnected event = Join(number, 1, "u" + std::to_string(number));
  event.inventory =
      test::MakeInventory({.unit = "u" + std::to_string(number),
                           .stacks = {{"", "torch", fingerprint, "b", "", versions}}});
  event.software = {{fingerprint, std::make_shared<const Versions>(std::move(versions)), "{...}"}};
  return event;
}

// Also when the worker that it was pinned to was there before a restart alone.
TEST(Placement, WhatIsPinnedToOtherSoftwareSaysWhatDiffers) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(JoinWith(1, "f1", {{"cudnn", "9.1.0"}, {"cuda", "13.0"}, {"driver", "570"}}),
                       kT0);
  ASSERT_THAT(Started(scheduler.Step(Submit(MakeSweep({"algo"}, 2)), kT0)), SizeIs(1));
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);
  Scheduler restored = Scheduler::Restore(Options{}, scheduler.Durable(), kT0);

  for (Scheduler* one : {&scheduler, &restored}) {
    (void)one->Step(JoinWith(2, "f2", {{"cudnn", "9.12.0"}, {"cuda", "13.0"}, {"mkl", "2024"}}),
                    kT0);
    EXPECT_THAT(one->Explain({SweepId{1}, 0, 1}, kT0),
                testing::HasSubstr("what is connected (w2: cudnn 9.12.0 instead of 9.1.0, driver "
                                   "none instead of 570, mkl 2024 instead of none) offers "
                                   "another"));
  }
}

TEST(Placement, SoftwareIsKeptOnceForAFingerprint) {
  Scheduler scheduler{Options{}};
  const auto kept = [&](const WorkerConnected& event) {
    std::vector<std::string> texts;
    for (const auto& one : test::Of<KeepSoftware>(scheduler.Step(event, kT0))) {
      texts.push_back(one.software.fingerprint + one.software.text);
    }
    return texts;
  };
  EXPECT_THAT(kept(JoinWith(1, "f1", {{"cudnn", "9"}})), ElementsAre("f1{...}"));
  EXPECT_THAT(kept(JoinWith(2, "f1", {{"cudnn", "9"}})), IsEmpty());
  EXPECT_THAT(kept(JoinWith(3, "f2", {{"cudnn", "9"}})), ElementsAre("f2{...}"));
}

TEST(Placement, DoesNotLeaveASlotIdleToSpread) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"control"}, 3)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  (void)scheduler.Step(Join(2, 1, "u2"), kT0);

  EXPECT_THAT(Started(scheduler.Step(Finish(1, 1), kT0)), ElementsAre("s1c0r2 w1"));
}

TEST(Placement, MatchesTheClassOfTheCell) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 2, {"avx2", "sse"})), kT0);

  EXPECT_THAT(Started(scheduler.Step(Join(1, 9, "u1", {"sse"}), kT0)),
              ElementsAre("s1c1r0 w1", "s1c1r1 w1"));
  EXPECT_THAT(Started(scheduler.Step(Join(2, 9, "u2", {"neon"}), kT0)), IsEmpty());
}

TEST(Placement, TellsTheTrainerItsClassStackLanesAndIdentity) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 2)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  (void)scheduler.Step(AttemptStarted{SessionId{1}, LeaseId{1}, std::string(64, 'd')}, kT0);

  const auto starts = test::Of<SendStart>(scheduler.Step(Finish(1, 1), kT0));

  ASSERT_THAT(starts, SizeIs(1));
  const auto specification = SpecificationFromJson(starts[0].specification);
  ASSERT_TRUE(specification.ok()) << specification.status();
  EXPECT_EQ(specification->hardware_class, "cpu");
  EXPECT_EQ(specification->stack, "torch");
  EXPECT_EQ(specification->data.identity, std::string(64, 'd'));
  EXPECT_EQ(specification->Source(NoiseSource::kInit).lane, (Lane{0, 2}));
}

TEST(Placement, KeepsItsOrderAtAHundredThousandMembers) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo", "impl"}, 50000)), kT0);
  std::vector<std::string> started = Started(scheduler.Step(Join(1, 2, "u1"), kT0));
  ASSERT_THAT(started, ElementsAre("s1c0r0 w1", "s1c1r0 w1"));

  for (uint64_t lease = 1; lease <= 2000; ++lease) {
    started = Started(scheduler.Step(Finish(1, lease), kT0));
    ASSERT_THAT(started, SizeIs(1));
  }

  EXPECT_THAT(started, ElementsAre("s1c1r1000 w1"));
}

}  // namespace
}  // namespace noisefloor::scheduler
