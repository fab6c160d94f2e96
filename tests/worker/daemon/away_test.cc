// A whole worker in this process with the fake trainer, whose coordinator goes and whose clock
// leaps.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

#include "common/files/sha256.h"
#include "common/trainer_protocol/json.h"
#include "tests/support/clock_ahead.h"
#include "tests/support/mini_coordinator.h"
#include "worker/daemon/probe.h"
#include "worker/daemon/state_directory.h"
#include "worker/daemon/worker.h"
#include "worker/devices/host.h"

namespace noisefloor {
namespace {

using Case = v1::SessionRequest::MessageCase;

constexpr uint32_t kForLongMs = 4'000'000'000;

class AwayTest : public testing::Test {
 protected:
  AwayTest() {
    std::string pattern = testing::TempDir() + "nf-away-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ + "/data/fashion-mnist-sample");
    auto state = StateDirectory::Open(folder_ + "/state", [] { return false; });
    EXPECT_TRUE(state.ok()) << state.status();
    state_ = std::make_unique<StateDirectory>(*std::move(state));
    worker_ = std::make_unique<Worker>(Settings(), *state_, clock_);
    runs_ = std::thread([this] { (void)worker_->Run(); });
    EXPECT_TRUE(coordinator_.Wait(Case::kRegister).has_value());
  }
  ~AwayTest() override {
    worker_->Stop();
    worker_->Stop();
    coordinator_.Set({});
    runs_.join();
    worker_.reset();
    state_.reset();
    std::filesystem::remove_all(folder_);
  }

  // One slot, whose trainer is the fake one.
  WorkerSettings Settings() {
    WorkerSettings settings;
    settings.name = "box";
    settings.options.coordinator = coordinator_.place();
    settings.options.spool_limit_bytes = 1 << 20;
    settings.options.standby = settings.options.use_cache = false;
    settings.options.give_up_after = absl::Hours(1);
    settings.leaves_at = clock_.Steady() + absl::Hours(100);
    settings.offer.stacks = FindStacks({{"fake", {FAKE_TRAINER}}}).value();
    settings.offer.data_roots = {folder_ + "/data"};
    Host host;
    host.name = "box";
    host.cpu = {"amd", "EPYC", {"sse2", "sse4_1", "sse4_2"}};
    host.cores = {0};
    host.cores_are_shared = true;
    ProbedSlots probed =
        Probe(host, LayOut(host, ChooseClasses(host, {}).value(), {.cpu_slots = 1}),
              settings.offer.stacks);
    settings.offer.inventory = std::move(probed.inventory);
    settings.slots = std::move(probed.slots);
    return settings;
  }
  // Trains for long; what its trainer says wakes the worker.
  void Start(uint64_t lease) {
    Specification specification;
    specification.sources.poke_parameter = "ms:20";
    specification.train.epochs = specification.evaluate.every_epochs = 20000;
    specification.hardware_class = "cpu-amd-sse";
    specification.stack = "fake";
    v1::SessionResponse message;
    v1::StartMember& start = *message.mutable_start();
    start.set_lease_id(lease);
    start.set_member("s1c0r" + std::to_string(lease));
    start.set_attempt(1);
    start.set_specification(SpecificationToJson(specification));
    start.set_specification_sha256(Sha256Hex(start.specification()));
    ASSERT_TRUE(coordinator_.Send(message));
  }

  MiniCoordinator coordinator_{{.lease_ttl_ms = kForLongMs}};
  ClockAhead clock_;
  std::string folder_;
  std::unique_ptr<StateDirectory> state_;
  std::unique_ptr<Worker> worker_;
  std::thread runs_;
};

// What it trains has a lease for as long.
TEST_F(AwayTest, WhileAMemberTrainsACoordinatorIsNotGivenUp) {
  Start(7);
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());
  const int before = coordinator_.session_tries();
  coordinator_.Set({.takes_sessions = false});
  coordinator_.DropSession();
  ASSERT_TRUE(coordinator_.WaitForSessionTries(before + 1)) << "it has noticed";

  clock_.Advance(absl::Hours(2));
  ASSERT_TRUE(coordinator_.WaitForSessionTries(before + 2));

  coordinator_.Set({.lease_ttl_ms = kForLongMs});
  clock_.Advance(absl::Minutes(1));
  const auto again = coordinator_.Wait(Case::kRegister);
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->register_().held_size(), 1);
  EXPECT_EQ(again->register_().held(0).lease_id(), 7u);
}

// Its program has begun before it, and what it is to have ready may have taken hours.
TEST_F(AwayTest, WhenItLeavesIsCountedFromTheStartOfItsProgram) {
  Start(7);
  ASSERT_TRUE(coordinator_.Wait(Case::kStarted).has_value());

  clock_.Advance(absl::Hours(100));

  EXPECT_TRUE(coordinator_.Wait(Case::kDraining).has_value());
}

// The worker would wake for it all the time while it waits for its trainer.
TEST(GiveUpAtTest, WhileAMemberTrainsThereIsNoSuchTime) {
  const absl::Duration since = absl::Seconds(5);
  EXPECT_EQ(GiveUpAt(since, absl::Minutes(1), /*trains=*/false), absl::Seconds(65));
  EXPECT_EQ(GiveUpAt(since, absl::Minutes(1), /*trains=*/true), absl::InfiniteDuration());
  EXPECT_EQ(GiveUpAt(since, absl::InfiniteDuration(), /*trains=*/false), absl::InfiniteDuration());
}

TEST(NextWordTest, SilenceDoublesUpToTenMinutes) {
  EXPECT_EQ(NextWord(absl::Seconds(3)), absl::Seconds(6));
  EXPECT_EQ(NextWord(absl::Minutes(10)), absl::Minutes(20));
  EXPECT_EQ(NextWord(absl::Hours(5)), absl::Hours(5) + absl::Minutes(10));
}

}  // namespace
}  // namespace noisefloor
