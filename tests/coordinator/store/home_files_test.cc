#include "coordinator/store/home_files.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/blob_store.h"
#include "coordinator/store/database.h"
#include "coordinator/store/handover_folder.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/support/forwarding_disk.h"

namespace noisefloor {
namespace {

using ::testing::HasSubstr;

class HomeFilesTest : public ::testing::Test {
 protected:
  std::string Database() const { return DatabasePath(home_.path()); }
  void Put(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  void PutAFileOfAnAttempt() {
    ASSERT_TRUE(CreateDirectories(home_.path() + "/blobs/ab").ok());
    Put(home_.path() + "/blobs/ab/cd", "weights");
  }
  std::string Refusal() { return std::string(Message(CheckDatabaseFile(home_.path()))); }

  TempHome home_;
};

TEST_F(HomeFilesTest, ANewHomeAndOneWithItsDatabaseAreFine) {
  EXPECT_TRUE(CheckDatabaseFile(home_.path()).ok());
  ASSERT_TRUE(CreateDirectories(home_.path() + "/blobs/ab").ok());
  EXPECT_TRUE(CheckDatabaseFile(home_.path()).ok()) << "folders alone are none's results";
  ASSERT_TRUE(SqliteStore::Open(home_.path()).ok());
  PutAFileOfAnAttempt();
  EXPECT_TRUE(CheckDatabaseFile(home_.path()).ok());
}

TEST_F(HomeFilesTest, ADatabaseThatIsMissingOrEmptyBesideResultsIsNotMadeAnew) {
  PutAFileOfAnAttempt();
  EXPECT_THAT(Refusal(), HasSubstr("noisefloor.db: missing, though files of attempts in blobs/"));
  Put(Database(), "");
  EXPECT_THAT(Refusal(), HasSubstr("noisefloor.db: empty, though files of attempts in blobs/"));
}

TEST_F(HomeFilesTest, AMissingDatabaseBesideItsLogIsNotMadeAnew) {
  Put(Database() + "-wal", "changes");
  EXPECT_THAT(Refusal(), HasSubstr("missing, though its log of changes"));
}

TEST_F(HomeFilesTest, ADatabaseWithASecondNameIsRefused) {
  ASSERT_TRUE(SqliteStore::Open(home_.path()).ok());
  const std::string other = home_.path() + "/other.db";
  ASSERT_EQ(link(Database().c_str(), other.c_str()), 0);
  EXPECT_THAT(Refusal(), HasSubstr("expected a file with this one name, got one with several"));
  ASSERT_EQ(unlink(Database().c_str()), 0);
  ASSERT_EQ(symlink(other.c_str(), Database().c_str()), 0);
  EXPECT_THAT(Refusal(), HasSubstr("got a symbolic link"));
}

// Each file of an open store, removed and replaced.
class LostFileTest : public HomeFilesTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(LostFileTest, IsNoticed) {
  auto store = SqliteStore::Open(home_.path());
  ASSERT_TRUE(store.ok()) << store.status();
  HomeFiles files(home_.path());
  ASSERT_TRUE((*store)->Apply(std::vector<scheduler::Write>{sample::Keep()}).ok());
  ASSERT_TRUE(files.Check().ok());
  const std::string path = Database() + GetParam();
  const std::string aside = path + ".aside";

  ASSERT_EQ(rename(path.c_str(), aside.c_str()), 0);
  EXPECT_EQ(files.Check().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(files.Check()), HasSubstr(path + ": was removed"));
  Put(path, "another");
  EXPECT_THAT(Message(files.Check()), HasSubstr(path + ": was replaced"));

  ASSERT_EQ(rename(aside.c_str(), path.c_str()), 0);
  EXPECT_TRUE(files.Check().ok());
}

INSTANTIATE_TEST_SUITE_P(EachFile, LostFileTest, ::testing::Values("", "-wal", "-shm"));

TEST_F(HomeFilesTest, ThatTheFolderOfFilesHasGoneIsNoticed) {
  ASSERT_TRUE(BlobStore::Open(home_.path()).ok());
  HomeFiles files(home_.path());
  ASSERT_TRUE(files.Check().ok());
  const std::string blobs = home_.path() + "/blobs";

  std::filesystem::rename(blobs, blobs + ".aside");
  EXPECT_THAT(Message(files.Check()), HasSubstr(blobs + ": was removed"));
  std::filesystem::create_directory(blobs);
  EXPECT_THAT(Message(files.Check()), HasSubstr(blobs + ": was replaced"));
}

TEST_F(HomeFilesTest, AMarkOfAHandoverThatIsNotUnderstoodIsNotServed) {
  const auto with = [this](const std::string& begin) {
    Put(home_.path() + "/noisefloor.handover",
        begin + R"(, "folder": "/f", "term": 1, "id": "x"})");
    return CheckHandedOver(home_.path());
  };
  EXPECT_TRUE(with(R"({"form": 1, "standing": "serving")").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(with(R"({"form": 1, "standing": "moved")")));
  EXPECT_TRUE(absl::IsFailedPrecondition(with(R"({"form": 2, "standing": "serving")")));
  EXPECT_TRUE(absl::IsDataLoss(with(R"({"form": 1, "standing": )")));
}

TEST(HandoverFolderTest, AClaimIsOnDiskWhenItIsMade) {
  const TempHome shared;
  NotingDisk disk;
  const HandoverFolder folder(shared.path(), disk);
  for (const char* const when : {"made", "made before, and perhaps not synced"}) {
    const Claim claim = {
        .id = "1", .host = "one", .process = 1, .home = "/1", .at = absl::FromUnixSeconds(1)};
    disk.done.clear();
    ASSERT_TRUE(folder.Make(1, claim).value()) << when;
    ASSERT_FALSE(disk.done.empty()) << when;
    EXPECT_EQ(disk.done.back(), "sync " + shared.path()) << when;
  }
}

TEST(HandoverFolderTest, WhatIsNoTermIsNone) {
  const TempHome shared;
  for (const std::string name : {"term-", "term-0", "term-x", "term-9.chance7", "xterm-8"}) {
    std::filesystem::create_directories(shared.path() + "/" + name);
  }
  const auto last = HandoverFolder(shared.path()).LastTerm();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->number, 0u);
}

}  // namespace
}  // namespace noisefloor
