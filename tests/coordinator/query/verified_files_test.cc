#include "coordinator/query/verified_files.h"

#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "common/files/sha256.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/support/forwarding_disk.h"

namespace noisefloor::query {
namespace {

// The machine's own disk; counts the files that are opened to be read.
class CountingDisk final : public ForwardingDisk {
 public:
  int opened = 0;

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const std::string& path) override {
    ++opened;
    return ForwardingDisk::OpenToRead(path);
  }
};

class VerifiedFilesTest : public ::testing::Test {
 protected:
  BlobName Put(const std::string& content) {
    const BlobName name{Sha256Hex(content), content.size()};
    EXPECT_TRUE(blobs_.Put(name, content).ok());
    return name;
  }
  CountingDisk disk_;
  TempHome home_;
  const BlobStore blobs_ = *BlobStore::Open(home_.path(), disk_);
};

TEST_F(VerifiedFilesTest, WhatWasWholeIsNotReadAgain) {
  VerifiedFiles verified(2);
  const BlobName first = Put("first");
  const BlobName second = Put("second");
  const BlobName third = Put("third");
  disk_.opened = 0;
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(verified.Verify(blobs_, first).ok());
    EXPECT_TRUE(verified.Verify(blobs_, second).ok());
  }
  EXPECT_EQ(disk_.opened, 2);
  EXPECT_TRUE(verified.Verify(blobs_, third).ok()) << "more than are remembered";
  EXPECT_TRUE(verified.Verify(blobs_, first).ok());
  EXPECT_EQ(disk_.opened, 4);
}

TEST_F(VerifiedFilesTest, AChangeIsNoticedThoughItWasWholeBefore) {
  VerifiedFiles verified;
  const BlobName name = Put("some content");
  ASSERT_TRUE(verified.Verify(blobs_, name).ok());
  ASSERT_TRUE(verified.Verify(blobs_, name).ok());

  // Another file in its place: whatever the time, its number is another.
  const std::string path = blobs_.PathOf(name.sha256);
  std::ofstream(path + ".new") << "some c0ntent";
  ASSERT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);

  EXPECT_EQ(verified.Verify(blobs_, name).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(verified.Verify(blobs_, name).code(), absl::StatusCode::kDataLoss);
}

timespec ChangedAt(const std::string& path) {
  struct stat about = {};
  EXPECT_EQ(stat(path.c_str(), &about), 0);
  return about.st_ctim;
}

// A file system's clock ticks some hundred times in a second: a change is one from tick to tick.
TEST_F(VerifiedFilesTest, AChangeInPlaceIsNoticedInTheSecondOfTheLast) {
  VerifiedFiles verified;
  const BlobName name = Put("some content");
  const std::string path = blobs_.PathOf(name.sha256);
  const auto overwrite = [&](const std::string& content) {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << content;
  };
  timespec before = {};
  timespec after = {};
  int tries = 0;
  do {  // Anew where the second has ended meanwhile.
    ASSERT_LT(++tries, 20) << "no two changes in a second have other times";
    overwrite("some content");
    ASSERT_TRUE(verified.Verify(blobs_, name).ok());
    before = after = ChangedAt(path);
    while (after.tv_sec == before.tv_sec && after.tv_nsec == before.tv_nsec) {
      overwrite("some c0ntent");
      after = ChangedAt(path);
    }
  } while (after.tv_sec != before.tv_sec);

  EXPECT_EQ(verified.Verify(blobs_, name).code(), absl::StatusCode::kDataLoss);
}

TEST_F(VerifiedFilesTest, WhatIsGoneOrOfAnotherSizeIsNotKnown) {
  VerifiedFiles verified;
  const BlobName name = Put("some content");
  ASSERT_TRUE(verified.Verify(blobs_, name).ok());
  EXPECT_EQ(verified.Verify(blobs_, {name.sha256, name.size_bytes + 1}).code(),
            absl::StatusCode::kDataLoss);
  ASSERT_EQ(std::remove(blobs_.PathOf(name.sha256).c_str()), 0);
  EXPECT_TRUE(absl::IsNotFound(verified.Verify(blobs_, name)));
}

}  // namespace
}  // namespace noisefloor::query
