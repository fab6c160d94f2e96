// A worker whose machine does not have the data: they come before the trainer starts, and the
// member waits for them without losing an attempt.
#include <fstream>
#include <iterator>

#include "tests/worker/daemon/daemon_fixture.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;

class DaemonDataTest : public DaemonTest {
 protected:
  DaemonDataTest() { coordinator_.OfferData("mnist", {{"mnist/a", a_}, {"mnist/b", "b"}}); }

  // Of a data set that this machine does not have.
  v1::StartMember Lacking(uint64_t lease, const std::string& behaviour = "") const {
    return With(Member(lease, behaviour),
                [](Specification& specification) { specification.data.name = "mnist"; });
  }
  std::string Log() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Waits for a heartbeat that holds the lease.
  bool IsHeld(uint64_t lease) {
    for (int i = 0; i < 1000; ++i) {
      const auto beat = coordinator_.NextHeartbeat();
      if (!beat) return false;
      if (beat->held_size() == 1 && beat->held(0).lease_id() == lease) return true;
    }
    return false;
  }

  const std::string a_ = std::string(4000, 'a');
};

TEST_F(DaemonDataTest, TheyComeBeforeItsTrainerStarts) {
  StartDaemon();
  (void)Registered();
  coordinator_.LetThrough(1500);
  Start(Lacking(7));
  ASSERT_TRUE(coordinator_.WaitForBytesSent(1500));
  EXPECT_TRUE(IsHeld(7)) << "its lease is renewed while it waits";
  EXPECT_EQ(coordinator_.Waiting(Case::kStarted), 0);
  coordinator_.LetThrough(100000);

  const v1::AttemptFinished finished = Finished();

  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DONE) << finished.outcome().message();
  const std::string log = coordinator_.uploads().at("log");
  const size_t root = log.find("data root " + State() + "/cache/trees/");
  ASSERT_NE(root, std::string::npos) << log;
  EXPECT_TRUE(BecomesIdle());

  Start(Lacking(8));
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(coordinator_.bytes_sent(), 4001u) << "they were there";
}

TEST_F(DaemonDataTest, DataThatAreHereAreNotFetched) {
  StartDaemon();
  (void)Registered();
  coordinator_.OfferData("fashion-mnist-sample", {{"fashion-mnist-sample/a", "x"}});
  Start(Member(7));
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(coordinator_.bytes_sent(), 0u);
}

TEST_F(DaemonDataTest, AWorkerThatIsKilledGoesOnWhereItWas) {
  StartDaemon();
  (void)Registered();
  coordinator_.LetThrough(3000);
  Start(Lacking(7));
  ASSERT_TRUE(coordinator_.WaitForBytesSent(3000));
  const std::string part = State() + "/cache/trees";
  uint64_t here = 0;
  while (here < 3000) {  // It has them on disk, too.
    here = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(part)) {
      if (entry.is_regular_file()) here += entry.file_size();
    }
    (void)coordinator_.NextHeartbeat();
  }

  ASSERT_TRUE(daemon_->Signal(SIGKILL));
  daemon_.reset();
  StartDaemon();
  EXPECT_EQ(Registered().held_size(), 0) << "nothing had begun";
  Start(Lacking(8));
  coordinator_.LetThrough(100000);

  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(coordinator_.bytes_sent(), 4001u);
}

TEST_F(DaemonDataTest, WhatNobodyHasIsSaidWithAllPlacesThatWereLookedAt) {
  StartDaemon();
  (void)Registered();
  Start(With(Member(7), [](Specification& specification) { specification.data.name = "cifar10"; }));

  const v1::AttemptFinished finished = Finished();

  EXPECT_EQ(finished.outcome().cause(), "bad_data");
  const std::string& message = finished.outcome().message();
  EXPECT_THAT(message,
              HasSubstr("this worker has no folder cifar-10-batches-bin in " + folder_ + "/data"));
  EXPECT_THAT(message, HasSubstr("nor is it in the cache " + State() + "/cache"));
  EXPECT_THAT(message, HasSubstr("from the coordinator: the coordinator has no cifar10"));
}

// Ten attempts, and a rest after each third, would not make it smaller.
TEST_F(DaemonDataTest, WhatIsLargerThanTheCacheMayBeIsNotTriedAgainHere) {
  coordinator_.OfferData("mnist", {{"mnist/a", std::string(2 << 20, 'a')}});
  StartDaemon({"--cache-limit=1"});
  (void)Registered();
  Start(Lacking(7));

  const v1::AttemptFinished finished = Finished();

  EXPECT_EQ(finished.outcome().cause(), "bad_data");
  EXPECT_THAT(finished.outcome().message(), HasSubstr("it has 2097152 bytes, and the cache "));
  EXPECT_EQ(coordinator_.bytes_sent(), 0u);
}

TEST_F(DaemonDataTest, WithoutACacheNothingIsFetched) {
  StartDaemon({"--no-cache"});
  (void)Registered();
  Start(Lacking(7));
  EXPECT_EQ(Finished().outcome().cause(), "bad_data");
  EXPECT_EQ(coordinator_.bytes_sent(), 0u);
}

// Keeps the request that it gets, and fails.
TEST_F(DaemonDataTest, ASetThatOnlyItsTrainerKnowsMayComeAndMayBeDoneWithout) {
  trainer_ = folder_ + "/keeper";
  const std::string kept = folder_ + "/request";
  std::ofstream(trainer_) << "#!/bin/sh\n[ $# -gt 0 ] && exec " FAKE_TRAINER " \"$@\"\ncat > "
                          << kept << "\nexit 15\n";
  std::filesystem::permissions(trainer_, std::filesystem::perms::owner_all);
  const auto request = [&] {
    std::ifstream file(kept);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto of = [this](uint64_t lease, const std::string& name) {
    return With(Member(lease),
                [&](Specification& specification) { specification.data.name = name; });
  };
  StartDaemon();
  (void)Registered();
  Start(of(7, "made-up"));
  EXPECT_EQ(Finished().outcome().cause(), "bug");
  EXPECT_THAT(request(), HasSubstr("\"data_root\":\"" + folder_ + "/data")) << "it may make it";

  coordinator_.OfferData("made-up", {{"made-up/a", "x"}});
  Start(of(8, "made-up"));
  EXPECT_EQ(Finished().outcome().cause(), "bug");
  EXPECT_THAT(request(), HasSubstr("\"data_root\":\"" + State() + "/cache/trees/"));
  EXPECT_THAT(request(), HasSubstr(":" + folder_ + "/data"));
}

TEST_F(DaemonDataTest, AStoppedMemberDoesNotWaitAnyLonger) {
  StartDaemon();
  (void)Registered();
  coordinator_.LetThrough(1000);
  Start(Lacking(7));
  ASSERT_TRUE(coordinator_.WaitForBytesSent(1000));

  Stop(7);

  EXPECT_TRUE(BecomesIdle());
  EXPECT_EQ(coordinator_.Waiting(Case::kFinished), 0);
  Start(Member(8));
  EXPECT_EQ(Finished().lease_id(), 8u) << "its slot is free";
}

TEST_F(DaemonDataTest, AWorkerInAHurryReportsWhatWaitedAsInterrupted) {
  StartDaemon();
  (void)Registered();
  coordinator_.LetThrough(1000);
  Start(Lacking(7));
  ASSERT_TRUE(coordinator_.WaitForBytesSent(1000));

  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  ASSERT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
  ASSERT_TRUE(daemon_->Signal(SIGTERM));

  EXPECT_EQ(Finished().outcome().cause(), "interrupted");
  EXPECT_EQ(daemon_->Wait(), 0);
}

class DaemonCopyTest : public DaemonTest {
 protected:
  DaemonCopyTest() {
    std::filesystem::create_directories(Shared() + "/bin");
    std::filesystem::copy_file(FAKE_TRAINER, Shared() + "/bin/trainer");
    trainer_ = Shared() + "/bin/trainer";
  }
  std::string Shared() const { return folder_ + "/shared"; }
};

TEST_F(DaemonCopyTest, ATrainerRunsFromItsCopyAndIsTheSameStack) {
  StartDaemon();
  const v1::Offer original = Registered().inventory().offers(0);
  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  EXPECT_EQ(daemon_->Wait(), 0);

  StartDaemon({"--copy-stacks=" + Shared()});
  const v1::Offer copied = Registered().inventory().offers(0);
  std::filesystem::remove_all(Shared());
  Start(Member(7));

  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(copied.stack(), original.stack());
  EXPECT_EQ(copied.fingerprint(), original.fingerprint());
  EXPECT_EQ(copied.build(), original.build());
}

TEST_F(DaemonCopyTest, WithoutRoomForACopyItRunsFromWhereItLies) {
  std::ofstream(Shared() + "/libtorch.so") << std::string(3 << 20, 'x');
  log_ = folder_ + "/log";
  StartDaemon({"--copy-stacks=" + Shared(), "--cache-limit=2"});
  (void)Registered();
  Start(Member(7));

  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  std::ifstream log(log_);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(log), {}), HasSubstr("stacks_not_copied"));
}

// Members that evaluate weights: these come after the data, before the trainer starts.
class DaemonWeightsTest : public DaemonDataTest {
 protected:
  DaemonWeightsTest() { setenv("NOISEFLOOR_FAKE_INFERS", "1", 1); }
  ~DaemonWeightsTest() override { unsetenv("NOISEFLOOR_FAKE_INFERS"); }

  static v1::StartMember Given(v1::StartMember start, const std::string& content) {
    start.set_weights_sha256(Sha256Hex(content));
    return start;
  }
};

TEST_F(DaemonWeightsTest, TheyAreBroughtOnceAndNamedInTheRequest) {
  coordinator_.OfferWeights("my weights");
  StartDaemon();
  const v1::Register registered = Registered();
  ASSERT_GT(registered.inventory().offers_size(), 0);
  EXPECT_TRUE(registered.inventory().offers(0).infers());
  Start(Given(Lacking(7), "my weights"));

  v1::AttemptFinished finished = Finished();

  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_DONE) << finished.outcome().message();
  const std::string log = coordinator_.uploads().at("log");
  EXPECT_THAT(log, HasSubstr("data root " + State() + "/cache/trees/"));
  EXPECT_THAT(log, HasSubstr("weights " + State() + "/cache/trees/"));
  EXPECT_THAT(log, HasSubstr("/weights.safetensors " + Sha256Hex("my weights") + "\n"));
  const uint64_t sent = coordinator_.bytes_sent();
  EXPECT_EQ(sent, 4001u + 10u);
  EXPECT_TRUE(BecomesIdle());
  Start(Given(Member(8), "my weights"));
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(coordinator_.bytes_sent(), sent) << "they were there";
  EXPECT_TRUE(BecomesIdle());
  Start(Member(9));
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  EXPECT_THAT(coordinator_.uploads().at("log"), testing::Not(HasSubstr("weights ")))
      << "this one trains";
}

TEST_F(DaemonWeightsTest, WhatTheCoordinatorDoesNotHaveIsNotTriedAgain) {
  StartDaemon();
  (void)Registered();
  Start(Given(Member(7), "gone"));

  const v1::AttemptFinished finished = Finished();

  EXPECT_EQ(finished.outcome().cause(), "bad_specification");
  EXPECT_THAT(finished.outcome().message(),
              HasSubstr("weights " + Sha256Hex("gone") + ": not in the cache " + State() +
                        "/cache; from the coordinator: the coordinator has no "));
}

// A worker with a larger cache may take the member.
TEST_F(DaemonWeightsTest, WhatIsLargerThanThisCacheIsTriedElsewhere) {
  const std::string large(2 << 20, 'w');
  coordinator_.OfferWeights(large);
  StartDaemon({"--cache-limit=1"});
  (void)Registered();
  Start(Given(Member(7), large));

  const v1::AttemptFinished finished = Finished();

  EXPECT_EQ(finished.outcome().cause(), "lost_device");
  EXPECT_THAT(finished.outcome().message(), HasSubstr("it has 2097152 bytes, and the cache "));
  EXPECT_EQ(coordinator_.bytes_sent(), 0u);
}

TEST_F(DaemonWeightsTest, WithoutACacheNoTrainerInfers) {
  StartDaemon({"--no-cache"});
  const v1::Register registered = Registered();
  ASSERT_GT(registered.inventory().offers_size(), 0);
  EXPECT_FALSE(registered.inventory().offers(0).infers());
  Start(Given(Member(7), "mine"));
  EXPECT_EQ(Finished().outcome().cause(), "bad_data") << "it never trains in their place";
}

class DaemonFetchTest : public DaemonTest {
 protected:
  DaemonFetchTest() {
    trainer_.clear();
    log_ = folder_ + "/log";
    coordinator_.OfferStack("fake", {{"bin/library", std::string(5000, 'l')}, {"bin/t", kScript}});
  }
  std::string Log() const {
    std::ifstream log(log_);
    return {std::istreambuf_iterator<char>(log), {}};
  }
  static inline const std::string kScript = "#!/bin/sh\nexec " FAKE_TRAINER " \"$@\"\n";
};

TEST_F(DaemonFetchTest, AStackOfTheCoordinatorIsBroughtOnceAndItsTrainerRuns) {
  StartDaemon({"--fetch-stack=fake=bin/t"});
  EXPECT_EQ(Registered().inventory().offers(0).stack(), "fake");
  Start(Member(7));
  EXPECT_EQ(Finished().outcome().kind(), v1::Outcome::KIND_DONE);
  const uint64_t whole = 5000 + kScript.size();
  EXPECT_EQ(coordinator_.bytes_sent(), whole);
  ASSERT_TRUE(daemon_->Signal(SIGTERM));
  EXPECT_EQ(daemon_->Wait(), 0);

  StartDaemon({"--fetch-stack=fake=bin/t"});
  (void)Registered();
  EXPECT_EQ(coordinator_.bytes_sent(), whole) << "it was there";
}

TEST_F(DaemonFetchTest, AWorkerThatIsKilledGoesOnWhereItWas) {
  coordinator_.LetThrough(2000);
  StartDaemon({"--fetch-stack=fake=bin/t"});
  ASSERT_TRUE(coordinator_.WaitForBytesSent(2000));
  ASSERT_TRUE(daemon_->Signal(SIGKILL));
  daemon_.reset();
  coordinator_.LetThrough(100000);
  StartDaemon({"--fetch-stack=fake=bin/t"});
  EXPECT_EQ(Registered().inventory().offers(0).stack(), "fake");
  EXPECT_LT(coordinator_.bytes_sent(), 2 * (5000 + kScript.size()));
}

TEST_F(DaemonFetchTest, WhatIsNotThereOrHasNoSuchProgramIsRefusedWithItsName) {
  StartDaemon({"--fetch-stack=torch-2.7"});
  EXPECT_EQ(daemon_->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr("--fetch-stack=torch-2.7: the coordinator has no torch-2.7"));
  StartDaemon({"--fetch-stack=fake"});
  EXPECT_EQ(daemon_->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr("that stack has no program libexec/noisefloor-trainer; expected "
                               "--fetch-stack=fake=PROGRAM"));
  coordinator_.OfferStack("other", {{"t", kScript}});
  StartDaemon({"--fetch-stack=other=t"});
  EXPECT_EQ(daemon_->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr("it says that its stack is 'fake'"));
}

}  // namespace
}  // namespace noisefloor
