// A store in a folder of its own, closed and opened again as by the next process.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "SQLiteCpp/Statement.h"
#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {

class StoreFixture : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }

  void Reopen() {
    store_.reset();
    auto opened = SqliteStore::Open(home_.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  scheduler::RecoveredState Recovered() {
    auto state = store_->Recover();
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? *std::move(state) : scheduler::RecoveredState{};
  }

  std::string Ask(const std::string& sql) {
    auto reader = OpenForReading(DatabasePath(home_.path()));
    EXPECT_TRUE(reader.ok()) << reader.status();
    SQLite::Statement row(**reader, sql);
    return row.executeStep() ? row.getColumn(0).getString() : "(none)";
  }

  // The number of rows of every table.
  std::map<std::string, std::string> Sizes() {
    auto reader = OpenForReading(DatabasePath(home_.path()));
    SQLite::Statement row(**reader,
                          "SELECT name FROM sqlite_schema WHERE type = 'table' "
                          "AND name NOT LIKE 'sqlite_%'");
    std::map<std::string, std::string> sizes;
    while (row.executeStep()) {
      const std::string table = row.getColumn(0).getString();
      sizes[table] = Ask("SELECT count(*) FROM " + table);
    }
    return sizes;
  }

  TempHome home_;
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace noisefloor
