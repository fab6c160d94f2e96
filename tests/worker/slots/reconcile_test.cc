// What is told again, and when.
#include "gmock/gmock.h"

#include "tests/worker/slots/slots_fixture.h"

namespace noisefloor::slots {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(SlotsTest, WhatWasNotConfirmedSinceTheLastHeartbeatIsToldAgain) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerHello{LeaseId{7}});
  (void)Do(TrainerRecords{LeaseId{7}, 1});
  (void)Do(TrainerRecords{LeaseId{7}, 2});
  (void)Do(RecordsKept{LeaseId{7}, 1});

  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@2"));
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@2", "send started of lease 7",
                                   "send records 2 to 2 of lease 7"));
  (void)Do(RecordsKept{LeaseId{7}, 2});
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@2"));
}

// A coordinator that is slow but comes on is not sent everything again with each heartbeat.
TEST_F(SlotsTest, WhatIsConfirmedPieceByPieceIsNotToldAgain) {
  (void)Connect();
  (void)Start(7);
  for (uint64_t batch = 1; batch <= 4; ++batch) (void)Do(TrainerRecords{LeaseId{7}, batch});

  for (uint64_t kept = 1; kept <= 4; ++kept) {
    EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@4"));
    (void)Do(RecordsKept{LeaseId{7}, kept});
  }
}

TEST_F(SlotsTest, OfWhatIsNotWantedNothingIsToldAgain) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerHello{LeaseId{7}});
  (void)Do(TrainerRecords{LeaseId{7}, 1});
  (void)Do(StopMember{LeaseId{7}, "cancelled"});

  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat"));
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat"));
  (void)Do(Disconnected{});
  EXPECT_THAT(Connect(), IsEmpty());
  EXPECT_THAT(Do(TrainerEnded{LeaseId{7}}), ElementsAre("forget lease 7"));
}

TEST_F(SlotsTest, AnEndIsToldUntilItIsSettled) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerEnded{LeaseId{7}});
  (void)Do(Delivered{LeaseId{7}});

  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0"));
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0", "send finished of lease 7"));
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0", "send finished of lease 7"));
  EXPECT_THAT(Do(Settled{LeaseId{7}}), ElementsAre("forget lease 7"));
}

TEST_F(SlotsTest, ANewSessionHearsEverythingThatIsNotConfirmed) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerHello{LeaseId{7}});
  (void)Do(TrainerRecords{LeaseId{7}, 1});
  (void)Do(RecordsKept{LeaseId{7}, 1});
  EXPECT_THAT(Do(Disconnected{}), IsEmpty());
  EXPECT_THAT(Do(TrainerRecords{LeaseId{7}, 2}), IsEmpty());
  EXPECT_THAT(Do(TrainerRecords{LeaseId{7}, 3}), IsEmpty());

  EXPECT_THAT(Connect(), ElementsAre("send started of lease 7", "send records 2 to 3 of lease 7"));

  (void)Do(Disconnected{});
  (void)Do(TrainerEnded{LeaseId{7}});
  EXPECT_THAT(Do(Delivered{LeaseId{7}}), IsEmpty());
  EXPECT_THAT(Connect(), ElementsAre("send records 2 to 3 of lease 7", "deliver lease 7"));
}

// The coordinator may have been moved without the files of leases that were not settled.
TEST_F(SlotsTest, WhatIsNotSettledIsDeliveredAgainInANewSession) {
  (void)Connect();
  (void)Start(7);
  (void)Do(TrainerEnded{LeaseId{7}});
  (void)Do(Delivered{LeaseId{7}});
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0"));
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0", "send finished of lease 7"));
  (void)Do(Disconnected{});

  EXPECT_THAT(Connect(), ElementsAre("deliver lease 7"));

  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0"));
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0")) << "its files travel";
  EXPECT_THAT(Do(Delivered{LeaseId{7}}), ElementsAre("send finished of lease 7"));
  (void)Do(Disconnected{});
  EXPECT_THAT(Connect(), ElementsAre("deliver lease 7"));
  (void)Do(Disconnected{});
  EXPECT_THAT(Connect(), IsEmpty()) << "it is being delivered";
  EXPECT_THAT(Do(Settled{LeaseId{7}}), ElementsAre("forget lease 7"));
}

TEST_F(SlotsTest, AReconnectingWorkerSaysAgainThatItDrains) {
  (void)Connect();
  (void)Start(7);
  (void)Do(Drain{});
  (void)Do(Disconnected{});
  EXPECT_THAT(Connect(), ElementsAre("send draining"));
}

// A message may be dropped on its way out, and this one is confirmed by nobody.
TEST_F(SlotsTest, ADrainIsSaidAgainWithEveryHeartbeat) {
  (void)Connect();
  (void)Start(7);
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0"));
  (void)Do(Drain{});
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0", "send draining"));
  EXPECT_THAT(Wait(1), ElementsAre("send heartbeat 7@0", "send draining"));
}

}  // namespace
}  // namespace noisefloor::slots
