// A real worker whose trainers are forked by a server.
#include <signal.h>

#include <fstream>
#include <sstream>

#include "tests/worker/daemon/daemon_fixture.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;

class DaemonForksTest : public DaemonTest {
 protected:
  DaemonForksTest() { setenv("NOISEFLOOR_FAKE_FORKS", "serve", 1); }
  ~DaemonForksTest() override { unsetenv("NOISEFLOOR_FAKE_FORKS"); }

  // Trains one more member; the first line of its log.
  std::string Train(const std::string& behaviour = "") {
    Start(Member(++lease_, behaviour));
    const v1::AttemptFinished finished = Finished();
    EXPECT_EQ(finished.lease_id(), lease_);
    EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DONE) << finished.outcome().message();
    hashes_.insert(finished.outcome().hashes().at("logits"));
    const std::string log = coordinator_.uploads()["log"];
    return log.substr(0, log.find('\n'));
  }
  // Starts one more member; returns once it has said hello.
  void StartAndHear(const std::string& behaviour) { StartAndHear(Member(++lease_, behaviour)); }
  void StartAndHear(const v1::StartMember& start) {
    Start(start);
    while (const auto started = coordinator_.Wait(Case::kStarted)) {
      if (started->started().lease_id() == lease_) return;
    }
    FAIL() << "lease " << lease_ << " does not start";
  }
  // Trains members until one is forked: the server loads while others train.
  bool TrainsUntilOneIsForked() {
    for (int i = 0; i < 1000; ++i) {
      if (Train().ends_with(", forked")) return true;
    }
    return false;
  }
  pid_t Server() const {
    for (const int process : FindLeftovers(std::filesystem::weakly_canonical(State()).string())) {
      // Members come from the same command line; only the server has a socket for its input.
      std::error_code error;
      const auto input =
          std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/fd/0", error);
      if (input.string().starts_with("socket:")) return process;
    }
    return -1;
  }
  // Ends the server, which does not run any more when this returns.
  void EndServer() const {
    const pid_t server = Server();
    ASSERT_GT(server, 0);
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, server, 0));
    ASSERT_GE(pidfd, 0);
    ASSERT_EQ(kill(server, SIGKILL), 0);
    pollfd wait = {pidfd, POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 60000), 1);
    close(pidfd);
  }
  std::string DaemonLog() const {
    std::ifstream file(log_);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  uint64_t lease_ = 0;
  std::set<std::string> hashes_;
};

TEST_F(DaemonForksTest, OnceItsServerIsThereEveryMemberIsForked) {
  StartDaemon();
  (void)Registered();
  EXPECT_THAT(Train(), testing::Not(HasSubstr("forked"))) << "there is no server yet";
  ASSERT_TRUE(TrainsUntilOneIsForked());
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Train(), HasSubstr(", forked"));
  EXPECT_EQ(hashes_.size(), 1u) << "a forked member has the bits of a started one";
  EXPECT_TRUE(BecomesIdle());
}

TEST_F(DaemonForksTest, AKilledServerIsNamedOnceAndReplacedAndNoMemberIsLost) {
  log_ = folder_ + "/daemon.log";
  StartDaemon();
  (void)Registered();
  ASSERT_TRUE(TrainsUntilOneIsForked());
  StartAndHear("wait");
  const pid_t server = Server();
  ASSERT_GT(server, 0);
  ASSERT_EQ(kill(server, SIGKILL), 0);
  Stop(lease_);
  EXPECT_TRUE(BecomesIdle());

  ASSERT_TRUE(TrainsUntilOneIsForked());
  EXPECT_NE(Server(), server);
  EXPECT_THAT(DaemonLog(), HasSubstr("fork_server_lost"));
  EXPECT_THAT(DaemonLog(), HasSubstr("--serve-forks: it has ended"));
  EXPECT_EQ(hashes_.size(), 1u);
}

// Its loss is found where the next member's server is asked for, not where one is to be forked.
TEST_F(DaemonForksTest, AServerThatIsLostWhileAMemberTrainsIsNamedToo) {
  log_ = folder_ + "/daemon.log";
  StartDaemon();
  (void)Registered();
  ASSERT_TRUE(TrainsUntilOneIsForked());
  const std::string gate = MakeGate();
  // Its only epoch is behind the gate, and with it the moment when the next one is prepared.
  StartAndHear(With(Member(++lease_, "gate:" + gate),
                    [](Specification& specification) { specification.train.epochs = 1; }));
  EndServer();
  OpenGate(gate);
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);

  EXPECT_THAT(DaemonLog(), HasSubstr("fork_server_lost"));
  EXPECT_THAT(DaemonLog(), HasSubstr("--serve-forks: it has ended"));
  EXPECT_TRUE(TrainsUntilOneIsForked()) << "another takes its place";
}

// Three in a row are too many; these have forked in between.
TEST_F(DaemonForksTest, ServersThatAreLostNowAndThenAreReplacedEachTime) {
  log_ = folder_ + "/daemon.log";
  StartDaemon();
  (void)Registered();
  for (int lost = 0; lost < 4; ++lost) {
    ASSERT_TRUE(TrainsUntilOneIsForked()) << "after " << lost;
    EndServer();
  }
}

TEST_F(DaemonForksTest, AServerThatRefusesIsGivenUpAndMembersAreStartedAfresh) {
  setenv("NOISEFLOOR_FAKE_FORKS", "thread", 1);
  log_ = folder_ + "/daemon.log";
  StartDaemon();
  (void)Registered();
  const auto refusals = [&] {
    size_t count = 0;
    const std::string log = DaemonLog();
    for (size_t at = log.find("fork_server_lost"); at != std::string::npos;
         at = log.find("fork_server_lost", at + 1)) {
      ++count;
    }
    return count;
  };
  for (int i = 0; i < 1000 && refusals() == 0; ++i) {
    EXPECT_THAT(Train(), testing::Not(HasSubstr("forked")));
  }
  EXPECT_THAT(DaemonLog(), HasSubstr("it refused: it has 2 threads; expected 1"));
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Train(), testing::Not(HasSubstr("forked")));
  EXPECT_EQ(refusals(), 1u) << "it is said once, and not tried again";
  EXPECT_EQ(Server(), -1);
  EXPECT_EQ(hashes_.size(), 1u);
}

TEST_F(DaemonForksTest, AKilledDaemonTakesItsServerAndItsForksAlong) {
  StartDaemon();
  (void)Registered();
  ASSERT_TRUE(TrainsUntilOneIsForked());
  StartAndHear("hang");
  ASSERT_TRUE(daemon_->Signal(SIGKILL));
  EXPECT_EQ(daemon_->Wait(), -1);
  ExpectNobodyIsLeft();
}

TEST_F(DaemonForksTest, ADrainingWorkerEndsItsServersWhileMembersTrain) {
  StartDaemon();
  (void)Registered();
  ASSERT_TRUE(TrainsUntilOneIsForked());
  const std::string gate = MakeGate();
  StartAndHear("gate:" + gate);
  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  EXPECT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  OpenGate(gate);
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(daemon_->Wait(), 0);
}

TEST_F(DaemonForksTest, WithoutStandbysEveryMemberIsStarted) {
  StartDaemon({"--no-standby"});
  (void)Registered();
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Train(), testing::Not(HasSubstr("forked")));
  EXPECT_EQ(Server(), -1);
}

}  // namespace
}  // namespace noisefloor
