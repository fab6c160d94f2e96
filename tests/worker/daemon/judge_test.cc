#include "worker/daemon/judge.h"

#include <csignal>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

HelloEvent Hello(const std::string& stack = "fake") {
  HelloEvent hello;
  hello.stack = stack;
  hello.build = "build-1";
  hello.environment = R"({"a":1})";
  hello.data_identity = std::string(64, 'd');
  return hello;
}
Outcome Done() {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDone;
  return outcome;
}
Outcome Failed(CauseClass cause) {
  Outcome outcome;
  outcome.cause = cause;
  outcome.message = "why";
  return outcome;
}

class JudgeTest : public testing::Test {
 protected:
  std::string Refusal(const TrainerEvent& event) { return Message(judge_.Accept(event)); }
  void Accept(const TrainerEvent& event) { ASSERT_TRUE(judge_.Accept(event).ok()); }

  EventJudge judge_{"fake", "build-1"};
};

TEST_F(JudgeTest, AWholeConversationIsAResult) {
  Accept(Hello());
  Accept(RecordsEvent{1, {{1, 0.5, "loss", 2.0}}});
  Accept(Artifact{"predictions", "p.npy", std::string(64, 'a'), 3});
  Accept(Done());

  const AttemptResult result = judge_.End({false, 0});

  EXPECT_EQ(result.outcome.kind, Outcome::Kind::kDone);
  EXPECT_EQ(result.record_batches, 1u);
  EXPECT_EQ(result.data_identity, std::string(64, 'd'));
  EXPECT_THAT(result.artifacts, SizeIs(1));
}

TEST_F(JudgeTest, NothingFollowsAnOutcome) {
  Accept(Hello());
  Accept(Done());
  EXPECT_EQ(Refusal(Failed(CauseClass::kBadData)), "an event after the outcome");
  EXPECT_EQ(judge_.End({false, 0}).outcome.message,
            "the trainer broke the protocol: an event after the outcome");
}

TEST_F(JudgeTest, OfAFailureNoFilesAreDelivered) {
  Accept(Hello());
  Accept(Artifact{"predictions", "p.npy", std::string(64, 'a'), 3});
  Accept(Failed(CauseClass::kOutOfMemory));
  const AttemptResult result = judge_.End({false, ExitCodeOf(CauseClass::kOutOfMemory)});
  EXPECT_EQ(result.outcome.cause, CauseClass::kOutOfMemory);
  EXPECT_THAT(result.artifacts, IsEmpty());
}

TEST_F(JudgeTest, TheEnvironmentIsThatOfTheEndWhereItSaysOne) {
  for (const auto& [said, told] : {std::pair("", R"({"a":1})"), std::pair("{}", R"({"a":1})"),
                                   std::pair(R"({"b":2})", R"({"b":2})")}) {
    EventJudge judge("fake", "build-1");
    ASSERT_TRUE(judge.Accept(Hello()).ok());
    Outcome done = Done();
    done.environment = said;
    ASSERT_TRUE(judge.Accept(done).ok());
    EXPECT_EQ(judge.End({false, 0}).outcome.environment, told);
  }
}

TEST_F(JudgeTest, AnOutcomeCountsThoughItsProcessHadToBeKilled) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    EventJudge judge("fake", "build-1");
    ASSERT_TRUE(judge.Accept(Hello()).ok());
    ASSERT_TRUE(judge.Accept(Artifact{"predictions", "p.npy", std::string(64, 'a'), 3}).ok());
    ASSERT_TRUE(judge.Accept(Done()).ok());
    EXPECT_EQ(judge.End({true, signal}).outcome.cause, CauseClass::kBug) << "by somebody else";
    judge.SetSignalled();
    EXPECT_EQ(judge.End({true, signal}).outcome.kind, Outcome::Kind::kDone);
    EXPECT_THAT(judge.End({true, signal}).artifacts, SizeIs(1));
    EXPECT_EQ(judge.End({true, SIGSEGV}).outcome.cause, CauseClass::kBug) << "not our signal";
    EXPECT_EQ(judge.End({false, 3}).outcome.cause, CauseClass::kBug) << "it contradicts itself";
  }
}

TEST_F(JudgeTest, ATrainerThatIsKilledBeforeItsOutcomeHasNone) {
  Accept(Hello());
  judge_.SetStopReason("cancelled");
  judge_.SetSignalled();
  EXPECT_EQ(judge_.End({true, SIGKILL}).outcome.cause, CauseClass::kInterrupted);
}

TEST_F(JudgeTest, BeforeItsHelloATrainerMaySayThatItLives) {
  Accept(ProgressEvent{0, 0});
  Accept(ProgressEvent{0, 100});
  EXPECT_FALSE(judge_.heard_hello());
  Accept(Hello());
  EXPECT_TRUE(judge_.heard_hello());
  Accept(Done());
  EXPECT_EQ(judge_.End({false, 0}).outcome.kind, Outcome::Kind::kDone);
}

TEST_F(JudgeTest, EventsOutOfPlaceAreRefused) {
  EXPECT_EQ(Refusal(ProgressEvent{1, 2}), "an event before the hello");
  EXPECT_EQ(judge_.End({false, 0}).outcome.message,
            "the trainer broke the protocol: an event before the hello");
}

TEST_F(JudgeTest, AnotherStackOrProtocolIsRefused) {
  EXPECT_EQ(Message(EventJudge("fake", "build-1").Accept(Hello("torch"))),
            "stack 'torch': expected 'fake'");
  HelloEvent old = Hello();
  old.protocol = 2;
  EXPECT_EQ(Refusal(old), "protocol version 2: expected 1");
}

TEST_F(JudgeTest, AnotherBuildThanWasDescribedIsTheWorkersFaultNotTheMembers) {
  EXPECT_FALSE(judge_.replaced());
  HelloEvent other = Hello();
  other.build = "build-2";
  constexpr char kWhy[] =
      "the trainer of stack 'fake' was replaced: its build is build-2, this worker knows build-1; "
      "start the worker again";
  EXPECT_EQ(Refusal(other), kWhy);
  EXPECT_TRUE(judge_.replaced());
  EXPECT_EQ(Refusal(Done()), kWhy);

  const AttemptResult result = judge_.End({false, 0});

  EXPECT_EQ(result.outcome.cause, CauseClass::kLostDevice);
  EXPECT_EQ(result.outcome.message, kWhy);
}

TEST_F(JudgeTest, AThousandArtifactsAreEnough) {
  Accept(Hello());
  const Artifact artifact{"predictions", "p.npy", std::string(64, 'a'), 3};
  for (size_t i = 0; i < kMaxArtifacts; ++i) Accept(artifact);
  EXPECT_EQ(Refusal(artifact), "more than 1000 artifacts");
}

TEST_F(JudgeTest, RecordsMustFollowEachOther) {
  Accept(Hello());
  Accept(RecordsEvent{1, {}});
  EXPECT_EQ(Refusal(RecordsEvent{1, {}}), "record batch with sequence 1: expected 2");
}

TEST_F(JudgeTest, ARecordBatchMayNotBeMissing) {
  Accept(Hello());
  Accept(RecordsEvent{1, {}});
  EXPECT_EQ(Refusal(RecordsEvent{3, {}}), "record batch with sequence 3: expected 2");
}

TEST_F(JudgeTest, ATrainerThatDiedSilentlyOnAFullDiskIsNotToBlame) {
  Accept(Hello());
  const absl::Status full = MakeError(absl::StatusCode::kResourceExhausted, "no space left");

  EXPECT_EQ(judge_.End({false, 1}).outcome.cause, CauseClass::kBug);
  const AttemptResult result = judge_.End({false, 1}, full);
  EXPECT_EQ(result.outcome.cause, CauseClass::kLostDevice);
  EXPECT_EQ(result.outcome.message,
            "the trainer exited with code 1 and gave no outcome, and the worker's disk takes no "
            "more: no space left");

  Accept(Failed(CauseClass::kBug));  // What it says itself counts.
  EXPECT_EQ(judge_.End({false, ExitCodeOf(CauseClass::kBug)}, full).outcome.cause,
            CauseClass::kBug);
}

TEST_F(JudgeTest, NothingFollowsABreach) {
  Accept(Hello());
  EXPECT_EQ(Refusal(Hello()), "a second hello");
  EXPECT_EQ(Refusal(Done()), "the trainer broke the protocol: a second hello");
  EXPECT_EQ(judge_.End({false, 0}).outcome.cause, CauseClass::kBug);
}

TEST_F(JudgeTest, AFailureBeforeTheHelloIsHeard) {
  Accept(Failed(CauseClass::kBadData));
  const AttemptResult result = judge_.End({false, ExitCodeOf(CauseClass::kBadData)});
  EXPECT_EQ(result.outcome.cause, CauseClass::kBadData);
  EXPECT_EQ(result.outcome.message, "why");
}

TEST_F(JudgeTest, ASuccessThatDiedIsNoSuccess) {
  Accept(Hello());
  Accept(Artifact{"predictions", "p.npy", std::string(64, 'a'), 3});
  Accept(Done());
  const AttemptResult result = judge_.End({true, SIGSEGV});
  EXPECT_EQ(result.outcome.kind, Outcome::Kind::kFailed);
  EXPECT_EQ(result.outcome.message,
            "the trainer said done but was ended by signal 11 (Segmentation fault): expected exit "
            "code 0");
  EXPECT_THAT(result.artifacts, IsEmpty());
}

TEST_F(JudgeTest, AKillThatNobodyAskedForSuggestsMemory) {
  EXPECT_EQ(judge_.End({true, SIGKILL}).outcome.message,
            "the trainer was ended by signal 9 (Killed) and gave no outcome; did the system run "
            "out of memory?");
  EXPECT_EQ(judge_.End({true, SIGKILL}).outcome.cause, CauseClass::kInterrupted);
}

TEST_F(JudgeTest, WhoeverElseEndsATrainerHasInterruptedItAndItsOwnCrashIsABug) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    EXPECT_EQ(judge_.End({true, signal}).outcome.cause, CauseClass::kInterrupted) << signal;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) {
    EXPECT_EQ(judge_.End({true, signal}).outcome.cause, CauseClass::kBug) << signal;
  }
}

// Who stops a trainer does not wait until it has tidied up.
TEST_F(JudgeTest, AStoppedTrainerThatContradictsItselfWasInterrupted) {
  Accept(Hello());
  Accept(Done());
  judge_.SetStopReason("the worker is leaving");
  EXPECT_EQ(judge_.End({false, 3}).outcome.cause, CauseClass::kInterrupted);
}

TEST_F(JudgeTest, AKillThatWasAskedForIsAnInterruption) {
  judge_.SetStopReason("the worker is leaving");
  const AttemptResult result = judge_.End({true, SIGKILL});
  EXPECT_EQ(result.outcome.cause, CauseClass::kInterrupted);
  EXPECT_EQ(result.outcome.message, "the worker is leaving");
}

TEST_F(JudgeTest, AResultThatCameBeforeTheStopStillCounts) {
  Accept(Hello());
  Accept(Done());
  judge_.SetStopReason("the worker is leaving");
  EXPECT_EQ(judge_.End({false, 0}).outcome.kind, Outcome::Kind::kDone);
}

TEST_F(JudgeTest, ExitCodesSpeakForThemselvesButCannotNameWhatIsNotATrainersToSay) {
  EXPECT_EQ(judge_.End({false, 13}).outcome.cause, CauseClass::kLostDevice);
  EXPECT_EQ(judge_.End({false, 0}).outcome.cause, CauseClass::kBug);
  EXPECT_EQ(judge_.End({false, 16}).outcome.cause, CauseClass::kBug);
  EXPECT_EQ(judge_.End({false, 77}).outcome.cause, CauseClass::kBug);
}

TEST_F(JudgeTest, WhatTheWorkerCannotKeepIsGivenUpWithItsOwnCause) {
  Accept(Hello());
  judge_.Abandon(CauseClass::kInterrupted, "the spool is full");
  const AttemptResult result = judge_.End({false, 0});
  EXPECT_EQ(result.outcome.cause, CauseClass::kInterrupted);
  EXPECT_EQ(result.outcome.message, "the spool is full");
  EXPECT_EQ(result.outcome.environment, R"({"a":1})");
}

TEST(AttemptResultTest, ComesBackFromItsText) {
  AttemptResult result;
  result.outcome = Done();
  result.outcome.metrics["loss"] = 0.1;
  result.data_identity = std::string(64, 'd');
  result.artifacts = {{"weights", "w.safetensors", std::string(64, 'b'), 12}};

  const auto back = ResultFromText(ResultToText(result));

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ResultToText(*back), ResultToText(result));
  EXPECT_FALSE(ResultFromText("").ok());
  EXPECT_FALSE(ResultFromText(ResultToText(result).substr(0, 400)).ok());
}

}  // namespace
}  // namespace noisefloor
