// Atomic files and folders on a disk that fails and loses power.
#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "tests/support/model_disk.h"

namespace noisefloor {
namespace {

using Survival = ModelDisk::Survival;

constexpr uint64_t kLimitBytes = 100;

TEST(LostPowerTest, WhatWasCommittedIsThereWholeWhateverWasOnItsWay) {
  ModelDisk disk;
  ASSERT_TRUE(WriteFileAtomically("/x", "content", disk).ok());
  for (const Survival survival : {Survival::kNothing, Survival::kEverything, Survival::kSome}) {
    ModelDisk after = disk.AfterPowerLoss(survival, 1);
    EXPECT_EQ(ReadFile("/x", kLimitBytes, after).value(), "content");
  }
}

TEST(LostPowerTest, TheOldContentOrTheNewOneIsThereWheneverPowerGoes) {
  ModelDisk old;
  ASSERT_TRUE(WriteFileAtomically("/x", "old", old).ok());
  bool committed = false;
  for (int64_t i = old.operations(); !committed; ++i) {
    ModelDisk disk = old;
    disk.LosePowerAt(i);
    committed = WriteFileAtomically("/x", "new", disk).ok();
    for (uint64_t seed = 0; seed < 10; ++seed) {
      ModelDisk after = disk.AfterPowerLoss(Survival::kSome, seed);
      const std::string found = ReadFile("/x", kLimitBytes, after).value();
      EXPECT_TRUE(found == "new" || (found == "old" && !committed)) << found << " at " << i;
    }
  }
}

TEST(LostPowerTest, AWriteThatFailedIsNeverCommitted) {
  ModelDisk disk;
  AtomicFileWriter writer = AtomicFileWriter::Open("/x", disk).value();
  ASSERT_TRUE(writer.Write("one").ok());
  disk.FailAt(disk.operations(), ENOSPC, /*lasting=*/false);

  EXPECT_EQ(writer.Write("two").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(writer.Write("three").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(writer.Commit().code(), absl::StatusCode::kResourceExhausted);

  EXPECT_FALSE(writer.in_place());
  EXPECT_FALSE(disk.Inspect("/x").ok());
}

// A gigabyte that is synced only at its end holds up the database's syncs for as long as it takes.
TEST(LostPowerTest, ALargeFileIsSyncedAsItGrows) {
  constexpr size_t kMegabyte = size_t{1} << 20;
  ModelDisk disk;
  AtomicFileWriter writer = AtomicFileWriter::Open("/x", disk).value();
  const std::string piece(kMegabyte, 'x');
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer.Write(piece).ok());
  ASSERT_TRUE(writer.Write(std::string(20 * kMegabyte, 'y')).ok());
  ASSERT_TRUE(writer.Commit().ok());

  int syncs = 0;
  for (const std::string& operation : disk.history()) syncs += operation.starts_with("sync /x.");
  EXPECT_EQ(syncs, 40 / 8 + 1) << "every 8 MiB, and what is left";
  EXPECT_EQ(disk.Inspect("/x")->size_bytes, 40 * kMegabyte);
}

TEST(LostPowerTest, FoldersThatWereMadeAreThere) {
  ModelDisk disk;
  ASSERT_TRUE(CreateDirectories("/a/b/c", disk).ok());
  EXPECT_TRUE(disk.AfterPowerLoss(Survival::kNothing).Inspect("/a/b/c").ok());
}

TEST(LostPowerTest, AFolderThatCouldNotBeSyncedIsNotFoundByTheNextTry) {
  ModelDisk disk;
  disk.FailAt(1, EIO, /*lasting=*/false);  // Made, and then its parent's sync.
  EXPECT_FALSE(CreateDirectories("/a", disk).ok());

  ASSERT_TRUE(CreateDirectories("/a", disk).ok());
  EXPECT_TRUE(disk.AfterPowerLoss(Survival::kNothing).Inspect("/a").ok());
}

// The model itself: what it is for must really be lost in it.
TEST(ModelDiskTest, WhatWasNotSyncedIsLost) {
  ModelDisk disk;
  {
    const auto file = disk.OpenToAppend("/x").value();
    ASSERT_TRUE(file->Append("synced").ok());
    ASSERT_TRUE(file->Sync().ok());
    ASSERT_TRUE(disk.SyncFolder("/").ok());
    ASSERT_TRUE(file->Append(" and not").ok());
  }
  ASSERT_TRUE(disk.Rename("/x", "/y").ok());

  ModelDisk nothing = disk.AfterPowerLoss(Survival::kNothing);
  EXPECT_EQ(ReadFile("/x", kLimitBytes, nothing).value(), "synced");
  ModelDisk everything = disk.AfterPowerLoss(Survival::kEverything);
  EXPECT_EQ(ReadFile("/y", kLimitBytes, everything).value(), "synced and not");
  EXPECT_FALSE(everything.Inspect("/x").ok());
}

TEST(ModelDiskTest, AFailedSyncIsNotMadeGoodByALaterOne) {
  ModelDisk disk;
  const auto file = disk.OpenToAppend("/x").value();
  ASSERT_TRUE(disk.SyncFolder("/").ok());
  ASSERT_TRUE(file->Append("lost").ok());
  disk.FailAt(disk.operations(), EIO, /*lasting=*/false);
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_TRUE(file->Sync().ok());

  EXPECT_EQ(ReadFile("/x", kLimitBytes, disk).value(), "lost") << "it is still seen";
  ModelDisk after = disk.AfterPowerLoss(Survival::kNothing);
  EXPECT_EQ(ReadFile("/x", kLimitBytes, after).value(), "");
}

}  // namespace
}  // namespace noisefloor
