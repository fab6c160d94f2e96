#include "tests/worker/daemon/daemon_fixture.h"

namespace noisefloor {
namespace {

using testing::ContainsRegex;
using testing::IsEmpty;

struct Misbehaviour {
  const char* behaviour;
  const char* cause;
  const char* message;  // A regular expression.
};

class MisbehaviourTest : public DaemonTest, public testing::WithParamInterface<Misbehaviour> {};

TEST_P(MisbehaviourTest, EndsTheAttemptWithItsCauseAndAnExactMessage) {
  StartDaemon();
  (void)Registered();

  Start(Member(7, GetParam().behaviour));

  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_FAILED);
  EXPECT_EQ(finished.outcome().cause(), GetParam().cause);
  EXPECT_THAT(finished.outcome().message(), ContainsRegex(GetParam().message));
  for (const v1::Artifact& artifact : finished.outcome().artifacts()) {
    EXPECT_EQ(artifact.kind(), "log");
  }
  if (finished.outcome().message().starts_with("artifact ")) {
    EXPECT_THAT(finished.outcome().environment(), testing::HasSubstr("\"trainer\":\"fake\""));
  }
  Start(Member(8));
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE) << "the slot is of use again";
  EXPECT_TRUE(BecomesIdle());
  EXPECT_THAT(Spooled(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, MisbehaviourTest,
    testing::Values(
        Misbehaviour{"oom", "out_of_memory", "^no memory for a batch$"},
        Misbehaviour{"exit_oom", "out_of_memory",
                     "^the trainer exited with code 12 and gave no outcome$"},
        Misbehaviour{"silent", "bug", "^the trainer exited with code 0 and gave no outcome$"},
        Misbehaviour{"abort", "bug",
                     "^the trainer was ended by signal 6 \\(Aborted\\) and gave no outcome$"},
        Misbehaviour{"wrong_exit", "bug",
                     "^the trainer said done but exited with code 15: expected exit code 0$"},
        Misbehaviour{"huge", "bug",
                     "^the trainer broke the protocol: an event of more than 4194304 bytes$"},
        Misbehaviour{"garbage", "bug", "^the trainer broke the protocol: event: expected hello"},
        Misbehaviour{"bytes", "bug",
                     "^the trainer broke the protocol: not JSON: .*ill-formed UTF-8"},
        Misbehaviour{"sequence", "bug",
                     "^the trainer broke the protocol: record batch with sequence 3: expected 2$"},
        Misbehaviour{"no_hello", "bug",
                     "^the trainer broke the protocol: an event before the hello$"},
        Misbehaviour{"after", "bug",
                     "^the trainer broke the protocol: an event after the outcome$"},
        Misbehaviour{"partial", "bug",
                     "^the trainer broke the protocol: its last event of 20 bytes has no newline$"},
        Misbehaviour{"outside", "bug",
                     "^the trainer broke the protocol: path: expected a path inside the work"},
        Misbehaviour{"link", "bug", "^artifact extra \\(link\\): reached through a link$"},
        Misbehaviour{"swap", "bug",
                     "^artifact predictions \\(predictions.npy\\): reached through a link$"},
        Misbehaviour{"fifo", "bug", "^artifact extra \\(fifo\\): not a file$"},
        Misbehaviour{"missing", "bug", "^artifact extra \\(nothing.npy\\): there is no such file$"},
        Misbehaviour{"sha", "bug",
                     "^artifact extra \\(predictions.npy\\): SHA-256 [0-9a-f]+, and the trainer "
                     "said e3b0"}),
    [](const auto& info) { return std::string(info.param.behaviour); });

TEST_F(DaemonTest, ADivergedMemberIsAResult) {
  StartDaemon();
  (void)Registered();
  Start(Member(7, "diverge"));
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DIVERGED);
  EXPECT_TRUE(std::isnan(finished.outcome().metrics().at("loss")));
  EXPECT_EQ(finished.outcome().artifacts_size(), 3);
}

TEST_F(DaemonTest, WhatATrainerLeavesBehindIsEndedWithIt) {
  StartDaemon();
  (void)Registered();
  const std::string held = MakeGate();
  uint64_t lease = 7;
  // In the trainer's process group; and in a session of its own, without a parent or our marks.
  for (const std::string behaviour : {"child:", "detach:"}) {
    Start(Member(lease++, behaviour + held));
    const int file = open(held.c_str(), O_RDONLY);
    ASSERT_GE(file, 0);

    char byte = 0;
    EXPECT_EQ(read(file, &byte, 1), 0) << "ends when the last process that holds it has gone";

    close(file);
    EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE) << behaviour;
  }
}

TEST_F(DaemonTest, ATrainerThatLingersAfterItsOutcomeIsEndedAndNothingIsLost) {
  StartDaemon();
  (void)Registered();
  Start(Member(7, "linger"));
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(finished.outcome().message(), "");
  EXPECT_THAT(coordinator_.uploads(), testing::Contains(testing::Key("weights")));
}

TEST_F(DaemonTest, ALogStopsAtItsLimit) {
  StartDaemon();
  (void)Registered();
  Start(Member(7, "chatter"));
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  const std::string log = coordinator_.uploads()["log"];
  EXPECT_LT(log.size(), size_t{17} << 20);
  EXPECT_THAT(log.substr(log.size() - 60), testing::HasSubstr("the log is cut here"));
}

TEST_F(DaemonTest, MembersThatCannotRunHereAreRefusedByName) {
  StartDaemon();
  (void)Registered();

  Start(Member(1, "", "torch-9"));
  EXPECT_EQ(Finished().outcome().message(),
            "hardware class '" + class_ + "' with stack 'torch-9': slot 0 does not offer it");

  class_ = "nvidia-z9000";
  Start(Member(2));
  const v1::AttemptFinished other_class = Finished();
  EXPECT_EQ(other_class.outcome().cause(), "bad_specification");
  EXPECT_EQ(other_class.outcome().message(),
            "hardware class 'nvidia-z9000' with stack 'fake': slot 0 does not offer it");

  v1::StartMember no_slot = Member(4);
  no_slot.set_slot(7);
  Start(no_slot);
  EXPECT_EQ(Finished().outcome().message(), "slot 7: this worker has 1");

  v1::StartMember wrong_hash = Member(3);
  wrong_hash.set_specification_sha256(Sha256Hex(""));
  Start(wrong_hash);
  EXPECT_EQ(Finished().outcome().message(),
            "the specification does not have the hash that came with it");
  EXPECT_TRUE(BecomesIdle());
}

TEST_F(DaemonTest, DataThatAreNotHereAreTheWorkersFault) {
  StartDaemon({"--data-root=" + folder_});
  (void)Registered();
  Start(With(Member(7), [](Specification& specification) { specification.data.name = "mnist"; }));
  const v1::AttemptFinished finished = Finished();
  EXPECT_EQ(finished.outcome().cause(), "bad_data");
  EXPECT_THAT(finished.outcome().message(),
              testing::HasSubstr("this worker has no folder mnist in "));
}

TEST_F(DaemonTest, TwoWorkersCannotShareAStateDirectory) {
  StartDaemon();
  (void)Registered();
  DaemonProcess second({WORKER, "--coordinator=" + coordinator_.address(), "--state=" + State(),
                        "--trainer=noop", "--log-level=off"});
  EXPECT_EQ(second.Wait(), 1);
}

TEST_F(DaemonTest, ASecondWorkerMayWaitForTheFirstToLeave) {
  StartDaemon();
  const uint64_t identity = Registered().identity();
  DaemonProcess second({WORKER, "--coordinator=" + coordinator_.address(), "--state=" + State(),
                        "--state-wait=120", "--trainer=noop", "--log-level=error"});
  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  EXPECT_EQ(daemon_->Wait(), 0);
  EXPECT_EQ(Registered().identity(), identity);
  ASSERT_TRUE(second.Signal(SIGTERM));
  EXPECT_EQ(second.Wait(), 0);
}

TEST_F(DaemonTest, ExitCodesSayWhatWentWrong) {
  DaemonProcess usage({WORKER, "--slots=0", "--coordinator=localhost:1", "--trainer=noop"});
  EXPECT_EQ(usage.Wait(), 2);

  coordinator_.Set({.takes_sessions = false});
  DaemonProcess unreachable({WORKER, "--coordinator=" + coordinator_.address(),
                             "--state=" + State(), "--trainer=noop", "--give-up-after=0.2",
                             "--log-level=off"});
  EXPECT_EQ(unreachable.Wait(), 3);

  DaemonProcess refused({WORKER, "--coordinator=localhost:1", "--state=" + State(),
                         "--trainer=fake=/bin/false", "--log-level=off"});
  EXPECT_EQ(refused.Wait(), 1);
}

}  // namespace
}  // namespace noisefloor
