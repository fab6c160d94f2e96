// Damage in the log of changes is named; a log that power has cut off is not damaged.
#include "coordinator/store/log_check.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "SQLiteCpp/Database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr size_t kHeader = 32;
constexpr size_t kFrame = 24 + 4096;

// A log of five transactions of one row each.
class LogCheckTest : public testing::Test {
 protected:
  LogCheckTest() {
    SQLite::Database database(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)");
    for (int i = 0; i < 4; ++i) database.exec("INSERT INTO t (text) VALUES ('a row')");
    ReadLog();
    fs::copy(path_, home_.path() + "/behind");  // Most of it is in the log alone.
  }

  // While the database is open: at its end it has no log.
  void ReadLog() {
    std::ifstream log(path_ + "-wal", std::ios::binary);
    log_.assign(std::istreambuf_iterator<char>(log), {});
  }
  size_t frames() const { return (log_.size() - kHeader) / kFrame; }
  absl::Status Check(const std::string& log) const {
    const std::string other = home_.path() + "/other";
    std::ofstream(other + "-wal", std::ios::binary) << log;
    return CheckLog(other);
  }
  absl::Status CheckFlipped(size_t at) const {
    std::string log = log_;
    log[at] = static_cast<char>(log[at] ^ 1);
    return Check(log);
  }

  // The log with each bit of its header flipped, one at a time, beside that database.
  void ForEachFlippedHeader(const std::string& database,
                            const std::function<void(const absl::Status&)>& look) const {
    const std::string other = home_.path() + "/other";
    fs::copy(database, other, fs::copy_options::overwrite_existing);
    for (size_t bit = 0; bit < 8 * kHeader; ++bit) {
      SCOPED_TRACE(bit);
      std::string log = log_;
      log[bit / 8] = static_cast<char>(log[bit / 8] ^ (1 << bit % 8));
      look(Check(log));
    }
  }

  TempHome home_;
  const std::string path_ = DatabasePath(home_.path());
  std::string log_;
};

TEST_F(LogCheckTest, AWholeOneIsFine) {
  ASSERT_GE(frames(), 6u);
  EXPECT_TRUE(Check(log_).ok()) << Check(log_);
  EXPECT_TRUE(CheckLog(home_.path() + "/nothing").ok());
  EXPECT_TRUE(Check("").ok());
}

TEST_F(LogCheckTest, AByteInAnyFrameButTheLastOnesIsNamed) {
  for (size_t frame = 0; frame + 2 < frames(); ++frame) {
    for (const size_t in_frame : {size_t{2}, size_t{9}, size_t{17}, size_t{24}, size_t{4000}}) {
      const absl::Status checked = CheckFlipped(kHeader + frame * kFrame + in_frame);
      // The sum of a frame goes into that of the next one, too.
      if (in_frame == 17 && frame + 3 >= frames()) continue;
      EXPECT_EQ(checked.code(), absl::StatusCode::kDataLoss) << frame << ", " << in_frame;
      EXPECT_THAT(std::string(checked.message()),
                  HasSubstr("other-wal: frame " + std::to_string(frame + 1) + " is damaged"));
    }
  }
}

TEST_F(LogCheckTest, WhatPowerLeavesOfTheLastTransactionIsFine) {
  const size_t last = kHeader + (frames() - 1) * kFrame;
  EXPECT_TRUE(Check(log_.substr(0, last + 1000)).ok());
  EXPECT_TRUE(CheckFlipped(last + 100).ok());
  // What failed syncs have left, each overwritten in part.
  const auto frame = [&](size_t number) { return log_.substr(kHeader + number * kFrame, kFrame); };
  const size_t end = frames() - 1;
  EXPECT_TRUE(Check(log_.substr(0, kHeader + kFrame * (end - 3)) + frame(end - 1) + frame(end) +
                    frame(end - 1) + frame(end))
                  .ok());
  // Frames of a log that was begun anew over a longer one.
  std::string older = log_;
  older[last + 8] = static_cast<char>(older[last + 8] ^ 1);
  EXPECT_TRUE(Check(older).ok());
}

// SQLite passes over the whole log for one bit of its header.
TEST_F(LogCheckTest, ABitOfTheHeaderIsNamedWhenTheLogHoldsMoreThanTheDatabase) {
  ForEachFlippedHeader(home_.path() + "/behind", [](const absl::Status& checked) {
    EXPECT_EQ(checked.code(), absl::StatusCode::kDataLoss) << checked;
    EXPECT_THAT(std::string(checked.message()), HasSubstr("other-wal: its header is damaged"));
  });
}

// Power may cut off the header of a log that is begun anew over the frames of the one before: those
// are in the database.
TEST_F(LogCheckTest, ABitOfTheHeaderIsNoHarmWhenTheDatabaseHasAll) {
  ForEachFlippedHeader(path_,
                       [](const absl::Status& checked) { EXPECT_TRUE(checked.ok()) << checked; });
}

// Pages that a transaction of the log wrote, and a later one cut off.
TEST_F(LogCheckTest, ABitOfTheHeaderIsNoHarmWhenTheDatabaseHasBecomeSmallerSince) {
  {
    SQLite::Database database(path_, SQLite::OPEN_READWRITE);
    database.exec("INSERT INTO t (text) VALUES (zeroblob(100000))");
    database.exec("DELETE FROM t WHERE length(text) = 100000");
    database.exec("VACUUM");
    ReadLog();
  }
  ASSERT_GT(frames(), 25u);
  ASSERT_LT(fs::file_size(path_), 100000u) << "or this shows nothing";
  ForEachFlippedHeader(path_,
                       [](const absl::Status& checked) { EXPECT_TRUE(checked.ok()) << checked; });
}

TEST_F(LogCheckTest, OfALogWithoutItsHeaderOnlyWholeTransactionsCount) {
  fs::copy(home_.path() + "/behind", home_.path() + "/other");
  std::string log = log_;
  log[0] = 'x';

  EXPECT_TRUE(Check(log.substr(0, kHeader)).ok()) << "nothing was kept in it";
  EXPECT_TRUE(Check(log.substr(0, kHeader - 1)).ok());
  EXPECT_TRUE(Check(log.substr(0, kHeader + 1000)).ok()) << "no frame is whole";
  EXPECT_EQ(Check(log.substr(0, kHeader + kFrame * frames() - 1)).code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(LogCheckTest, ADamagedLogIsNotOpened) {
  fs::copy(path_, home_.path() + "/other");
  std::string log = log_;
  log[kHeader + 100] = static_cast<char>(log[kHeader + 100] ^ 1);
  std::ofstream(home_.path() + "/other-wal", std::ios::binary) << log;

  const auto opened = OpenForWriting(home_.path() + "/other", CurrentSchema());

  EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss) << opened.status();
  EXPECT_EQ(fs::file_size(home_.path() + "/other-wal"), log_.size()) << "it stays as it was";
}

}  // namespace
}  // namespace noisefloor
