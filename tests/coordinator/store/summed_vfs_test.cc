// Pages of the database have sums: what a disk has changed is named, what other programs do to a
// home in ordinary use is not taken for damage.
#include "coordinator/store/summed_vfs.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string_view>

#include "SQLiteCpp/Statement.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "coordinator/store/page_sum.h"
#include "tests/coordinator/store/rows_of.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr size_t kPage = 4096;
constexpr int kRows = 120;
constexpr const char* kAll = "SELECT number, note FROM note_of_test ORDER BY number";

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Flip(const std::string& path, size_t at, int mask) {
  std::string bytes = BytesOf(path);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ mask);
  std::ofstream(path, std::ios::binary) << bytes;
}

class SummedVfsTest : public testing::Test {
 protected:
  // A home with rows, small ones and one of many pages.
  static void Fill(const std::string& path, const Schema& schema) {
    const auto database = OpenForWriting(path, schema);
    ASSERT_TRUE(database.ok()) << database.status();
    (*database)->exec("CREATE TABLE note_of_test (number INTEGER PRIMARY KEY, note TEXT) STRICT");
    (*database)->exec(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
        std::to_string(kRows) +
        ") INSERT INTO note_of_test SELECT i, printf('note %d %s', i, hex(zeroblob(40))) FROM n");
    (*database)->exec("INSERT INTO note_of_test VALUES (1000, hex(zeroblob(20000)))");
  }

  // How many pages have which sum. All zero ones, which nothing reads, are left out.
  std::map<PageSum, size_t> Sums(const std::string& path) const {
    std::map<PageSum, size_t> sums;
    const std::string bytes = BytesOf(path);
    for (size_t at = 0; at < bytes.size(); at += kPage) {
      const std::string page = bytes.substr(at, kPage);
      if (page != std::string(kPage, '\0')) ++sums[LookAtSum(page)];
    }
    return sums;
  }
  void ExpectAllSummed(const std::string& path) const {
    const auto sums = Sums(path);
    EXPECT_EQ(sums.size(), 1u);
    EXPECT_GT(sums.count(PageSum::kHolds), 0u);
  }

  static absl::StatusOr<std::vector<std::string>> Read(const std::string& path) {
    NF_ASSIGN_OR_RETURN(const auto database, OpenForReading(path));
    try {
      return RowsOf(*database, kAll);
    } catch (const SQLite::Exception& error) {
      return ToStatus(error, "reading " + path);
    }
  }

  // As a coordinator that was killed leaves it: what is in the log is not in the file.
  void Kill() {
    const auto database = OpenForWriting(path_, CurrentSchema());
    ASSERT_TRUE(database.ok()) << database.status();
    (*database)->exec("UPDATE note_of_test SET note = note || '!' WHERE number < 20");
    for (const char* ending : {"", "-wal"}) {
      fs::copy(path_ + ending, killed_ + ending, fs::copy_options::overwrite_existing);
    }
  }

  // As the sqlite3 shell, or a program with a library of SQLite.
  static void AsOthers(const std::string& path, const std::string& sql) {
    SQLite::Database other(path, SQLite::OPEN_READWRITE);
    (void)RowsOf(other, sql);
  }

  TempHome home_;
  const std::string path_ = DatabasePath(home_.path());
  const std::string killed_ = home_.path() + "/killed.db";
};

TEST_F(SummedVfsTest, EveryPageOfANewHomeHasASum) {
  Fill(path_, CurrentSchema());

  ExpectAllSummed(path_);
  EXPECT_EQ(Read(path_)->size(), kRows + 1u);
  // Any program reads it.
  SQLite::Database other(path_, SQLite::OPEN_READONLY);
  EXPECT_EQ(RowsOf(other, kAll), *Read(path_));
  EXPECT_EQ(RowsOf(other, "PRAGMA integrity_check"), std::vector<std::string>({"ok"}));
}

TEST_F(SummedVfsTest, AFlippedByteIsNamedOrChangesNothing) {
  Fill(path_, CurrentSchema());
  const auto calm = Read(path_);
  ASSERT_TRUE(calm.ok());
  const std::string bytes = BytesOf(path_);
  std::vector<size_t> places;
  for (size_t at = 0; at < kHeaderBytes; ++at) places.push_back(at);
  for (size_t at = kHeaderBytes; at < bytes.size(); at += 1009) places.push_back(at);
  size_t named = 0;
  for (const size_t at : places) {
    for (const int mask : at < kHeaderBytes ? std::vector{0x01, 0x08} : std::vector{0x80}) {
      SCOPED_TRACE(std::to_string(at) + " xor " + std::to_string(mask));
      const std::string other = home_.path() + "/other.db";
      std::ofstream(other, std::ios::binary) << bytes;
      Flip(other, at, mask);
      const auto read = Read(other);
      if (read.ok()) {
        EXPECT_EQ(*read, *calm);
        continue;
      }
      ++named;
      EXPECT_THAT(Message(read.status()), HasSubstr("other.db"));
      if (at >= kHeaderBytes) {
        EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << read.status();
        EXPECT_THAT(Message(read.status()),
                    HasSubstr("page " + std::to_string(at / kPage + 1) + " of"));
      }
    }
  }
  EXPECT_GT(named, places.size() / 2);
}

TEST_F(SummedVfsTest, AFlippedBitOfHowMuchIsReservedForSumsTurnsNoneOff) {
  constexpr size_t kReservedBytes = 20;  // SQLite's file format, 1.3.
  Fill(path_, CurrentSchema());
  const std::string bytes = BytesOf(path_);
  for (int bit = 0; bit < 8; ++bit) {
    SCOPED_TRACE(bit);
    const std::string other = home_.path() + "/other.db";
    std::ofstream(other, std::ios::binary) << bytes;
    Flip(other, kReservedBytes, 1 << bit);

    const auto read = Read(other);

    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << read.status();
    EXPECT_THAT(Message(read.status()), HasSubstr("page 1 of"));
  }
}

TEST_F(SummedVfsTest, WhatAnotherProgramFoldsInIsNoDamageAndGetsItsSums) {
  Fill(path_, CurrentSchema());
  Kill();
  AsOthers(killed_, "SELECT count(*) FROM note_of_test");
  ASSERT_FALSE(fs::exists(killed_ + "-wal")) << "it was the last to close it";
  ASSERT_GT(Sums(killed_).count(PageSum::kNone), 0u);
  ASSERT_EQ(Sums(killed_).count(PageSum::kBroken), 0u);
  const auto unsummed = Sums(killed_)[PageSum::kNone];

  const auto read = Read(killed_);
  const auto summed = SumWhatOthersWrote(killed_, /*was_killed=*/true);

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*summed, unsummed);
  ExpectAllSummed(killed_);
  EXPECT_EQ(*Read(killed_), *read);
  EXPECT_EQ(*SumWhatOthersWrote(killed_, true), 0u);
}

TEST_F(SummedVfsTest, ALogThatIsStillThereIsLeftToIt) {
  Fill(path_, CurrentSchema());
  Kill();
  EXPECT_EQ(*SumWhatOthersWrote(killed_, true), 0u);
  EXPECT_TRUE(fs::exists(killed_ + "-wal"));

  { ASSERT_TRUE(OpenForWriting(killed_, CurrentSchema()).ok()); }

  ExpectAllSummed(killed_);
}

TEST_F(SummedVfsTest, PagesThatMakeNoSenseGetNoSum) {
  Fill(path_, CurrentSchema());
  Kill();
  AsOthers(killed_, "SELECT count(*) FROM note_of_test");
  const std::string bytes = BytesOf(killed_);
  size_t at = kPage;
  while (LookAtSum(bytes.substr(at, kPage)) != PageSum::kNone) at += kPage;
  Flip(killed_, at, 0xFF);  // What kind of a page it is.

  const auto summed = SumWhatOthersWrote(killed_, true);

  EXPECT_EQ(summed.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(summed.status()), HasSubstr("killed.db"));
  EXPECT_GT(Sums(killed_).count(PageSum::kNone), 0u);
}

TEST_F(SummedVfsTest, WhatAnotherProgramChangesIsNamedUntilItWritesAllAnew) {
  Fill(path_, CurrentSchema());
  AsOthers(path_, "UPDATE note_of_test SET note = 'theirs' WHERE number = 7");
  const auto named = Read(path_);
  EXPECT_EQ(named.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(named.status()), HasSubstr("changed by a program other than noisefloor"));

  AsOthers(path_, "VACUUM");

  ASSERT_TRUE(Read(path_).ok()) << Read(path_).status();
  EXPECT_GT(*SumWhatOthersWrote(path_, /*was_killed=*/false), 0u);
  ExpectAllSummed(path_);
  EXPECT_THAT(*Read(path_), testing::Contains("7|theirs"));
}

TEST_F(SummedVfsTest, AHomeOfBeforeGetsThemWhenItIsBroughtOver) {
  const std::vector<std::string_view> none(CurrentSchema().steps.size());  // They change no table.
  const std::span<const std::string_view> steps = none;
  const Schema now = {CurrentSchema().tables, CurrentSchema().views, steps};
  const Schema then = {now.tables, now.views, steps.first(kFirstVersionWithSums - 2)};
  Fill(path_, then);
  ASSERT_EQ(Sums(path_).count(PageSum::kHolds), 0u);
  SQLite::Database(path_, SQLite::OPEN_READONLY).execAndGet("SELECT 1");
  const auto before = [&] {
    SQLite::Database old(path_, SQLite::OPEN_READONLY);
    return RowsOf(old, kAll);
  }();

  { ASSERT_TRUE(OpenForWriting(path_, now).ok()); }

  ExpectAllSummed(path_);
  EXPECT_EQ(*Read(path_), before);
}

}  // namespace
}  // namespace noisefloor
