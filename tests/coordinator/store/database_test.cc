#include "coordinator/store/database.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "SQLiteCpp/Statement.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/migrations.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using ::testing::HasSubstr;

class DatabaseTest : public ::testing::Test {
 protected:
  auto Open() { return OpenForWriting(path_, CurrentSchema()); }
  int64_t Ask(SQLite::Database& database, const char* sql) {
    return database.execAndGet(sql).getInt64();
  }

  // The schema of this program, and one step more.
  Schema AndThen(std::string_view sql) {
    steps_.assign(CurrentSchema().steps.begin(), CurrentSchema().steps.end());
    steps_.push_back(sql);
    return {CurrentSchema().tables, CurrentSchema().views, steps_};
  }

  std::vector<std::string_view> steps_;

  TempHome home_;
  std::string path_ = DatabasePath(home_.path());
};

TEST_F(DatabaseTest, EmptyFileBecomesOneOfOursAndOpensAgain) {
  std::ofstream(path_).flush();

  ASSERT_TRUE(Open().ok());
  const auto again = Open();

  ASSERT_TRUE(again.ok());
  EXPECT_EQ(Ask(**again, "PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(Ask(**again, "PRAGMA user_version"), CurrentSchema().version());
  EXPECT_EQ((*again)->execAndGet("PRAGMA journal_mode").getString(), "wal");
  EXPECT_EQ(Ask(**again, "PRAGMA synchronous"), 2);
  EXPECT_EQ(Ask(**again, "PRAGMA foreign_keys"), 1);
  EXPECT_EQ(Ask(**again, "PRAGMA mmap_size"), 0);
}

TEST_F(DatabaseTest, EveryTableIsStrict) {
  const auto database = Open();
  ASSERT_TRUE(database.ok()) << database.status();

  EXPECT_GT(Ask(**database,
                "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' "
                "AND type = 'table' AND name NOT LIKE 'sqlite_%'"),
            10);
  EXPECT_EQ(Ask(**database,
                "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' "
                "AND type = 'table' AND name NOT LIKE 'sqlite_%' AND NOT strict"),
            0);
}

// As a process that died within a transaction leaves it: a home that came from a backup has a
// rollback journal until it is first served. See SQLite's "Hot Rollback Journals".
TEST_F(DatabaseTest, WhatADeadWriterHadBegunIsTakenBackForReadersToo) {
  { (*Open())->exec("PRAGMA journal_mode = DELETE; CREATE TABLE kept (n INTEGER) STRICT"); }
  const TempHome versions;
  const TempHome readers;
  const std::string version_path = DatabasePath(versions.path());
  const std::string reader_path = DatabasePath(readers.path());
  {
    SQLite::Database writer(path_, SQLite::OPEN_READWRITE);
    writer.exec("PRAGMA cache_size = 1; BEGIN; DROP TABLE kept; PRAGMA user_version = 98");
    ASSERT_GT(std::filesystem::file_size(path_ + "-journal"), 0u);
    for (const std::string& copy : {version_path, reader_path}) {
      std::filesystem::copy_file(path_, copy);
      std::filesystem::copy_file(path_ + "-journal", copy + "-journal");
    }
  }

  const absl::StatusOr<int64_t> version = SchemaVersion(version_path);
  const auto reader = OpenForReading(reader_path);

  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(*version, CurrentSchema().version());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(Ask(**reader, "SELECT count(*) FROM kept"), 0);
}

TEST_F(DatabaseTest, FileOfANewerProgramIsRefusedByName) {
  { (*Open())->exec("PRAGMA user_version = 99"); }

  const absl::Status refused = Open().status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("written by a newer noisefloor (schema 99"));
  EXPECT_EQ(OpenForReading(path_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DatabaseTest, TablesOfOursWithoutTheirVersionAreDamage) {
  { (*Open())->exec("PRAGMA user_version = 0"); }

  const absl::Status refused = Open().status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(refused), HasSubstr("has the tables of noisefloor, but says schema 0"));
}

TEST_F(DatabaseTest, SomeoneElsesDatabaseIsRefusedAndLeftAlone) {
  {
    SQLite::Database other(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE theirs (x)");
  }

  EXPECT_THAT(Message(Open().status()), HasSubstr("not one of noisefloor"));

  SQLite::Database other(path_, SQLite::OPEN_READONLY);
  EXPECT_EQ(Ask(other, "SELECT count(*) FROM sqlite_schema"), 1);
}

TEST_F(DatabaseTest, DamagedFileIsRefusedAsSuch) {
  std::ofstream(path_) << std::string(8192, 'z');

  const absl::Status refused = Open().status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(refused), HasSubstr("noisefloor.db"));
  EXPECT_THAT(Message(refused), HasSubstr("damaged"));
}

TEST_F(DatabaseTest, LaterMigrationsRunOnceOnTopOfTheEarlier) {
  { ASSERT_TRUE(Open().ok()); }
  const Schema next =
      AndThen("CREATE TABLE later (x INTEGER) STRICT; INSERT INTO later VALUES (7)");

  { ASSERT_TRUE(OpenForWriting(path_, next).ok()); }
  const auto database = OpenForWriting(path_, next);

  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ(Ask(**database, "SELECT count(*) FROM later"), 1);
}

TEST_F(DatabaseTest, MigrationThatFailsLeavesTheFileAsItWas) {
  { ASSERT_TRUE(Open().ok()); }
  const Schema next =
      AndThen("CREATE TABLE later (x INTEGER) STRICT; INSERT INTO nowhere VALUES (7)");

  EXPECT_EQ(OpenForWriting(path_, next).status().code(), absl::StatusCode::kInternal);

  const auto database = Open();
  ASSERT_TRUE(database.ok());
  EXPECT_EQ(Ask(**database, "SELECT count(*) FROM sqlite_schema WHERE name = 'later'"), 0);
}

TEST_F(DatabaseTest, AReaderCannotWrite) {
  ASSERT_TRUE(Open().ok());
  const auto reader = OpenForReading(path_);
  ASSERT_TRUE(reader.ok()) << reader.status();

  EXPECT_THROW((*reader)->exec("DELETE FROM sweep"), SQLite::Exception);
}

}  // namespace
}  // namespace noisefloor
