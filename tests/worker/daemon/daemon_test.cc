#include <sys/file.h>

#include <fstream>

#include "common/base/clock.h"
#include "tests/support/loopback_port.h"
#include "tests/worker/daemon/daemon_fixture.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(DaemonTest, AMemberIsTrainedAndEverythingOfItIsDelivered) {
  StartDaemon();
  const v1::Register registered = Registered();
  EXPECT_EQ(registered.name(), "box");
  EXPECT_NE(registered.identity(), 0u);
  const v1::Inventory& inventory = registered.inventory();
  ASSERT_EQ(inventory.slots_size(), 1);
  EXPECT_EQ(inventory.slots(0).offers_size(), inventory.offers_size());
  ASSERT_GT(inventory.offers_size(), 0);
  EXPECT_EQ(inventory.offers(0).stack(), "fake");
  EXPECT_EQ(inventory.offers(0).build(), "fake-build");
  EXPECT_EQ(inventory.offers(0).fingerprint().size(), 64u);

  v1::StartMember start = Member(7);
  start.set_write_evaluation_set(true);
  Start(start);

  const auto started = coordinator_.Wait(Case::kStarted);
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->started().lease_id(), 7u);
  EXPECT_EQ(started->started().data_identity().size(), 64u);
  const auto records = coordinator_.Wait(Case::kRecords);
  ASSERT_TRUE(records.has_value());
  EXPECT_EQ(records->records().batch().sequence(), 1u);
  EXPECT_EQ(records->records().batch().value_size(), 3);
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(finished.outcome().record_batches(), 2u);
  EXPECT_EQ(finished.outcome().data_identity(), started->started().data_identity());
  EXPECT_EQ(finished.outcome().hashes().count("weights"), 1u);
  std::vector<std::string> kinds;
  const auto uploads = coordinator_.uploads();
  for (const v1::Artifact& artifact : finished.outcome().artifacts()) {
    kinds.push_back(artifact.kind());
    ASSERT_TRUE(uploads.contains(artifact.kind()));
    EXPECT_EQ(Sha256Hex(uploads.at(artifact.kind())), artifact.sha256());
  }
  EXPECT_THAT(kinds, ElementsAre("predictions", "weights", "evaluation_images", "evaluation_labels",
                                 "log"));
  EXPECT_THAT(uploads.at("log"), HasSubstr("# lease 7, slot 0, stack fake, class " + class_));
  EXPECT_THAT(uploads.at("log"), HasSubstr("# OMP_NUM_THREADS=1\n"));
  EXPECT_THAT(uploads.at("log"), HasSubstr("trains s1c0r7 attempt 1"));
  EXPECT_TRUE(BecomesIdle());
  EXPECT_THAT(Spooled(), IsEmpty());
}

TEST_F(DaemonTest, EqualMembersGiveEqualHashesOnOneClassAndMembersFollowEachOther) {
  StartDaemon();
  (void)Registered();
  Start(Member(1));
  Start(Member(2));
  const v1::AttemptFinished first = Finished();
  const v1::AttemptFinished second = Finished();

  EXPECT_EQ(first.lease_id(), 1u);
  EXPECT_EQ(second.lease_id(), 2u);
  EXPECT_EQ(first.outcome().hashes().at("logits"), second.outcome().hashes().at("logits"));
}

TEST_F(DaemonTest, ARepeatedStartRunsOnce) {
  StartDaemon();
  (void)Registered();
  const std::string gate = MakeGate();
  for (int i = 0; i < 3; ++i) Start(Member(7, "gate:" + gate));
  OpenGate(gate);

  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_TRUE(BecomesIdle());
  EXPECT_EQ(coordinator_.Waiting(Case::kStarted), 1);
  EXPECT_EQ(coordinator_.Waiting(Case::kFinished), 0);
}

TEST_F(DaemonTest, ABrokenSessionInTheMiddleLosesNothing) {
  coordinator_.Set({.keeps_records = false});
  StartDaemon();
  EXPECT_EQ(Registered().held_size(), 0);
  const std::string gate = MakeGate();
  Start(Member(7, "gate:" + gate));
  ASSERT_TRUE(coordinator_.Wait(Case::kRecords).has_value());

  coordinator_.DropSession();
  const v1::Register again = Registered();

  ASSERT_EQ(again.held_size(), 1);
  EXPECT_EQ(again.held(0).lease_id(), 7u);
  EXPECT_EQ(again.held(0).sequence(), 1u);
  const auto repeated = coordinator_.Wait(Case::kRecords);
  ASSERT_TRUE(repeated.has_value());
  EXPECT_EQ(repeated->records().batch().sequence(), 1u);
  OpenGate(gate);
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
}

TEST_F(DaemonTest, AnEndIsRepeatedUntilItIsSettled) {
  coordinator_.Set({.settles = false});
  StartDaemon();
  (void)Registered();
  Start(Member(7));
  EXPECT_EQ(Finished().lease_id(), 7u);
  EXPECT_EQ(Finished().lease_id(), 7u);

  coordinator_.Set({});

  EXPECT_EQ(Finished().lease_id(), 7u);
  EXPECT_TRUE(BecomesIdle());
}

// Who comes next may be a coordinator that was moved without its files.
TEST_F(DaemonTest, WhatIsNotSettledIsDeliveredAgainInTheNextSessionAndTheLogOnce) {
  coordinator_.Set({.settles = false});
  StartDaemon();
  (void)Registered();
  Start(Member(7));
  const int files = Finished().outcome().artifacts_size();
  ASSERT_GT(files, 0);

  coordinator_.DropSession();
  (void)Registered();

  EXPECT_TRUE(coordinator_.WaitForUploadTries(2 * files));
  coordinator_.Set({});
  EXPECT_TRUE(BecomesIdle());
  ASSERT_GT(coordinator_.Waiting(Case::kFinished), 0);
  while (coordinator_.Waiting(Case::kFinished) > 0) {
    const v1::AttemptFinished again = Finished();
    EXPECT_EQ(again.outcome().kind(), v1::Outcome::KIND_DONE) << again.outcome().message();
    EXPECT_EQ(again.outcome().artifacts_size(), files);
  }
}

TEST_F(DaemonTest, AStoppedMemberEndsAndNothingOfItIsReported) {
  StartDaemon();
  (void)Registered();
  Start(Member(7, "wait"));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());

  Stop(7);

  EXPECT_TRUE(BecomesIdle());
  Start(Member(8));
  EXPECT_EQ(Finished().lease_id(), 8u);
  EXPECT_TRUE(BecomesIdle());
  EXPECT_THAT(Spooled(), IsEmpty());
}

TEST_F(DaemonTest, ATrainerThatIgnoresTheRequestToStopIsKilledAfterTheGraceTime) {
  StartDaemon();
  (void)Registered();
  Start(Member(7, "hang"));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());

  Stop(7);
  Start(Member(8));

  EXPECT_EQ(Finished().lease_id(), 8u);
}

TEST_F(DaemonTest, SigtermFinishesWhatRunsDeliversItAndLeaves) {
  StartDaemon();
  (void)Registered();
  const std::string gate = MakeGate();
  Start(Member(7, "gate:" + gate));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());

  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  ASSERT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  Start(Member(8));
  const v1::AttemptFinished refused = Finished();
  EXPECT_EQ(refused.lease_id(), 8u);
  EXPECT_EQ(refused.outcome().cause(), "interrupted");
  OpenGate(gate);

  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(daemon_->Wait(), 0);
}

TEST_F(DaemonTest, ASecondSigtermInterruptsWhatRuns) {
  StartDaemon();
  (void)Registered();
  Start(Member(7, "hang"));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());

  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  ASSERT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  ASSERT_TRUE(daemon_->Signal(SIGTERM));

  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().cause(), "interrupted");
  EXPECT_EQ(finished.outcome().message(), "the worker is leaving");
  EXPECT_EQ(daemon_->Wait(), 0);
}

TEST_F(DaemonTest, TheDrainTimeoutStopsWhatRuns) {
  StartDaemon({"--drain-timeout=0.1"});
  (void)Registered();
  Start(Member(7, "hang"));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());

  ASSERT_TRUE(daemon_->Signal(SIGTERM));

  EXPECT_EQ(Finished().outcome().cause(), "interrupted");
  EXPECT_EQ(daemon_->Wait(), 0);
}

TEST_F(DaemonTest, AWarningLetsWhatRunsFinishHoweverLongThatTakes) {
  StartDaemon({"--drain-timeout=0.01"});
  (void)Registered();
  const std::string gate = MakeGate();
  Start(Member(7, "gate:" + gate));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());

  ASSERT_TRUE(daemon_->Signal(SIGUSR1));
  ASSERT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  ASSERT_TRUE(daemon_->Signal(SIGUSR1));  // Again says nothing new.
  Start(Member(8));
  EXPECT_EQ(Finished().outcome().message(), "the worker is leaving");
  OpenGate(gate);

  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(daemon_->Wait(), 0);
}

class StoppedTest : public DaemonTest {
 protected:
  // Returns while the daemon waits for its trainer to say what it is.
  void StartDaemonThatAsks() {
    const std::string asked = folder_ + "/asked";
    ASSERT_EQ(mkfifo(asked.c_str(), 0600), 0);
    trainer_ = folder_ + "/mute";
    std::ofstream(trainer_) << "#!/bin/sh\necho > " << asked << "\nexec sleep 1000\n";
    std::filesystem::permissions(trainer_, std::filesystem::perms::owner_all);
    StartDaemon({"--state-temporary", "--stopped-code=75"});
    const int told = open(asked.c_str(), O_RDONLY | O_CLOEXEC);  // Waits for it.
    ASSERT_GE(told, 0);
    char byte = 0;
    EXPECT_EQ(read(told, &byte, 1), 1) << "closed before, its pipe would be broken";
    close(told);
  }
};

// Where 0 would be the end of the work; of one that leaves by itself it is 0.
TEST_F(DaemonTest, OneThatASignalEndedLeavesWithTheCodeThatWasAskedFor) {
  StartDaemon({"--stopped-code=75", "--state-temporary"});
  (void)Registered();
  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  EXPECT_EQ(daemon_->Wait(), 75);
  EXPECT_FALSE(std::filesystem::exists(State())) << "nothing was undelivered";

  StartDaemon({"--stopped-code=75", "--idle-timeout=0.1"});
  EXPECT_EQ(daemon_->Wait(), 0);
}

// The next worker of the folder delivers it.
TEST_F(StoppedTest, AResultThatNobodyTookStaysWithATemporaryState) {
  coordinator_.Set({.takes_uploads = false});
  const std::vector<std::string> of_no_result = {State() + "/cache", State() + "/checkpoints"};
  for (const std::string& folder : of_no_result) {
    std::filesystem::create_directories(folder + "/below");
  }
  StartDaemon({"--state-temporary"});
  (void)Registered();
  Start(Member(7));
  ASSERT_TRUE(coordinator_.WaitForUploadTries(1));
  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  ASSERT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  EXPECT_EQ(daemon_->Wait(), 0);
  EXPECT_THAT(Spooled(), ElementsAre("7"));
  for (const std::string& folder : of_no_result) {
    EXPECT_FALSE(std::filesystem::exists(folder)) << folder;
  }

  StartDaemonThatAsks();
  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  EXPECT_EQ(daemon_->Wait(), 75);
  EXPECT_THAT(Spooled(), ElementsAre("7")) << "one that was stopped before it began";

  trainer_ = FAKE_TRAINER;
  StartDaemon({"--state-temporary", "--classes=cpu-of-nobody"});
  EXPECT_EQ(daemon_->Wait(), 1);
  EXPECT_THAT(Spooled(), ElementsAre("7")) << "one that was refused";
  const test::LoopbackPort nobody;
  StartDaemon({"--coordinator=" + nobody.address(), "--state-temporary", "--give-up-after=0.1"});
  EXPECT_EQ(daemon_->Wait(), 3);
  EXPECT_THAT(Spooled(), ElementsAre("7")) << "one that found nobody";

  coordinator_.Set({});
  StartDaemon();
  EXPECT_EQ(Finished().lease_id(), 7u);
}

TEST_F(StoppedTest, BeforeItBeginsItTakesItsFolderAlong) {
  StartDaemonThatAsks();
  ASSERT_TRUE(std::filesystem::exists(State()));
  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  EXPECT_EQ(daemon_->Wait(), 75);
  EXPECT_FALSE(std::filesystem::exists(State()));
}

TEST_F(DaemonTest, ATemporaryStateGoesHoweverTheWorkerLeaves) {
  StartDaemon({"--state-temporary", "--classes=cpu-of-nobody"});
  EXPECT_EQ(daemon_->Wait(), 1);
  EXPECT_FALSE(std::filesystem::exists(State())) << "its settings were refused";

  const test::LoopbackPort nobody;
  StartDaemon({"--coordinator=" + nobody.address(), "--state-temporary", "--give-up-after=0.1"});
  EXPECT_EQ(daemon_->Wait(), 3);
  EXPECT_FALSE(std::filesystem::exists(State())) << "it has given up";

  coordinator_.Set({.takes_sessions = false, .refusal = grpc::StatusCode::PERMISSION_DENIED});
  StartDaemon({"--state-temporary"});
  EXPECT_EQ(daemon_->Wait(), 1);
  EXPECT_FALSE(std::filesystem::exists(State())) << "it was refused";
}

TEST_F(StoppedTest, WhileItWaitsForItsFolderItLeavesWithTheCodeThatWasAskedFor) {
  std::filesystem::create_directories(State());
  const int held = open((State() + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  log_ = folder_ + "/log";
  log_level_ = "info";
  ASSERT_EQ(mkfifo(log_.c_str(), 0600), 0);
  const int log = open(log_.c_str(), O_RDWR | O_CLOEXEC);  // Both ends: nobody waits to open it.
  StartDaemon({"--state-wait=600", "--state-temporary", "--stopped-code=75"});
  std::string said;
  while (said.find(" state_in_use ") == std::string::npos) {
    pollfd wait = {log, POLLIN, 0};
    ASSERT_EQ(poll(&wait, 1, 60000), 1) << said;
    char byte = 0;
    ASSERT_EQ(read(log, &byte, 1), 1);
    said += byte;
  }

  ASSERT_TRUE(daemon_->Signal(SIGTERM));

  EXPECT_EQ(daemon_->Wait(), 75);
  EXPECT_TRUE(std::filesystem::exists(State())) << "it is another's";
  close(log);
  close(held);
}

TEST_F(DaemonTest, AfterAWarningTheFirstSigtermStillHasItsTimeout) {
  StartDaemon({"--drain-timeout=0.1"});
  (void)Registered();
  Start(Member(7, "hang"));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());
  ASSERT_TRUE(daemon_->Signal(SIGUSR1));
  ASSERT_TRUE(coordinator_.Wait(Case::kDraining).has_value());

  ASSERT_TRUE(daemon_->Signal(SIGTERM));

  EXPECT_EQ(Finished().outcome().cause(), "interrupted");
  EXPECT_EQ(daemon_->Wait(), 0);
}

TEST_F(DaemonTest, ItSaysHowLongItLivesEachTimeThatItComes) {
  StartDaemon({"--lifetime=1000"});
  const uint64_t first = Registered().lives_ms();
  EXPECT_GT(first, 600'000u);
  EXPECT_LE(first, 1'000'000u);
  coordinator_.DropSession();
  EXPECT_LT(Registered().lives_ms(), first);
}

TEST_F(DaemonTest, ItLeavesByItselfWhenItsTimeIsOver) {
  StartDaemon({"--leave-after=0.001"});
  EXPECT_EQ(daemon_->Wait(), 0);
}

TEST_F(DaemonTest, WhatGoesOnFromACheckpointGoesOnElsewhereOnlyWhereItsFolderIsShared) {
  StartDaemon();
  EXPECT_EQ(Registered().lives_ms(), 0u) << "nobody ends it";
  Start(Member(7, "resumes"));
  EXPECT_FALSE(coordinator_.Wait(Case::kStarted)->started().resumes());
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  daemon_.reset();
  StartDaemon({"--checkpoints=" + folder_ + "/checkpoints"});
  (void)Registered();
  Start(Member(8, "resumes"));
  EXPECT_TRUE(coordinator_.Wait(Case::kStarted)->started().resumes());
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  Start(Member(9));
  EXPECT_FALSE(coordinator_.Wait(Case::kStarted)->started().resumes());
}

TEST_F(DaemonTest, WithoutAMemberForLongItLeavesAndTakesItsFolderAlong) {
  const std::string gate = MakeGate();
  StartDaemon({"--idle-timeout=2", "--state-temporary"});
  (void)Registered();
  Start(Member(7, "gate:" + gate));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());
  // Longer than that; what runs is something to do.
  const absl::Duration begin = SystemClock().Steady();
  while (SystemClock().Steady() - begin <= absl::Seconds(2)) {
    ASSERT_TRUE(coordinator_.NextHeartbeat().has_value());
  }
  Start(Member(8));
  OpenGate(gate);
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);

  EXPECT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  EXPECT_EQ(daemon_->Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(State()));
}

TEST_F(DaemonTest, AKilledDaemonDeliversItsSpooledResultAfterARestart) {
  coordinator_.Set({.takes_uploads = false});
  StartDaemon();
  const uint64_t identity = Registered().identity();
  Start(Member(7));
  ASSERT_TRUE(coordinator_.WaitForUploadTries(1));
  ASSERT_TRUE(daemon_->Signal(SIGKILL));
  EXPECT_EQ(daemon_->Wait(), -1);

  coordinator_.Set({});
  StartDaemon();
  const v1::Register again = Registered();

  EXPECT_EQ(again.identity(), identity);
  ASSERT_EQ(again.held_size(), 1);
  EXPECT_EQ(again.held(0).lease_id(), 7u);
  EXPECT_EQ(again.held(0).sequence(), 2u);
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(finished.outcome().record_batches(), 2u);
  EXPECT_EQ(finished.outcome().data_identity().size(), 64u);
  EXPECT_TRUE(BecomesIdle());
  EXPECT_THAT(Spooled(), IsEmpty());
}

TEST_F(DaemonTest, AKilledDaemonTakesItsTrainerAlongAndReportsItInterrupted) {
  StartDaemon();
  (void)Registered();
  Start(Member(7, "hang"));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());
  ASSERT_TRUE(daemon_->Signal(SIGKILL));
  EXPECT_EQ(daemon_->Wait(), -1);

  StartDaemon();

  ASSERT_EQ(Registered().held_size(), 1);
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().cause(), "interrupted");
  EXPECT_EQ(finished.outcome().message(), "the worker ended before its trainer did");
  EXPECT_THAT(coordinator_.uploads()["log"], HasSubstr("trains s1c0r7"));
}

TEST_F(DaemonTest, ALeaseThatCannotBeRenewedIsGivenUpAndReportedInterrupted) {
  coordinator_.Set({.lease_ttl_ms = 2000});
  StartDaemon();
  (void)Registered();
  Start(Member(7, "wait"));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());
  coordinator_.Set({.takes_uploads = false, .takes_sessions = false});
  coordinator_.DropSession();

  // The upload of its log is the sign that the trainer was ended without a session.
  ASSERT_TRUE(coordinator_.WaitForUploadTries(1));
  coordinator_.Set({});

  ASSERT_EQ(Registered().held_size(), 1);
  EXPECT_EQ(Finished().outcome().cause(), "interrupted");
}

TEST_F(DaemonTest, TheNoopTrainerAnswersWithoutAProcessOrAFile) {
  StartDaemon({"--trainer=noop"});
  (void)Registered();
  for (uint64_t lease = 1; lease <= 50; ++lease) Start(Member(lease, "", "noop"));

  for (uint64_t lease = 1; lease <= 50; ++lease) {
    const v1::AttemptFinished finished = Finished();
    EXPECT_EQ(finished.lease_id(), lease);
    EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DONE);
    EXPECT_EQ(finished.outcome().record_batches(), 2u);
    EXPECT_EQ(finished.outcome().artifacts_size(), 0);
  }
  EXPECT_TRUE(BecomesIdle());
  EXPECT_THAT(Spooled(), IsEmpty());
}

TEST_F(DaemonTest, EachClassHasItsVariables) {
  StartDaemon();
  const v1::Register registered = Registered();
  uint64_t lease = 0;
  for (const v1::Offer& offer : registered.inventory().offers()) {
    class_ = offer.hardware_class();
    Start(Member(++lease, "oom"));
    const std::string environment = Finished().outcome().environment();
    const std::string set = class_.substr(class_.rfind('-') + 1);
    const std::string capability = set == "sse" ? "default" : set;
    EXPECT_EQ(environment, "{\"capability\":\"" + capability + "\",\"trainer\":\"fake\"}");
  }
  EXPECT_EQ(lease, static_cast<uint64_t>(registered.inventory().offers_size()));
}

}  // namespace
}  // namespace noisefloor
