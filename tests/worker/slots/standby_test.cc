// Trainers that are loaded ahead of time: standbys and servers of forks.
#include "gmock/gmock.h"

#include "tests/worker/slots/slots_fixture.h"

namespace noisefloor::slots {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(SlotsTest, TheStandbyLoadsInTheSecondHalfAndTakesTheNextMemberOfItsKey) {
  (void)Connect();
  (void)Start(1);
  EXPECT_THAT(Do(TrainerProgress{LeaseId{1}, 49, 100}), IsEmpty());
  EXPECT_THAT(Do(TrainerProgress{LeaseId{1}, 50, 100}),
              ElementsAre("start standby for torch on cpu-amd-avx2 in slot 0"));
  EXPECT_THAT(Do(TrainerProgress{LeaseId{1}, 60, 100}), IsEmpty());
  (void)Do(TrainerEnded{LeaseId{1}});
  EXPECT_THAT(Start(2), ElementsAre("start trainer of lease 2 in slot 0 from its standby"));
  EXPECT_THAT(Do(TrainerProgress{LeaseId{2}, 50, 100}),
              ElementsAre("start standby for torch on cpu-amd-avx2 in slot 0"))
      << "the next one";
}

TEST_F(SlotsTest, AStandbyOfAnotherClassIsDiscarded) {
  (void)Connect();
  (void)Start(1);
  (void)Do(TrainerProgress{LeaseId{1}, 50, 100});
  (void)Do(TrainerEnded{LeaseId{1}});
  EXPECT_THAT(Start(2, kSse),
              ElementsAre("end standby in slot 0", "start trainer of lease 2 in slot 0"));
}

TEST_F(SlotsTest, AStandbyThatDiedIsNotUsed) {
  (void)Connect();
  (void)Start(1);
  (void)Do(TrainerProgress{LeaseId{1}, 50, 100});
  (void)Do(TrainerEnded{LeaseId{1}});
  (void)Do(StandbyEnded{0});
  EXPECT_THAT(Start(2), ElementsAre("start trainer of lease 2 in slot 0"));
}

class StandbyTest : public TwoSlotsTest {
 protected:
  // One after the other in slot 0.
  void Run(const std::vector<TrainerKey>& keys) {
    for (const TrainerKey& key : keys) {
      (void)Start(++lease_, key);
      (void)Do(TrainerEnded{LeaseId{lease_}});
    }
  }
  std::vector<std::string> SecondHalf(uint64_t lease) {
    return Do(TrainerProgress{LeaseId{lease}, 1, 2});
  }
  uint64_t lease_ = 100;
};

TEST_F(StandbyTest, ItIsOfTheKeyThatFollowedTheNewestStartTheLastTime) {
  (void)Connect();
  Run({kSse, kAvx2, kSse, kAvx2});
  (void)Start(1, kSse);
  EXPECT_THAT(SecondHalf(1), ElementsAre("start standby for torch on cpu-amd-avx2 in slot 0"));
  (void)Do(TrainerEnded{LeaseId{1}});
  EXPECT_THAT(Start(2, kAvx2), ElementsAre("start trainer of lease 2 in slot 0 from its standby"));
}

TEST_F(StandbyTest, ClassByClassItIsOfTheSameKey) {
  (void)Connect();
  Run({kSse, kAvx2, kAvx2});
  (void)Start(1, kAvx2);
  EXPECT_THAT(SecondHalf(1), ElementsAre("start standby for torch on cpu-amd-avx2 in slot 0"));
}

TEST_F(StandbyTest, TwoOfThemAreOfTheNextTwo) {
  (void)Connect();
  Run({kSse, kAvx2, kSse, kAvx2});
  (void)Start(1, kSse);
  (void)Start(2, kAvx2, 1);
  EXPECT_THAT(SecondHalf(1), ElementsAre("start standby for torch on cpu-amd-sse in slot 0"));
  EXPECT_THAT(SecondHalf(2), ElementsAre("start standby for torch on cpu-amd-avx2 in slot 1"));
  (void)Do(TrainerEnded{LeaseId{1}});
  (void)Do(TrainerEnded{LeaseId{2}});
  EXPECT_THAT(Start(3, kAvx2, 1),
              ElementsAre("start trainer of lease 3 in slot 1 from its standby"));
  EXPECT_THAT(Start(4, kSse), ElementsAre("start trainer of lease 4 in slot 0 from its standby"));
}

TEST_F(StandbyTest, WhatWaitsForTheSlotComesNextThere) {
  (void)Connect();
  Run({kAvx2, kAvx2});
  (void)Start(1, kAvx2);
  (void)Start(2, kAvx2, 1);
  (void)Start(3, kSse);
  EXPECT_THAT(SecondHalf(1), ElementsAre("start standby for torch on cpu-amd-sse in slot 0"));
  EXPECT_THAT(SecondHalf(2), ElementsAre("start standby for torch on cpu-amd-avx2 in slot 1"));
}

TEST_F(StandbyTest, NothingIsLoadedForAWorkerThatDrains) {
  (void)Connect();
  (void)Start(1);
  (void)Do(Drain{});
  EXPECT_THAT(SecondHalf(1), IsEmpty());
}

TEST_F(StandbyTest, NothingIsLoadedBesideATrainerThatIsStopped) {
  (void)Connect();
  (void)Start(1);
  (void)Do(StopMember{LeaseId{1}, "cancelled"});
  EXPECT_THAT(SecondHalf(1), IsEmpty());
}

TEST_F(StandbyTest, NothingIsLoadedWhereTheEndOfATrainingIsNotKnown) {
  (void)Connect();
  (void)Start(1);
  EXPECT_THAT(Do(TrainerProgress{LeaseId{1}, 5, 0}), IsEmpty());
}

class NoStandbyTest : public SlotsTest {
 protected:
  NoStandbyTest() : SlotsTest({.slot_count = 1, .standby = false}) {}
};

TEST_F(NoStandbyTest, NothingIsLoadedAheadOfTime) {
  (void)Connect();
  (void)Start(1);
  EXPECT_THAT(Do(TrainerProgress{LeaseId{1}, 99, 100}), IsEmpty());
}

class ForksTest : public StandbyTest {
 protected:
  std::vector<std::string> StartForked(uint64_t lease, const TrainerKey& key) {
    return Do(StartMember{LeaseId{lease}, 0, key, /*forks=*/true});
  }
};

TEST_F(ForksTest, WhatCanBeForkedGetsAServerForItsKeyInsteadOfAStandby) {
  (void)Connect();
  EXPECT_THAT(StartForked(1, kSse), ElementsAre("start trainer of lease 1 in slot 0"));
  EXPECT_THAT(Do(TrainerProgress{LeaseId{1}, 49, 100}), IsEmpty());
  EXPECT_THAT(SecondHalf(1), ElementsAre("keep fork server for torch on cpu-amd-sse"));
  EXPECT_THAT(SecondHalf(1), IsEmpty());
  (void)Do(TrainerEnded{LeaseId{1}});
  EXPECT_THAT(StartForked(2, kSse), ElementsAre("start trainer of lease 2 in slot 0"));
  EXPECT_THAT(SecondHalf(2), ElementsAre("keep fork server for torch on cpu-amd-sse"))
      << "it may have been lost meanwhile";
}

TEST_F(ForksTest, AStandbyIsNeverOfAKeyThatIsForked) {
  (void)Connect();
  (void)Start(1, kAvx2);
  (void)StartForked(2, kSse);
  (void)StartForked(3, kSse);
  EXPECT_THAT(SecondHalf(1), ElementsAre("start standby for torch on cpu-amd-avx2 in slot 0"));
}

TEST_F(ForksTest, DrainingEndsTheServersOnce) {
  (void)Connect();
  (void)StartForked(1, kSse);
  (void)SecondHalf(1);
  EXPECT_THAT(Do(Drain{}), ElementsAre("end fork servers", "send draining"));
  EXPECT_THAT(SecondHalf(1), IsEmpty());
}

}  // namespace
}  // namespace noisefloor::slots
