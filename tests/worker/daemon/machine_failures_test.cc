// What goes wrong on this machine or at the coordinator, and must not cost a member or a result.
#include <map>
#include <sstream>

#include "common/files/atomic_file.h"
#include "tests/support/loopback_port.h"
#include "tests/worker/daemon/daemon_fixture.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class MachineTest : public DaemonTest {
 protected:
  // How often the daemon wrote a line with this event so far.
  int Logged(const std::string& event) const {
    const std::string text = ReadFile(log_, 1 << 20).value();
    int count = 0;
    for (size_t at = text.find(" " + event + " "); at != std::string::npos;
         at = text.find(" " + event + " ", at + 1)) {
      ++count;
    }
    return count;
  }
};

TEST_F(MachineTest, ACoordinatorThatCannotWriteDoesNotCostAResult) {
  coordinator_.Set({.takes_uploads = false, .refusal = grpc::StatusCode::PERMISSION_DENIED});
  StartDaemon();
  (void)Registered();
  Start(Member(7));
  ASSERT_TRUE(coordinator_.WaitForUploadTries(3));

  coordinator_.Set({});

  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_THAT(finished.outcome().artifacts(), SizeIs(3));
}

TEST_F(MachineTest, AResultWhoseLeaseIsLostMeanwhileIsToldWithoutItsFiles) {
  coordinator_.Set({.takes_uploads = false});
  StartDaemon();
  (void)Registered();
  Start(Member(7));
  ASSERT_TRUE(coordinator_.WaitForUploadTries(1));

  Stop(7);

  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(finished.outcome().hashes().count("weights"), 1u);
  EXPECT_THAT(finished.outcome().artifacts(), IsEmpty());
  EXPECT_TRUE(BecomesIdle());
  Start(Member(8, "oom"));
  coordinator_.Set({});
  EXPECT_EQ(Finished().lease_id(), 8u);
  EXPECT_TRUE(BecomesIdle());
  EXPECT_THAT(Spooled(), IsEmpty());
}

TEST_F(MachineTest, ATrainerThatCannotBeStartedIsTheMachinesFault) {
  trainer_ = folder_ + "/trainer";
  std::filesystem::copy_file(FAKE_TRAINER, trainer_);
  StartDaemon();
  (void)Registered();
  std::filesystem::rename(trainer_, folder_ + "/away");
  Start(Member(7));

  const v1::AttemptFinished failed = Finished();

  EXPECT_EQ(failed.outcome().cause(), "lost_device");
  EXPECT_THAT(failed.outcome().message(), HasSubstr("the trainer cannot be started: " + trainer_));
  std::filesystem::rename(folder_ + "/away", trainer_);
  Start(Member(8));
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
}

TEST_F(MachineTest, ASpoolThatIsFullOfRecordsIsTheMachinesFault) {
  StartDaemon({"--spool-limit=1"});
  (void)Registered();
  Start(With(Member(7), [](Specification& specification) {
    specification.train.epochs = 20000;  // Each with some records.
    specification.evaluate.every_epochs = 20000;
  }));

  const v1::AttemptFinished failed = Finished();

  EXPECT_EQ(failed.outcome().cause(), "lost_device");
  EXPECT_THAT(failed.outcome().message(), HasSubstr("spool is full: "));
  uint64_t last_sent = 0;
  while (coordinator_.Waiting(Case::kRecords) > 0) {
    last_sent = coordinator_.Wait(Case::kRecords)->records().batch().sequence();
  }
  EXPECT_GT(last_sent, 0u);
  EXPECT_LE(last_sent, failed.outcome().record_batches()) << "more was sent than is in the spool";
}

TEST_F(MachineTest, ATrainerThatFallsSilentIsEndedAndTheMachineBlamed) {
  StartDaemon({"--silence-timeout=0.2"});
  (void)Registered();
  Start(Member(7, "hang"));
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().cause(), "lost_device");
  EXPECT_EQ(finished.outcome().message(), "the trainer said nothing for 200ms (--silence-timeout)");
}

// As one that hangs in a driver: SIGKILL does not end it. Its member goes elsewhere.
TEST_F(MachineTest, ATrainerThatOutlivesItsKillingIsGivenUpAndTheWorkerLeaves) {
  log_ = folder_ + "/log";
  StartDaemon({"--silence-timeout=0.2", "--kill-timeout=0.1"});
  (void)Registered();
  Start(Member(7, "escape"));

  EXPECT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.lease_id(), 7u);
  EXPECT_EQ(finished.outcome().cause(), "lost_device");
  EXPECT_EQ(finished.outcome().message(), "the trainer said nothing for 200ms (--silence-timeout)");
  EXPECT_EQ(daemon_->Wait(), 4);
  EXPECT_EQ(Logged("trainer_undying"), 1);
}

TEST_F(MachineTest, ATrainerThatNeverSaysHelloIsEndedAndTheMachineBlamed) {
  StartDaemon({"--hello-timeout=0.2"});
  (void)Registered();
  Start(Member(7, "mute"));
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().cause(), "lost_device");
  EXPECT_EQ(finished.outcome().message(),
            "the trainer gave no hello within 200ms (--hello-timeout)");
}

// As silent as one that never spoke: a hello is what is waited for, and no longer than that.
TEST_F(MachineTest, ATrainerThatFallsSilentWhileItReadsItsDataIsEnded) {
  StartDaemon({"--hello-timeout=1", "--silence-timeout=0.2"});
  (void)Registered();
  Start(Member(7, "reads"));
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().cause(), "lost_device");
  EXPECT_EQ(finished.outcome().message(), "the trainer gave no hello within 1s (--hello-timeout)");
}

TEST_F(MachineTest, AnEchoOfARefusedMemberLeavesNothing) {
  StartDaemon();
  (void)Registered();
  Start(Member(3, "", "torch-9"));
  EXPECT_EQ(Finished().lease_id(), 3u);
  EXPECT_TRUE(BecomesIdle());

  Start(Member(3, "", "torch-9"));
  Start(Member(8));

  EXPECT_EQ(Finished().lease_id(), 8u);
  EXPECT_TRUE(BecomesIdle());
  EXPECT_THAT(Spooled(), IsEmpty());
}

TEST_F(MachineTest, ANameThatIsTakenIsSaidOnce) {
  log_ = folder_ + "/log";
  coordinator_.Set({.takes_sessions = false, .refusal = grpc::StatusCode::ALREADY_EXISTS});
  StartDaemon();
  ASSERT_TRUE(coordinator_.WaitForSessionTries(4));
  EXPECT_EQ(Logged("not_connected"), 1);
  EXPECT_THAT(ReadFile(log_, 1 << 20).value(), HasSubstr("not now"));

  coordinator_.Set({});
  ASSERT_TRUE(coordinator_.NextHeartbeat().has_value());
  coordinator_.Set({.takes_sessions = false, .refusal = grpc::StatusCode::ALREADY_EXISTS});
  const int before = coordinator_.session_tries();
  coordinator_.DropSession();
  ASSERT_TRUE(coordinator_.WaitForSessionTries(before + 2));
  EXPECT_EQ(Logged("not_connected"), 2) << "again, after it was taken meanwhile";
}

TEST_F(MachineTest, EveryLineOfALifeNamesSweepMemberAttemptLeaseAndWorker) {
  log_ = folder_ + "/log";
  log_level_ = "info";
  coordinator_.Set({.takes_uploads = false, .refusal = grpc::StatusCode::UNAVAILABLE});
  StartDaemon();
  Registered();
  Start(Member(7));
  ASSERT_TRUE(coordinator_.WaitForUploadTries(1));
  coordinator_.Set({});
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  v1::StartMember refused = Member(8);
  refused.set_specification("no specification");
  Start(refused);
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_FAILED);
  EXPECT_TRUE(BecomesIdle());
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);

  std::istringstream text(ReadFile(log_, 1 << 20).value());
  std::map<std::string, int> of_leases;
  for (std::string line; std::getline(text, line);) {
    EXPECT_THAT(line, HasSubstr(" worker=box")) << "every line names who wrote it";
    if (line.find(" lease=") == std::string::npos) continue;
    const std::string lease = line.find(" lease=7 ") != std::string::npos ? "7" : "8";
    EXPECT_THAT(line,
                HasSubstr(" lease=" + lease + " sweep=s1 member=s1c0r" + lease + " attempt=1"));
    std::istringstream words(line);
    std::string time, level, event;
    words >> time >> level >> event;
    ++of_leases[event];
  }
  for (const char* event :
       {"trainer_started", "trainer_ended", "upload_failed", "settled", "member_refused"}) {
    EXPECT_GE(of_leases[event], 1) << event;
  }
}

TEST_F(MachineTest, ACoordinatorThatIsAwayForAMomentIsNothingToWarnOf) {
  log_ = folder_ + "/log";
  coordinator_.Set({.takes_sessions = false});
  StartDaemon();
  ASSERT_TRUE(coordinator_.WaitForSessionTries(3));
  EXPECT_EQ(Logged("not_connected"), 0);
}

TEST_F(MachineTest, AWrongAddressIsSaidAfterSecondsWithWhatWasTriedAndWhy) {
  log_ = folder_ + "/log";
  const test::LoopbackPort closed;
  const std::string wrong = closed.address();
  StartDaemon({"--coordinator=" + wrong, "--give-up-after=10"});
  EXPECT_EQ(daemon_->Wait(), 3);
  const std::string log = ReadFile(log_, 1 << 20).value();
  EXPECT_EQ(Logged("no_coordinator"), 2) << "after 3 s and after 6: at growing intervals\n" << log;
  EXPECT_THAT(log, HasSubstr("no_coordinator coordinator=" + wrong + " tried_s=3 error=\""));
  EXPECT_THAT(log, HasSubstr("Connection refused"));
}

TEST_F(MachineTest, WhoIsNotAdmittedIsNotAskedWhetherSomebodyIsThere) {
  log_ = folder_ + "/log";
  coordinator_.Set({.takes_sessions = false, .refusal = grpc::StatusCode::ALREADY_EXISTS});
  StartDaemon({"--give-up-after=10"});
  EXPECT_EQ(daemon_->Wait(), 3);
  const std::string log = ReadFile(log_, 1 << 20).value();
  EXPECT_GE(Logged("not_admitted"), 1) << log;
  EXPECT_THAT(log, HasSubstr("not_admitted coordinator=" + coordinator_.address() + " tried_s="));
  EXPECT_THAT(log, HasSubstr("not now"));
  EXPECT_THAT(log, Not(HasSubstr("is it running there")));
}

// A shell repeats what the terminal has said; SIGTERM behind it is the second word.
TEST_F(MachineTest, AHangupThatIsRepeatedHurriesNobody) {
  signal(SIGHUP, SIG_DFL);  // Under nohup the daemon would ignore it.
  log_ = folder_ + "/log";
  log_level_ = "info";
  StartDaemon();
  (void)Registered();
  Start(Member(7, "hang"));
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());

  ASSERT_TRUE(daemon_->Signal(SIGHUP));
  ASSERT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  ASSERT_TRUE(daemon_->Signal(SIGHUP));
  ASSERT_TRUE(daemon_->Signal(SIGTERM));

  EXPECT_EQ(Finished().outcome().message(), "the worker is leaving");
  EXPECT_EQ(daemon_->Wait(), 0);
  EXPECT_EQ(Logged("hurrying"), 1);
}

TEST_F(MachineTest, WhatCannotBeRecoveredIsLogged) {
  log_ = folder_ + "/log";
  std::filesystem::create_directories(State() + "/spool/9/work");
  StartDaemon();
  (void)Registered();
  EXPECT_EQ(Logged("spooled_attempt_lost"), 1);
  EXPECT_THAT(ReadFile(log_, 1 << 20).value(), HasSubstr("lease=9 removed=true"));
}

}  // namespace
}  // namespace noisefloor
