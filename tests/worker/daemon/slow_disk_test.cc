// A whole worker in this process, whose spool lies on a disk that stands still when it is told to,
// and whose clock leaps.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/json.h"
#include "tests/support/clock_ahead.h"
#include "tests/support/forwarding_disk.h"
#include "tests/support/mini_coordinator.h"
#include "worker/daemon/state_directory.h"
#include "worker/daemon/worker.h"

namespace noisefloor {
namespace {

using Case = v1::SessionRequest::MessageCase;

// The machine's own, whose syncs of folders wait while it stands.
class StandingDisk final : public ForwardingDisk {
 public:
  void Stand(bool stands) {
    MutexLock lock(mutex_);
    stands_ = stands;
    changed_.NotifyAll();
  }
  // Somebody waits for it.
  void WaitForSomebody() {
    MutexLock lock(mutex_);
    while (waiting_ == 0) changed_.Wait(mutex_);
  }

  absl::Status SyncFolder(const std::string& path) override {
    {
      MutexLock lock(mutex_);
      ++waiting_;
      changed_.NotifyAll();
      while (stands_) changed_.Wait(mutex_);
      --waiting_;
    }
    return ForwardingDisk::SyncFolder(path);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool stands_ ABSL_GUARDED_BY(mutex_) = false;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

class SlowDiskTest : public testing::Test {
 protected:
  SlowDiskTest() {
    std::string pattern = testing::TempDir() + "nf-slow-disk-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    auto state = StateDirectory::Open(folder_ + "/state", [] { return false; });
    EXPECT_TRUE(state.ok()) << state.status();
    state_ = std::make_unique<StateDirectory>(*std::move(state));
    WorkerSettings settings;
    settings.name = "box";
    settings.options.coordinator = coordinator_.place();
    settings.options.spool_limit_bytes = 1 << 20;
    settings.options.standby = settings.options.use_cache = false;
    settings.options.give_up_after = absl::Hours(1);
    worker_ = std::make_unique<Worker>(settings, *state_, clock_, disk_);
    runs_ = std::thread([this] { (void)worker_->Run(); });
    EXPECT_TRUE(coordinator_.Wait(Case::kRegister).has_value());
  }
  ~SlowDiskTest() override {
    disk_.Stand(false);
    worker_->Stop();
    worker_->Stop();
    coordinator_.Set({.heartbeat_interval_ms = 20});  // It settles what comes again.
    runs_.join();
    worker_.reset();
    state_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Of a stack that the worker has not: what it says of it is spooled all the same.
  void Start(uint64_t lease) {
    Specification specification;
    specification.stack = "of another";
    v1::SessionResponse message;
    v1::StartMember& start = *message.mutable_start();
    start.set_lease_id(lease);
    start.set_member("s1c0r" + std::to_string(lease));
    start.set_attempt(1);
    start.set_specification(SpecificationToJson(specification));
    start.set_specification_sha256(Sha256Hex(start.specification()));
    ASSERT_TRUE(coordinator_.Send(message));
  }

  MiniCoordinator coordinator_{{.heartbeat_interval_ms = 20, .settles = false}};
  ClockAhead clock_;
  StandingDisk disk_;
  std::string folder_;
  std::unique_ptr<StateDirectory> state_;
  std::unique_ptr<Worker> worker_;
  std::thread runs_;
};

TEST_F(SlowDiskTest, AWorkerThatWaitsForItsDiskSaysWhatItHolds) {
  Start(7);
  ASSERT_TRUE(coordinator_.Wait(Case::kFinished).has_value());
  disk_.Stand(true);
  Start(8);
  disk_.WaitForSomebody();

  for (int beat = 0; beat < 5; ++beat) {
    const auto heartbeat = coordinator_.NextHeartbeat();
    ASSERT_TRUE(heartbeat.has_value()) << "the heartbeat waits for the disk";
    ASSERT_EQ(heartbeat->held_size(), 1);
    EXPECT_EQ(heartbeat->held(0).lease_id(), 7u);
  }
  // What is not settled is told again.
  while (coordinator_.Waiting(Case::kFinished) > 0) {
    const auto again = coordinator_.Wait(Case::kFinished);
    EXPECT_EQ(again->finished().lease_id(), 7u) << "the disk was not waited for";
  }

  disk_.Stand(false);
  for (bool both = false; !both;) {
    const auto heartbeat = coordinator_.NextHeartbeat();
    ASSERT_TRUE(heartbeat.has_value());
    both = heartbeat->held_size() == 2;
  }
}

// From when it was lost, not from the worker's start.
TEST_F(SlowDiskTest, ACoordinatorThatIsLostIsWaitedForHoweverLongItWasThere) {
  ASSERT_TRUE(coordinator_.NextHeartbeat().has_value());
  clock_.Advance(absl::Hours(2));
  ASSERT_TRUE(coordinator_.NextHeartbeat().has_value());

  coordinator_.DropSession();

  EXPECT_TRUE(coordinator_.Wait(Case::kRegister).has_value()) << "the worker has given up";
}

}  // namespace
}  // namespace noisefloor
