// Slurm's words for states and reasons.
#include "coordinator/fleet/job.h"

#include "gtest/gtest.h"

namespace noisefloor::fleet {
namespace {

TEST(JobPhaseTest, EveryWordHasOne) {
  for (const char* word : {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                           "SPECIAL_EXIT", "RESV_DEL_HOLD"}) {
    EXPECT_EQ(PhaseOf(word), JobPhase::kWaiting) << word;
  }
  for (const char* word :
       {"RUNNING", "COMPLETING", "SIGNALING", "STAGE_OUT", "SUSPENDED", "STOPPED", "RESIZING"}) {
    EXPECT_EQ(PhaseOf(word), JobPhase::kAlive) << word;
  }
  for (const char* word : {"COMPLETED", "TIMEOUT"}) {
    EXPECT_EQ(PhaseOf(word), JobPhase::kWell) << word;
  }
  for (const char* word : {"PREEMPTED", "NODE_FAIL", "CANCELLED", "REVOKED", "DEADLINE"}) {
    EXPECT_EQ(PhaseOf(word), JobPhase::kTaken) << word;
  }
  for (const char* word : {"FAILED", "OUT_OF_MEMORY", "BOOT_FAIL"}) {
    EXPECT_EQ(PhaseOf(word), JobPhase::kBroken) << word;
  }
}

TEST(JobPhaseTest, WhatIsBehindAWordIsNotPartOfIt) {
  EXPECT_EQ(PhaseOf("CANCELLED by 0"), JobPhase::kTaken);
  EXPECT_EQ(PhaseOf("CANCELLED+"), JobPhase::kTaken);
  EXPECT_EQ(PhaseOf("COMPLETING+"), JobPhase::kAlive);
}

TEST(JobPhaseTest, NothingIsGivenUpForAWordThatIsNotKnown) {
  EXPECT_EQ(PhaseOf("DREAMING"), JobPhase::kAlive);
  EXPECT_EQ(PhaseOf(""), JobPhase::kAlive);
}

TEST(ReasonTest, OnlyWhatNoWaitingMendsNeverBegins) {
  for (const char* word :
       {"PartitionConfig", "BadConstraints", "AccountNotAllowed", "QOSNotAllowed", "InvalidAccount",
        "InvalidQOS", "PartitionTimeLimit", "PartitionNodeLimit", "JobLaunchFailure",
        "NonZeroExitCode", "SystemFailure", "DeadLine", "AssociationTimeLimit", "QOSTimeLimit",
        "DependencyNeverSatisfied", "MaxMemPerLimit", "QOSMaxWallDurationPerJobLimit",
        "AssocMaxCpuPerNode", "QOSMinGRES"}) {
    EXPECT_TRUE(NeverBegins(word)) << word;
  }
  for (const char* word : {"Resources", "Priority", "ReqNodeNotAvail", "JobHeldAdmin", "Dependency",
                           "QOSMaxGRESPerUser", "AssocMaxJobsLimit", "QOSMaxJobsPerUserLimit",
                           "MaxJobsPerAccount", "AssocGrpGRES", "BeginTime", "", "None"}) {
    EXPECT_FALSE(NeverBegins(word)) << word;
  }
}

TEST(ReasonTest, IsSaidInWordsByItsFamily) {
  EXPECT_EQ(InWords("Resources"), "all that it asks for is in use");
  EXPECT_EQ(InWords("QOSMaxGRESPerUser"), "you have as much as your quality of service allows");
  EXPECT_EQ(InWords("QOSMaxGRESPerJob"), "one job may not have so much, or so little");
  EXPECT_EQ(InWords("AssocGrpCpuLimit"), "your account is used up by all who share it");
  EXPECT_EQ(InWords("ReqNodeNotAvail, UnavailableNodes:n7"),
            "the nodes that it needs are down, drained or reserved");
  EXPECT_EQ(InWords("Whatever"), "");
}

}  // namespace
}  // namespace noisefloor::fleet
