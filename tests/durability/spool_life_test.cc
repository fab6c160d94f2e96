// Attempts in a worker's spool, on a disk that fails or loses power at every operation.
//
// Promised is a result for which Finish, or Recover of a later process, answered: it comes back
// with all its records until it is removed. What comes back is whole, and an attempt that was
// removed never comes back as one that was cut off.
#include <cerrno>
#include <map>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/directory.h"
#include "tests/durability/seeds.h"
#include "tests/support/model_disk.h"
#include "worker/daemon/spool.h"

namespace noisefloor {
namespace {

using Survival = ModelDisk::Survival;

const std::string kSpool = "/state/spool";
constexpr uint64_t kLimitBytes = 1 << 20;
constexpr uint64_t kLines = 3;

std::string LineOf(LeaseId lease, uint64_t sequence) {
  return "lease " + std::to_string(lease.value) + " batch " + std::to_string(sequence) +
         std::string(600, '.');
}

AttemptResult ResultOf(LeaseId lease) {
  AttemptResult result;
  result.outcome.kind = Outcome::Kind::kDone;
  result.outcome.message = "of lease " + std::to_string(lease.value);
  return result;
}

// What a worker may count on.
struct Promises {
  std::set<LeaseId> begun;
  std::set<LeaseId> finished;
  std::set<LeaseId> removed;  // Or under way to it.
};

class SpoolLifeTest : public testing::Test {
 protected:
  SpoolLifeTest() {
    EXPECT_TRUE(CreateDirectories("/state", empty_).ok());
    ModelDisk disk = empty_;
    Live(disk);
    calm_ = disk.operations() - empty_.operations();
  }

  // Lease 1 is trained and settled; 2 is finished and waits; 3 is under way. What fails is left
  // out, as the daemon does.
  static Promises Live(ModelDisk& disk) {
    Promises promises;
    Spool spool(kSpool, kLimitBytes, disk);
    if (!spool.Recover().ok()) return promises;
    for (const LeaseId lease : {LeaseId{1}, LeaseId{2}, LeaseId{3}}) {
      if (!spool.Begin(lease, "s1c0r" + std::to_string(lease.value), 1).ok()) continue;
      promises.begun.insert(lease);
      if (lease == LeaseId{3}) {
        (void)spool.AppendRecords(lease, 1, LineOf(lease, 1));
        continue;
      }
      if (Trained(spool, lease)) promises.finished.insert(lease);
      if (lease != LeaseId{1}) continue;
      promises.removed.insert(lease);
      spool.Remove(lease);
    }
    return promises;
  }

  static bool Trained(Spool& spool, LeaseId lease) {
    for (uint64_t sequence = 1; sequence <= kLines; ++sequence) {
      if (!spool.AppendRecords(lease, sequence, LineOf(lease, sequence)).ok()) return false;
    }
    return spool.Finish(lease, ResultOf(lease)).ok();
  }

  // Opens what is left and compares it with what was promised. Then lives on.
  void Check(ModelDisk disk, const Promises& promises) {
    Spool spool(kSpool, kLimitBytes, disk);
    const auto found = spool.Recover();
    ASSERT_TRUE(found.ok()) << found.status();
    std::set<LeaseId> there;
    for (const SpooledAttempt& attempt : found->attempts) {
      there.insert(attempt.lease);
      CheckWhole(spool, attempt);
      if (promises.removed.contains(attempt.lease) && promises.finished.contains(attempt.lease)) {
        EXPECT_TRUE(attempt.result.has_value()) << "half removed";
      }
    }
    for (const LeaseId lease : promises.finished) {
      if (promises.removed.contains(lease)) continue;
      EXPECT_TRUE(there.contains(lease)) << "the result of lease " << lease.value << " is lost";
    }
    for (const SpoolLoss& loss : found->losses) {
      EXPECT_TRUE(loss.removed) << loss.why;
      EXPECT_EQ(loss.why.code(), absl::StatusCode::kNotFound)
          << "damaged, not absent: " << loss.why;
    }
    EXPECT_TRUE(spool.Begin(LeaseId{9}, "s1c0r9", 1).ok());
    EXPECT_TRUE(Trained(spool, LeaseId{9}));
  }

  static void CheckWhole(const Spool& spool, const SpooledAttempt& attempt) {
    EXPECT_EQ(attempt.member, "s1c0r" + std::to_string(attempt.lease.value));
    const uint64_t batches = spool.Batches(attempt.lease);
    if (attempt.result) {
      EXPECT_EQ(attempt.result->outcome.message, ResultOf(attempt.lease).outcome.message);
      EXPECT_EQ(batches, kLines);
    }
    for (uint64_t sequence = 1; attempt.result && sequence <= batches; ++sequence) {
      EXPECT_EQ(spool.ReadRecords(attempt.lease, sequence).value(),
                LineOf(attempt.lease, sequence));
    }
  }

  ModelDisk empty_;   // With a folder for the worker's state.
  int64_t calm_ = 0;  // Operations of a whole life.
};

TEST_F(SpoolLifeTest, PowerGoesAtEveryOperation) {
  for (int64_t i = 0; i <= calm_; ++i) {
    ModelDisk disk = empty_;
    disk.LosePowerAt(empty_.operations() + i);
    const Promises promises = Live(disk);
    SCOPED_TRACE(disk.history().back() + ", operation " + std::to_string(i));
    Check(disk.AfterPowerLoss(Survival::kNothing), promises);
    Check(disk.AfterPowerLoss(Survival::kEverything), promises);
    for (uint64_t seed = 0; seed < 20 * PowerSeeds(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Check(disk.AfterPowerLoss(Survival::kSome, seed), promises);
    }
    if (HasFailure()) return;
  }
}

TEST_F(SpoolLifeTest, AWorkerIsKilledAtEveryOperationAndPowerGoesAfterTheNextHasRecovered) {
  for (int64_t i = 0; i <= calm_; ++i) {
    ModelDisk disk = empty_;
    disk.LosePowerAt(empty_.operations() + i);
    Promises promises = Live(disk);
    SCOPED_TRACE(disk.history().back() + ", operation " + std::to_string(i));
    ModelDisk next = disk.AfterKill();
    Check(next, promises);
    {
      Spool spool(kSpool, kLimitBytes, next);
      const auto found = spool.Recover();
      ASSERT_TRUE(found.ok()) << found.status();
      for (const SpooledAttempt& attempt : found->attempts) {
        if (attempt.result) promises.finished.insert(attempt.lease);
      }
    }
    Check(next.AfterPowerLoss(Survival::kNothing), promises);
    if (HasFailure()) return;
  }
}

TEST_F(SpoolLifeTest, EveryOperationFailsOnceOrForGoodAndPowerGoesAtTheEnd) {
  for (const int error : {EIO, ENOSPC}) {
    for (int64_t i = 0; i < 2 * calm_; ++i) {
      ModelDisk disk = empty_;
      disk.FailAt(empty_.operations() + i / 2, error, /*lasting=*/i % 2 == 1);
      const Promises promises = Live(disk);
      SCOPED_TRACE(disk.history()[static_cast<size_t>(empty_.operations() + i / 2)] +
                   ", operation " + std::to_string(i / 2));
      Check(disk.AfterPowerLoss(Survival::kNothing), promises);
      Check(disk.AfterKill(), promises);
      if (HasFailure()) return;
    }
  }
}

// A second result must not say yes for records that a failed sync has dropped.
TEST_F(SpoolLifeTest, RecordsThatCouldNotBeSyncedAreNeverSaidToBeKept) {
  ModelDisk disk = empty_;
  Spool spool(kSpool, kLimitBytes, disk);
  ASSERT_TRUE(spool.Recover().ok());
  ASSERT_TRUE(spool.Begin(LeaseId{1}, "s1c0r1", 1).ok());
  ASSERT_TRUE(spool.AppendRecords(LeaseId{1}, 1, "line").ok());
  disk.FailAt(disk.operations(), EIO, /*lasting=*/false);

  EXPECT_FALSE(spool.Finish(LeaseId{1}, ResultOf(LeaseId{1})).ok());
  EXPECT_FALSE(spool.Finish(LeaseId{1}, ResultOf(LeaseId{1})).ok());
}

TEST_F(SpoolLifeTest, AFullDiskIsSeenAndTheProbeLeavesNothing) {
  ModelDisk disk = empty_;
  Spool spool(kSpool, kLimitBytes, disk);
  ASSERT_TRUE(spool.Recover().ok());
  ASSERT_TRUE(spool.Begin(LeaseId{1}, "s1c0r1", 1).ok());
  const std::string folder = spool.FolderOf(LeaseId{1});
  const size_t before = disk.List(folder)->size();

  EXPECT_TRUE(spool.CheckRoom(LeaseId{1}).ok());
  disk.FailAt(disk.operations() + 1, ENOSPC, /*lasting=*/false);
  EXPECT_EQ(spool.CheckRoom(LeaseId{1}).code(), absl::StatusCode::kResourceExhausted);

  EXPECT_EQ(disk.List(folder)->size(), before);
}

// What does not fit must not become a part of the next line.
TEST_F(SpoolLifeTest, ALineThatDidNotFitIsTakenBack) {
  ModelDisk disk = empty_;
  Spool spool(kSpool, kLimitBytes, disk);
  ASSERT_TRUE(spool.Recover().ok());
  ASSERT_TRUE(spool.Begin(LeaseId{1}, "s1c0r1", 1).ok());
  disk.FailAt(disk.operations(), ENOSPC, /*lasting=*/false);

  EXPECT_EQ(spool.AppendRecords(LeaseId{1}, 1, "a long line").code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(spool.AppendRecords(LeaseId{1}, 1, "short").ok());

  EXPECT_EQ(spool.ReadRecords(LeaseId{1}, 1).value(), "short");
}

}  // namespace
}  // namespace noisefloor
