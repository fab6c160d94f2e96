#include "gmock/gmock.h"

#include "tests/worker/slots/slots_fixture.h"

namespace noisefloor::slots {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(SlotsTest, AMemberIsTrainedDeliveredSettledAndForgotten) {
  EXPECT_THAT(Connect(), IsEmpty());
  EXPECT_THAT(Start(7), ElementsAre("start trainer of lease 7 in slot 0"));
  EXPECT_THAT(Do(TrainerHello{LeaseId{7}}), ElementsAre("send started of lease 7"));
  EXPECT_THAT(Do(TrainerRecords{LeaseId{7}, 1}), ElementsAre("send records 1 to 1 of lease 7"));
  EXPECT_THAT(Do(RecordsKept{LeaseId{7}, 1}), IsEmpty());
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7"));
  EXPECT_THAT(Do(Delivered{LeaseId{7}}), ElementsAre("send finished of lease 7"));
  EXPECT_THAT(Do(Settled{LeaseId{7}}), ElementsAre("forget lease 7"));
  EXPECT_THAT(slots_.HeldLeases(), IsEmpty());
}

TEST_F(SlotsTest, ARepeatedStartChangesNothingInAnyPhase) {
  (void)Connect();
  (void)Start(7);
  EXPECT_THAT(Start(7), IsEmpty());
  (void)Do(TrainerEnded{LeaseId{7}});
  EXPECT_THAT(Start(7), IsEmpty());
  (void)Do(Delivered{LeaseId{7}});
  EXPECT_THAT(Start(7), IsEmpty());
  (void)Do(Settled{LeaseId{7}});
  EXPECT_THAT(Start(7), IsEmpty());
}

TEST_F(SlotsTest, AMemberWithoutAFreeSlotWaitsForOneInOrder) {
  (void)Connect();
  (void)Start(1);
  EXPECT_THAT(Start(2), IsEmpty());
  EXPECT_THAT(Start(3), IsEmpty());
  EXPECT_THAT(Do(TrainerEnded{LeaseId{1}}),
              ElementsAre("deliver lease 1", "start trainer of lease 2 in slot 0"));
  EXPECT_THAT(Do(StopMember{LeaseId{3}, "cancelled"}), ElementsAre("forget lease 3"));
  EXPECT_THAT(Do(TrainerEnded{LeaseId{2}}), ElementsAre("deliver lease 2"));
}

TEST_F(TwoSlotsTest, EverySlotRunsOneTrainer) {
  (void)Connect();
  EXPECT_THAT(Start(1), ElementsAre("start trainer of lease 1 in slot 0"));
  EXPECT_THAT(Start(2, kAvx2, 1), ElementsAre("start trainer of lease 2 in slot 1"));
  EXPECT_THAT(Start(3), IsEmpty());
  EXPECT_THAT(Do(TrainerEnded{LeaseId{2}}), ElementsAre("deliver lease 2"))
      << "a lease has a slot of its own";
  EXPECT_THAT(Do(TrainerEnded{LeaseId{1}}),
              ElementsAre("deliver lease 1", "start trainer of lease 3 in slot 0"));
}

TEST_F(TwoSlotsTest, AMachineThatFailsPausesAllSlotsOfTheDevice) {
  (void)Connect();
  (void)Start(1);
  EXPECT_THAT(Do(MachineFailed{LeaseId{1}}), ElementsAre("deliver lease 1"));
  EXPECT_THAT(Start(2, kAvx2, 1), IsEmpty()) << "it would burn one member after the other";
  EXPECT_THAT(Wait(1), ElementsAre("start trainer of lease 2 in slot 1", "send heartbeat 1@0 2@0"));
}

class TwoDevicesTest : public SlotsTest {
 protected:
  TwoDevicesTest()
      : SlotsTest({.slot_count = 2, .unit_of_slot = {4, 7}, .grace = absl::Seconds(3)}) {}
};

TEST_F(TwoDevicesTest, OneThatFailsKeepsTheOtherNotAway) {
  (void)Connect();
  (void)Start(1);
  EXPECT_THAT(Do(MachineFailed{LeaseId{1}}), ElementsAre("deliver lease 1"));
  EXPECT_THAT(Start(2), IsEmpty());
  EXPECT_THAT(Start(3, kAvx2, 1), ElementsAre("start trainer of lease 3 in slot 1"));
  EXPECT_THAT(Wait(1),
              ElementsAre("start trainer of lease 2 in slot 0", "send heartbeat 1@0 2@0 3@0"));
}

TEST_F(SlotsTest, AStoppedMemberIsTerminatedThenKilledAndNothingOfItIsDelivered) {
  (void)Connect();
  (void)Start(7);

  EXPECT_THAT(Do(StopMember{LeaseId{7}, "cancelled"}),
              ElementsAre("terminate trainer of lease 7: cancelled"));
  EXPECT_THAT(Do(StopMember{LeaseId{7}, "cancelled"}), IsEmpty());
  EXPECT_THAT(slots_.HeldLeases(), IsEmpty());
  EXPECT_THAT(Wait(2), ElementsAre("send heartbeat"));
  EXPECT_THAT(Wait(1), ElementsAre("kill trainer of lease 7", "send heartbeat"));
  EXPECT_THAT(Do(TrainerRecords{LeaseId{7}, 1}), IsEmpty());
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("forget lease 7"));
}

TEST_F(SlotsTest, ALeaseThatTheCoordinatorDoesNotKnowIsStopped) {
  (void)Connect();
  (void)Start(7);
  EXPECT_THAT(Do(Settled{LeaseId{7}}),
              ElementsAre("terminate trainer of lease 7: the coordinator has settled the lease"));
  EXPECT_THAT(Start(8), IsEmpty());
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}),
              ElementsAre("forget lease 7", "start trainer of lease 8 in slot 0"));
}

TEST_F(SlotsTest, HeartbeatsNameWhatIsHeld) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerRecords{LeaseId{7}, 1});
  (void)Do(TrainerProgress{LeaseId{7}, 10, 100});
  (void)Do(RecordsKept{LeaseId{7}, 1});

  EXPECT_THAT(slots_.HeldLeases(), ElementsAre(Held{LeaseId{7}, 1, 10, 100}));
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(1));
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@1"));
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(1));
}

TEST_F(SlotsTest, ALeaseThatCannotBeRenewedIsGivenUpButItsEndIsStillReported) {
  (void)Connect();
  (void)Start(7);
  (void)Do(Disconnected{});

  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(10)) << "no beat before the lease runs out";
  EXPECT_THAT(Wait(9), IsEmpty());
  EXPECT_THAT(Wait(1),
              ElementsAre("terminate trainer of lease 7: the coordinator was not reached for the "
                          "life of the lease"));
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(3)) << "the lease runs out once";
  EXPECT_THAT(Wait(3), ElementsAre("kill trainer of lease 7"));
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7"));
  EXPECT_THAT(Do(Delivered{LeaseId{7}}), IsEmpty());
  EXPECT_THAT(Connect(), ElementsAre("deliver lease 7"));
  EXPECT_THAT(Do(Delivered{LeaseId{7}}), ElementsAre("send finished of lease 7"));
}

TEST_F(SlotsTest, HeartbeatsKeepALeaseAlive) {
  (void)Connect();
  (void)Start(7);
  for (int i = 0; i < 30; ++i) {
    EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0"));
    EXPECT_THAT(Do(HeartbeatSent{}), IsEmpty());
  }
}

TEST_F(SlotsTest, ASessionThatTakesNoHeartbeatsDoesNotKeepALease) {
  (void)Connect();
  (void)Start(7);
  std::vector<std::string> seen;
  for (int i = 0; i < 10; ++i) seen = Wait(1);
  EXPECT_THAT(seen, ElementsAre("terminate trainer of lease 7: the coordinator was not reached for "
                                "the life of the lease",
                                "send heartbeat 7@0"));
}

TEST_F(SlotsTest, AReconnectionInTimeSavesTheLease) {
  (void)Connect();
  (void)Start(7);
  (void)Do(Disconnected{});
  (void)Wait(9);
  (void)Connect();
  EXPECT_THAT(Wait(9), ElementsAre("send heartbeat 7@0"));
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7"));
}

TEST_F(SlotsTest, AWaitingLeaseThatExpiresIsForgotten) {
  (void)Connect();
  (void)Start(7);
  (void)Start(8);
  (void)Do(Disconnected{});
  EXPECT_THAT(Wait(10), ElementsAre("terminate trainer of lease 7: the coordinator was not "
                                    "reached for the life of the lease",
                                    "forget lease 8"));
}

TEST_F(SlotsTest, AResultFromTheSpoolIsDeliveredAndNamedInTheRegistration) {
  EXPECT_THAT(Do(ResultFound{LeaseId{5}, 3}), ElementsAre("deliver lease 5"));
  EXPECT_THAT(slots_.HeldLeases(), ElementsAre(Held{LeaseId{5}, 3, 0, 0}));
  EXPECT_THAT(Connect(), ElementsAre("send records 1 to 3 of lease 5"));
  EXPECT_THAT(Start(5), IsEmpty());
  EXPECT_THAT(Do(Delivered{LeaseId{5}}), ElementsAre("send finished of lease 5"));
  EXPECT_THAT(Do(Settled{LeaseId{5}}), ElementsAre("forget lease 5"));
}

TEST_F(SlotsTest, ASpooledResultOutlivesAnyDisconnection) {
  (void)Do(ResultFound{LeaseId{5}, 0});
  (void)Do(Delivered{LeaseId{5}});
  EXPECT_THAT(Wait(100000), IsEmpty());
  EXPECT_THAT(Connect(), ElementsAre("deliver lease 5"));
  EXPECT_THAT(Do(Delivered{LeaseId{5}}), ElementsAre("send finished of lease 5"));
}

TEST_F(SlotsTest, ANewSessionMayGiveANumberForTheSecondTime) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerEnded{LeaseId{7}});
  (void)Do(Settled{LeaseId{7}});
  EXPECT_TRUE(slots_.Knows(LeaseId{7}));
  EXPECT_THAT(Start(7), IsEmpty());

  (void)Do(Disconnected{});
  (void)Connect();

  EXPECT_THAT(Start(7), ElementsAre("start trainer of lease 7 in slot 0"));
}

TEST_F(SlotsTest, AResultWhoseLeaseIsLostIsToldWithoutItsFilesUntilItIsSettled) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerRecords{LeaseId{7}, 1});
  (void)Do(TrainerEnded{LeaseId{7}});

  EXPECT_THAT(Do(StopMember{LeaseId{7}, "expired"}),
              ElementsAre("drop files of lease 7", "send finished of lease 7"));

  EXPECT_THAT(Do(StopMember{LeaseId{7}, "expired"}), IsEmpty());
  EXPECT_THAT(Do(Delivered{LeaseId{7}}), IsEmpty());
  EXPECT_THAT(slots_.HeldLeases(), IsEmpty());
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat"));
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat", "send finished of lease 7"));
  (void)Do(Disconnected{});
  EXPECT_THAT(Connect(), ElementsAre("send finished of lease 7"));
  EXPECT_THAT(Do(Settled{LeaseId{7}}), ElementsAre("forget lease 7"));
}

TEST_F(SlotsTest, ADeliveredResultWhoseLeaseIsLostIsToldOnceMore) {
  (void)Connect();
  EXPECT_THAT(Do(ResultFound{LeaseId{5}, 0}), ElementsAre("deliver lease 5"));
  EXPECT_THAT(Do(ResultFound{LeaseId{5}, 0}), IsEmpty());
  (void)Do(Delivered{LeaseId{5}});
  EXPECT_THAT(Do(StopMember{LeaseId{5}, "expired"}),
              ElementsAre("drop files of lease 5", "send finished of lease 5"));
}

class HangTest : public SlotsTest {
 protected:
  HangTest()
      : SlotsTest({.slot_count = 1,
                   .grace = absl::Seconds(3),
                   .hello_timeout = absl::Seconds(20),
                   .silence_timeout = absl::Seconds(30)}) {
    (void)Do(Connected{absl::Hours(1), absl::InfiniteDuration()});
  }
};

TEST_F(HangTest, ATrainerWithoutAHelloIsEndedAndReported) {
  (void)Start(7);
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(20));
  EXPECT_THAT(Wait(19), IsEmpty());

  const Actions actions = slots_.Step(Tick{}, now_ += absl::Seconds(1));

  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(Describe(actions[0]),
            "terminate trainer of lease 7: the trainer gave no hello within 20s (--hello-timeout)");
  EXPECT_TRUE(std::get<TerminateTrainer>(actions[0]).hung);
  EXPECT_THAT(Wait(3), ElementsAre("kill trainer of lease 7"));
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7"));
  EXPECT_THAT(Wait(100), IsEmpty());
}

TEST_F(HangTest, OneThatWaitsForItsDataDoesNotHangWhileTheyCome) {
  (void)Start(7);
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Wait(19), IsEmpty());
    EXPECT_THAT(Do(DataComes{LeaseId{7}}), IsEmpty());
  }
  EXPECT_THAT(Do(DataComes{LeaseId{8}}), IsEmpty()) << "there is no such lease";
  EXPECT_THAT(Wait(20),
              ElementsAre("terminate trainer of lease 7: the trainer gave no hello within "
                          "20s (--hello-timeout)"));
  (void)Do(DataComes{LeaseId{7}});
  EXPECT_THAT(Wait(3), ElementsAre("kill trainer of lease 7")) << "it is stopped already";
  EXPECT_THAT(Wait(100), IsEmpty());
}

TEST_F(HangTest, DataThatComeAfterAWordOfItsTrainerChangeNothing) {
  (void)Start(7);
  (void)Do(TrainerHello{LeaseId{7}});
  (void)Wait(15);
  (void)Do(DataComes{LeaseId{7}});
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(15));
}

TEST_F(HangTest, EveryEventOfATrainerIsASignOfLife) {
  (void)Start(7);
  for (const Message& event :
       std::vector<Message>{TrainerHello{LeaseId{7}}, TrainerRecords{LeaseId{7}, 1},
                            TrainerProgress{LeaseId{7}, 1, 9}, TrainerSpoke{LeaseId{7}}}) {
    EXPECT_THAT(Wait(19), IsEmpty());
    (void)Do(event);
  }
  EXPECT_THAT(Wait(29), IsEmpty());
  EXPECT_THAT(Wait(1), ElementsAre("terminate trainer of lease 7: the trainer said nothing for 30s "
                                   "(--silence-timeout)"));
}

TEST_F(HangTest, WhatIsStoppedAnywayIsNotBlamedOnTheMachine) {
  (void)Start(7);
  (void)Do(StopMember{LeaseId{7}, "cancelled"});
  EXPECT_THAT(Do(TrainerHello{LeaseId{7}}), IsEmpty()) << "nobody waits for it";
  EXPECT_THAT(Wait(100), ElementsAre("kill trainer of lease 7"));
}

TEST_F(HangTest, ATrainerThatHasSaidItsOutcomeHasTheGraceToGo) {
  (void)Start(7);
  (void)Do(TrainerHello{LeaseId{7}});
  EXPECT_THAT(Do(TrainerSaidOutcome{LeaseId{7}}), IsEmpty());
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(3));
  EXPECT_THAT(Do(TrainerSpoke{LeaseId{7}}), IsEmpty());
  EXPECT_THAT(Wait(2), IsEmpty());

  EXPECT_THAT(Wait(1), ElementsAre("kill trainer of lease 7"));
  EXPECT_THAT(Wait(100), IsEmpty()) << "nor is it silent, whatever it said behind its outcome";
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7"));
}

TEST_F(HangTest, OneThatWentInItsGraceIsNotKilledWhileItsResultTravels) {
  (void)Start(7);
  (void)Do(TrainerSaidOutcome{LeaseId{7}});
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7"));
  EXPECT_THAT(Wait(3), IsEmpty()) << "it has no trainer any more";
  EXPECT_THAT(Wait(100), IsEmpty());
}

TEST_F(HangTest, AStopDoesNotLengthenTheGraceAfterAnOutcome) {
  (void)Start(7);
  (void)Do(TrainerSaidOutcome{LeaseId{7}});
  EXPECT_THAT(Wait(2), IsEmpty());
  EXPECT_THAT(Do(StopMember{LeaseId{7}, "cancelled"}),
              ElementsAre("terminate trainer of lease 7: cancelled"));
  EXPECT_THAT(Wait(1), ElementsAre("kill trainer of lease 7"));
}

TEST_F(HangTest, AnOutcomeAfterAStopDoesNotLengthenItsGraceEither) {
  (void)Start(7);
  (void)Do(StopMember{LeaseId{7}, "cancelled"});
  (void)Wait(2);
  (void)Do(TrainerSaidOutcome{LeaseId{7}});
  EXPECT_THAT(Wait(1), ElementsAre("kill trainer of lease 7"));
}

class UndyingTest : public SlotsTest {
 protected:
  UndyingTest()
      : SlotsTest({.slot_count = 2,
                   .grace = absl::Seconds(3),
                   .standby = false,
                   .kill_timeout = absl::Seconds(60)}) {
    (void)Do(Connected{absl::Hours(1), absl::InfiniteDuration()});
  }
};

// Its result goes out without its end; nothing is begun any more, and the others finish.
TEST_F(UndyingTest, ATrainerThatOutlivesItsKillingIsGivenUpAndTheWorkerLeaves) {
  (void)Start(7);
  (void)Start(8, kAvx2, 1);
  (void)Do(TrainerBroken{LeaseId{7}});
  EXPECT_THAT(Wait(3), ElementsAre("kill trainer of lease 7"));
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(60));
  EXPECT_THAT(Wait(59), IsEmpty());

  EXPECT_THAT(Wait(1),
              ElementsAre("give up trainer of lease 7", "send draining", "deliver lease 7"));
  EXPECT_THAT(Wait(1000), IsEmpty()) << "once";
  EXPECT_THAT(Do(Delivered{LeaseId{7}}), ElementsAre("send finished of lease 7"));
  EXPECT_THAT(Do(Settled{LeaseId{7}}), ElementsAre("forget lease 7"));
  EXPECT_THAT(Do(TrainerEnded{LeaseId{8}}), ElementsAre("deliver lease 8"));
  (void)Do(Delivered{LeaseId{8}});
  EXPECT_THAT(Do(Settled{LeaseId{8}}), ElementsAre("forget lease 8", "leave"));
}

TEST_F(UndyingTest, OneThatWasNotWantedAnyMoreIsForgotten) {
  (void)Start(7);
  (void)Do(StopMember{LeaseId{7}, "cancelled"});
  EXPECT_THAT(Wait(3), ElementsAre("kill trainer of lease 7"));
  EXPECT_THAT(Wait(60), ElementsAre("give up trainer of lease 7", "send draining", "forget lease 7",
                                    "leave"));
}

// What waits for its slot would wait for ever, and its heartbeats would keep it here.
TEST_F(UndyingTest, WhatWaitsForItsSlotIsLetGo) {
  (void)Start(7);
  (void)Do(TrainerBroken{LeaseId{7}});
  (void)Start(9);
  (void)Start(8, kAvx2, 1);
  (void)Start(10, kAvx2, 1);
  (void)Wait(3);
  EXPECT_THAT(Wait(60), ElementsAre("give up trainer of lease 7", "send draining",
                                    "deliver lease 7", "forget lease 9"));
  EXPECT_EQ(slots_.HeldLeases().size(), 3u) << "7, whose result travels, 8, and 10 behind it";
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), IsEmpty()) << "late, it ends all the same";
  EXPECT_THAT(Wait(1000), IsEmpty());
}

TEST_F(UndyingTest, OneThatEndsInTimeFreesItsSlot) {
  (void)Start(7);
  (void)Start(9);
  (void)Do(TrainerBroken{LeaseId{7}});
  (void)Wait(3);
  (void)Wait(59);
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}),
              ElementsAre("deliver lease 7", "start trainer of lease 9 in slot 0"));
  EXPECT_THAT(Wait(1000), IsEmpty());
}

TEST_F(SlotsTest, AMachineThatCannotStartTrainersPausesLongerAndLonger) {
  (void)Connect();
  EXPECT_THAT(Start(1), ElementsAre("start trainer of lease 1 in slot 0"));
  EXPECT_THAT(Do(MachineFailed{LeaseId{1}}), ElementsAre("deliver lease 1"));
  EXPECT_THAT(Start(2), IsEmpty());
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(1));
  EXPECT_THAT(Wait(1), ElementsAre("start trainer of lease 2 in slot 0", "send heartbeat 1@0 2@0"));
  EXPECT_THAT(Do(MachineFailed{LeaseId{2}}), ElementsAre("deliver lease 2"));
  EXPECT_THAT(Start(3), IsEmpty());
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 1@0 2@0 3@0"));
  EXPECT_THAT(Wait(1),
              ElementsAre("start trainer of lease 3 in slot 0", "send heartbeat 1@0 2@0 3@0"));

  (void)Do(TrainerHello{LeaseId{3}});
  (void)Do(MachineFailed{LeaseId{3}});
  EXPECT_THAT(Start(4), IsEmpty());
  EXPECT_THAT(Wait(3), ElementsAre("send heartbeat 1@0 2@0 3@0 4@0")) << "a hello is no success";
  (void)Wait(1);
  (void)Do(TrainerEnded{LeaseId{4}});
  (void)Start(5);
  (void)Do(MachineFailed{LeaseId{5}});

  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(1))
      << "begins anew after an end of another kind";
}

TEST_F(SlotsTest, APauseHasAnEnd) {
  (void)Do(Connected{absl::Hours(10), absl::InfiniteDuration()});
  for (uint64_t lease = 1; lease <= 40; ++lease) {
    (void)Start(lease);
    if (lease > 1) {
      EXPECT_LE(slots_.NextTick(), now_ + absl::Minutes(1));
    }
    (void)Wait(60);
    EXPECT_THAT(Do(MachineFailed{LeaseId{lease}}), testing::SizeIs(1)) << "it ran";
  }
}

TEST_F(SlotsTest, ATrainerThatBreaksTheProtocolIsStoppedAndReported) {
  (void)Connect();
  (void)Start(7);
  EXPECT_THAT(Do(TrainerBroken{LeaseId{7}}),
              ElementsAre("terminate trainer of lease 7: it broke the trainer protocol"));
  EXPECT_THAT(Do(TrainerBroken{LeaseId{7}}), IsEmpty());
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7"));
}

TEST_F(SlotsTest, DrainingFinishesWhatRunsThenLeaves) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerProgress{LeaseId{7}, 1, 1});
  EXPECT_THAT(Do(Drain{}), ElementsAre("end standby in slot 0", "send draining"));
  EXPECT_THAT(Do(Drain{}), IsEmpty());
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7"));
  EXPECT_THAT(Do(Delivered{LeaseId{7}}), ElementsAre("send finished of lease 7"));
  EXPECT_THAT(Do(Settled{LeaseId{7}}), ElementsAre("forget lease 7", "leave"));
  EXPECT_THAT(Start(8), IsEmpty());
}

TEST_F(SlotsTest, AnIdleWorkerLeavesAtOnce) {
  (void)Connect();
  EXPECT_THAT(Do(Drain{}), ElementsAre("send draining", "leave"));
}

TEST_F(SlotsTest, AHurryStopsTrainersAndLeavesResultsInTheSpoolWhenNobodyTakesThem) {
  (void)Connect();
  (void)Start(7);
  (void)Start(8);
  EXPECT_THAT(Do(Hurry{}), ElementsAre("send draining", "forget lease 8",
                                       "terminate trainer of lease 7: the worker is leaving"));
  (void)Do(Disconnected{});
  EXPECT_THAT(Wait(3), ElementsAre("kill trainer of lease 7"));
  EXPECT_THAT(Do(Hurry{}), IsEmpty()) << "who asks again waits no longer for it";
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7"));
  EXPECT_THAT(Wait(2), IsEmpty());
  EXPECT_THAT(Wait(1), ElementsAre("leave"));
}

// Of a trainer that does not end (it hangs in a driver) a tick in each millisecond hears nothing.
TEST_F(SlotsTest, WhenAHurryIsOverATrainerThatLingersIsNotAskedForAllTheTime) {
  (void)Connect();
  (void)Start(7);
  (void)Do(Hurry{});
  (void)Do(Disconnected{});
  EXPECT_THAT(Wait(3), ElementsAre("kill trainer of lease 7"));
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(3)) << "the hurry's end";
  EXPECT_THAT(Wait(3), IsEmpty());
  EXPECT_GT(slots_.NextTick(), now_);
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("deliver lease 7", "leave"));
}

TEST_F(SlotsTest, AResultKeepsItsTrainersLeaseFromRunningOut) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerEnded{LeaseId{7}});
  (void)Do(Disconnected{});
  EXPECT_THAT(Wait(60), IsEmpty());
  EXPECT_THAT(slots_.HeldLeases(), testing::SizeIs(1));
}

TEST_F(SlotsTest, WhatWaitsForATrainersEndNeedsNoTick) {
  (void)Connect();
  (void)Start(7);
  (void)Start(8);
  EXPECT_EQ(slots_.NextTick(), now_ + absl::Seconds(1)) << "the heartbeat";
}

TEST_F(SlotsTest, MessagesAboutUnknownLeasesChangeNothing) {
  (void)Connect();
  const LeaseId unknown{99};
  for (const Message& message : std::vector<Message>{
           StopMember{unknown, ""}, RecordsKept{unknown, 1}, Settled{unknown},
           TrainerHello{unknown}, TrainerRecords{unknown, 1}, TrainerProgress{unknown, 1, 1},
           TrainerSpoke{unknown}, TrainerBroken{unknown}, MachineFailed{unknown},
           TrainerEnded{unknown}, Delivered{unknown}, StandbyEnded{9}}) {
    EXPECT_THAT(Do(message), IsEmpty());
  }
}

TEST_F(SlotsTest, AConfirmationOfRecordsThatWereNeverWrittenIsIgnored) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerRecords{LeaseId{7}, 1});
  (void)Do(RecordsKept{LeaseId{7}, 1000});
  (void)Do(Disconnected{});
  EXPECT_THAT(Connect(), ElementsAre("send records 1 to 1 of lease 7"));
}

}  // namespace
}  // namespace noisefloor::slots
