// Workers with several devices: a slot is of one unit, and what is wrong with one unit is its own.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::test {
namespace {

using namespace scheduler;  // NOLINT: the events are named so often here.
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Slots 0 and 1 of two GPUs, slot 2 of the processors.
std::shared_ptr<const Inventory> Node(const std::vector<std::string>& gpus = {"G0", "G1"}) {
  Inventory inventory;
  for (const std::string& gpu : gpus) AddSlots({gpu, 1, {"gpu"}}, inventory);
  AddSlots({"host", 1, {"cpu"}}, inventory);
  return std::make_shared<const Inventory>(std::move(inventory));
}

WorkerConnected JoinNode(uint64_t number, std::shared_ptr<const Inventory> inventory = Node()) {
  WorkerConnected event = Join(number, 1, "");
  event.inventory = std::move(inventory);
  return event;
}

// "s1c0r0 in 2 of host" of each lease that was granted.
std::vector<std::string> Granted(const Effects& effects) {
  std::vector<std::string> lines;
  for (const GrantLease& grant : Of<GrantLease>(effects)) {
    lines.push_back(ToText(grant.member) + " in " + std::to_string(grant.slot) + " of " +
                    grant.unit);
  }
  return lines;
}

TEST(Devices, EachMemberGoesToASlotOfItsClass) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 3, {"cpu", "gpu"})), kT0);
  const Effects effects = scheduler.Step(JoinNode(1), kT0);

  EXPECT_THAT(Granted(effects), UnorderedElementsAre("s1c0r0 in 2 of host", "s1c1r0 in 0 of G0",
                                                     "s1c1r1 in 1 of G1"));
  for (const SendStart& start : Of<SendStart>(effects)) {
    EXPECT_EQ(start.slot == 2, start.member.cell == 0) << ToText(start.member);
  }
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

TEST(Devices, AControlCellIsSpreadOverTheGpusOfOneWorker) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(JoinNode(1), kT0);
  std::vector<std::string> granted =
      Granted(scheduler.Step(Submit(MakeSweep({"control"}, 4, {"gpu"})), kT0));
  EXPECT_THAT(granted, ElementsAre("s1c0r0 in 0 of G0", "s1c0r1 in 1 of G1"));
}

TEST(Devices, ABadGpuKeepsNothingElseOfItsWorkerAway) {
  Scheduler scheduler{Options{.most_attempts = 9}};
  (void)scheduler.Step(JoinNode(1), kT0);
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 12, {"cpu", "gpu"})), kT0);
  // Every member that comes to G0 fails there; slots 1 and 2 keep what they have.
  std::vector<std::string> said;
  for (int failure = 0; failure < 3; ++failure) {
    uint64_t on_g0 = 0;
    for (const RecoveredLease& lease : scheduler.Durable().leases) {
      if (lease.unit == "G0") on_g0 = lease.lease.value;
    }
    ASSERT_NE(on_g0, 0u) << failure;
    for (const AppendEvent& event :
         Of<AppendEvent>(scheduler.Step(Fail(1, on_g0, CauseClass::kBug), kT0))) {
      if (event.kind == "worker_quarantined") said.push_back(event.text);
    }
  }

  EXPECT_THAT(said,
              ElementsAre(HasSubstr("G0 of w1 gets no leases for 300 s: 3 failures in a row")));
  const std::vector<Pause> paused = scheduler.Workers()[0].paused;
  ASSERT_THAT(paused, SizeIs(1));
  EXPECT_EQ(paused[0].unit, "G0");
  EXPECT_EQ(paused[0].reason, "in quarantine until 1970-01-12 13:51:40 UTC");
  for (const RecoveredLease& lease : scheduler.Durable().leases) EXPECT_NE(lease.unit, "G0");
  EXPECT_THAT(scheduler.Durable().leases, SizeIs(2)) << "the other GPU and the processors train";
}

TEST(Devices, AMemberThatFailedOnOneGpuIsTriedOnAnother) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1, {"gpu"})), kT0);
  EXPECT_THAT(Granted(scheduler.Step(JoinNode(1), kT0)), ElementsAre("s1c0r0 in 0 of G0"));
  EXPECT_THAT(Granted(scheduler.Step(Fail(1, 1, CauseClass::kOutOfMemory), kT0)),
              ElementsAre("s1c0r0 in 1 of G1"));
}

TEST(Devices, BadDataAreTheWorkersNotTheGpus) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(JoinNode(1), kT0);
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1, {"gpu"})), kT0);
  EXPECT_THAT(Granted(scheduler.Step(Fail(1, 1, CauseClass::kBadData), kT0)), IsEmpty());
  EXPECT_THAT(scheduler.Explain({SweepId{1}, 0, 0}, kT0), HasSubstr("failed"));
}

TEST(Devices, ALostDeviceRestsAlone) {
  Scheduler scheduler{Options{.quarantine_after = 1}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1, {"gpu"})), kT0);
  (void)scheduler.Step(JoinNode(1, Node({"G0"})), kT0);
  EXPECT_THAT(Granted(scheduler.Step(Fail(1, 1, CauseClass::kLostDevice), kT0)), IsEmpty());
  EXPECT_EQ(scheduler.Workers()[0].paused[0].reason, "resting until 1970-01-12 13:46:45 UTC");
  EXPECT_THAT(scheduler.Explain({SweepId{1}, 0, 0}, kT0), HasSubstr("G0 of w1 is resting for 5 s"));
  EXPECT_THAT(Granted(scheduler.Step(Submit(MakeSweep({"algo"}, 1, {"cpu"})), kT0)),
              ElementsAre("s2c0r0 in 1 of host"));
}

TEST(Devices, ALeaseKeepsItsSlotOverAReconnectAndARestart) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 3, {"gpu"})), kT0);
  (void)scheduler.Step(JoinNode(1), kT0);
  ASSERT_THAT(scheduler.Durable().leases, SizeIs(2));
  (void)scheduler.Step(Fail(1, 1, CauseClass::kInterrupted), kT0);  // Slot 0 gets another.
  ASSERT_EQ(scheduler.Durable().leases[1].slot, 0u);

  Scheduler restored = Scheduler::Restore(Options{}, scheduler.Durable(), kT0);
  for (Scheduler* one : {&scheduler, &restored}) {
    WorkerConnected again = JoinNode(1);
    again.held = {{LeaseId{2}}, {LeaseId{3}}};
    EXPECT_THAT(Granted(one->Step(again, kT0)), IsEmpty()) << "both GPUs are taken";
    EXPECT_THAT(one->BrokenInvariants(), IsEmpty());
    EXPECT_THAT(Granted(one->Step(Finish(1, 2), kT0)), ElementsAre("s1c0r2 in 1 of G1"))
        << "the slot of the one that ended";
  }
}

// A worker that comes back without a GPU, while a result of it is still on its way.
TEST(Devices, ALeaseOfADeviceThatIsGoneTakesNoSlotOfAnother) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 3, {"gpu"})), kT0);
  (void)scheduler.Step(JoinNode(1), kT0);
  WorkerConnected again = JoinNode(1, Node({"G1"}));  // Slot 0 is G1's now.
  again.held = {{LeaseId{1}}};                        // Of slot 0, then G0's.
  EXPECT_THAT(Granted(scheduler.Step(again, kT0)), ElementsAre("s1c0r1 in 0 of G1"));
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
  EXPECT_THAT(Granted(scheduler.Step(Finish(1, 1), kT0)), IsEmpty()) << "it had freed nothing";
  EXPECT_THAT(Granted(scheduler.Step(Finish(1, 3), kT0)), ElementsAre("s1c0r2 in 0 of G1"));
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

// Two slots of the processors, of which one offers less.
TEST(Devices, SlotsOfOneUnitNeedNotOfferTheSame) {
  Scheduler scheduler{Options{}};
  Inventory inventory;
  AddSlots({"host", 1, {"avx2", "sse"}}, inventory);
  AddSlots({"host", 1, {"sse"}}, inventory);
  inventory.slots[1].devices = {0};
  (void)scheduler.Step(JoinNode(1, std::make_shared<const Inventory>(inventory)), kT0);
  EXPECT_THAT(Granted(scheduler.Step(Submit(MakeSweep({"algo"}, 2, {"avx2"})), kT0)),
              ElementsAre("s1c0r0 in 0 of host"));
  EXPECT_THAT(Granted(scheduler.Step(Submit(MakeSweep({"algo"}, 1, {"sse"})), kT0)),
              ElementsAre("s2c0r0 in 1 of host"));
}

TEST(Devices, AWorkerThatDrainsIsNoSubstitute) {
  Scheduler scheduler{Options{.most_attempts = 9}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 4, {"cpu"})), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  (void)scheduler.Step(Join(2, 1, "u2"), kT0);
  (void)scheduler.Step(WorkerDraining{SessionId{2}}, kT0);
  for (const uint64_t lease : {1, 3, 4, 5, 6}) {
    (void)scheduler.Step(Fail(1, lease, CauseClass::kBug), kT0);
  }
  EXPECT_THAT(scheduler.Workers()[0].paused, IsEmpty());
}

TEST(Devices, BehindAQuarantineFailuresAreCountedAnew) {
  Scheduler scheduler{Options{.most_attempts = 9}};
  absl::Time now = kT0;
  (void)scheduler.Step(Tick{}, now);
  (void)scheduler.Step(Join(1, 1, "u1"), now);
  (void)scheduler.Step(Join(2, 1, "u2"), now);
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 12)), now);  // Lease 2 stays on u2.
  const auto fail_on_u1 = [&] {
    for (const RecoveredLease& lease : scheduler.Durable().leases) {
      if (lease.unit != "u1") continue;
      (void)scheduler.Step(Fail(1, lease.lease.value, CauseClass::kBug), now);
      return true;
    }
    return false;
  };
  for (int failure = 0; failure < 3; ++failure) ASSERT_TRUE(fail_on_u1()) << failure;
  ASSERT_THAT(scheduler.Workers()[0].paused, SizeIs(1));
  for (int second = 0; second < 300; ++second) {
    now += absl::Seconds(1);
    (void)scheduler.Step(Heartbeat{SessionId{1}, {}}, now);
    (void)scheduler.Step(Heartbeat{SessionId{2}, {{LeaseId{2}}}}, now);
    (void)scheduler.Step(Tick{}, now);
  }
  ASSERT_TRUE(fail_on_u1()) << "it has members again";
  EXPECT_THAT(scheduler.Workers()[0].paused, IsEmpty()) << "one failure is not three in a row";
}

TEST(Devices, WhatIsWithheldIsExplained) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1, {"v100"})), kT0);
  Inventory inventory = *Node({});
  inventory.withheld = {{"GPU-7 (Tesla V100)", "v100", "torch", "no kernels for it"},
                        {"GPU-8 (H200)", "h200", "", "it is lost"},
                        {"the GPUs of this machine", "", "", "no driver"}};
  (void)scheduler.Step(JoinNode(1, std::make_shared<const Inventory>(inventory)), kT0);

  EXPECT_EQ(scheduler.Explain({SweepId{1}, 0, 0}, kT0),
            "s1c0r0 waits: no connected worker offers hardware class v100. Connect one, or mend "
            "this: w1 withholds GPU-7 (Tesla V100) from torch: no kernels for it; w1 withholds the "
            "GPUs of this machine: no driver.");
}

// Another worker is rather tried than another device of the same.
TEST(Devices, AMemberThatFailedGoesToAnotherWorkerFirst) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1, {"gpu"})), kT0);
  (void)scheduler.Step(JoinNode(1), kT0);
  (void)scheduler.Step(JoinNode(2, Node({"G8"})), kT0);
  const Effects effects = scheduler.Step(Fail(1, 1, CauseClass::kBug), kT0);
  EXPECT_THAT(Granted(effects), ElementsAre("s1c0r0 in 0 of G8"));
}

// A lease of version 0.1, which named no slot, holds one all the same.
TEST(Devices, ALeaseWithoutASlotTakesOne) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 3, {"gpu"})), kT0);
  (void)scheduler.Step(JoinNode(1, Node({"G0"})), kT0);
  RecoveredState old = scheduler.Durable();
  old.leases.at(0).slot.reset();
  Scheduler restored = Scheduler::Restore(Options{}, old, kT0);
  WorkerConnected again = JoinNode(1, Node({"G0"}));
  again.held = {{LeaseId{1}}};
  EXPECT_THAT(Granted(restored.Step(again, kT0)), IsEmpty());
  EXPECT_THAT(restored.BrokenInvariants(), IsEmpty());
  EXPECT_THAT(Granted(restored.Step(Finish(1, 1), kT0)), ElementsAre("s1c0r1 in 0 of G0"));
}

TEST(Devices, AnyWaitsForTheBestClassOfItsWorker) {
  Scheduler scheduler{Options{}};
  sweep::SweepRequest request;
  request.name = "any";
  request.training = {{"data.name", std::string("mnist")}};
  request.noise = {{"algo", "", {}, 1, 3}};
  request.hardware = sweep::HardwareKind::kAny;
  (void)scheduler.Step(Submit(std::get<sweep::Sweep>(sweep::Resolve(request, {}))), kT0);
  EXPECT_THAT(Granted(scheduler.Step(JoinNode(1), kT0)),
              ElementsAre("s1c0r0 in 0 of G0", "s1c1r0 in 1 of G1"));
  EXPECT_THAT(Granted(scheduler.Step(Finish(1, 1), kT0)), ElementsAre("s1c2r0 in 0 of G0"));
}

TEST(Devices, AnyTakesWhatTheSlotPrefers) {
  Scheduler scheduler{Options{}};
  sweep::SweepRequest request;
  request.name = "any";
  request.training = {{"data.name", std::string("mnist")}};
  request.noise = {{"algo", "", {}}};
  request.hardware = sweep::HardwareKind::kAny;
  request.replicates = 1;
  (void)scheduler.Step(Submit(std::get<sweep::Sweep>(sweep::Resolve(request, {}))), kT0);
  const Effects effects = scheduler.Step(JoinNode(1), kT0);
  ASSERT_THAT(Of<PinCell>(effects), SizeIs(1));
  EXPECT_EQ(Of<PinCell>(effects)[0].hardware, "gpu");
}

TEST(Devices, WhatTrainsOnFourWaitsForASlotOfFourAndIsToldWhatThereIs) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 2, "G0", {"nvidia-h200"}), kT0);
  const Effects none = scheduler.Step(Submit(MakeSweep({"algo"}, 1, {"nvidia-h200-x4"}, 4)), kT0);
  EXPECT_THAT(Granted(none), IsEmpty());
  EXPECT_EQ(scheduler.Explain({SweepId{1}, 0, 0}, kT0),
            "s1c0r0 waits: no connected worker offers hardware class nvidia-h200-x4. w1 has slots "
            "of 1 GPU (nvidia-h200); it takes slots of exactly 4 GPUs, which `noisefloor-worker "
            "--gpus-per-slot=4` makes. Connect one.");
  EXPECT_THAT(Granted(scheduler.Step(Join(2, 1, "G1+G2+G3+G4", {"nvidia-h200-x4"}), kT0)),
              ElementsAre("s1c0r0 in 0 of G1+G2+G3+G4"));
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

// Of any class: GPUs of a slot are exactly as many as the member trains on.
TEST(Devices, WhatTrainsAnywhereGoesWhereItsDevicesAre) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1, {""}, 4)), kT0);
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1, {""}, 1)), kT0);
  EXPECT_THAT(Granted(scheduler.Step(Join(1, 2, "G0", {"nvidia-h200-x2"}), kT0)), IsEmpty());
  EXPECT_EQ(scheduler.Explain({SweepId{1}, 0, 0}, kT0),
            "s1c0r0 waits: no connected worker offers 4 devices. w1 has slots of 2 GPUs "
            "(nvidia-h200-x2); it takes slots of exactly 4 GPUs, which `noisefloor-worker "
            "--gpus-per-slot=4` makes. Connect one.");
  EXPECT_EQ(scheduler.Explain({SweepId{2}, 0, 0}, kT0),
            "s2c0r0 waits: no connected worker offers slots of one device. w1 has slots of 2 GPUs "
            "(nvidia-h200-x2); it takes slots of exactly 1 GPU, which `noisefloor-worker "
            "--gpus-per-slot=1` makes. Connect one.");
  EXPECT_THAT(Granted(scheduler.Step(Join(2, 2, "G1", {"nvidia-h200"}), kT0)),
              ElementsAre("s2c0r0 in 0 of G1"));
  EXPECT_THAT(Granted(scheduler.Step(Join(3, 2, "G2", {"nvidia-h200-x4"}), kT0)),
              ElementsAre("s1c0r0 in 0 of G2"));
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

// The processors of a worker whose GPUs are too many for it: there it trains.
TEST(Devices, GpusThatAreTooManyKeepNothingFromTheProcessorsBesideThem) {
  for (const int64_t devices : {1, 2}) {
    Scheduler scheduler{Options{}};
    Inventory inventory;
    AddSlots({"G0+G1+G2+G3", 1, {"nvidia-h200-x4"}}, inventory);
    AddSlots({"host", 1, {"cpu-amd-avx2"}}, inventory);
    (void)scheduler.Step(JoinNode(1, std::make_shared<const Inventory>(std::move(inventory))), kT0);
    EXPECT_THAT(Granted(scheduler.Step(Submit(MakeSweep({"algo"}, 2, {""}, devices)), kT0)),
                ElementsAre("s1c0r0 in 1 of host"))
        << devices;
    EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
    Scheduler restored = Scheduler::Restore(Options{}, scheduler.Durable(), kT0);
    EXPECT_THAT(restored.BrokenInvariants(), IsEmpty());
  }
}

}  // namespace
}  // namespace noisefloor::test
