// A home of version 0.1.0 opens, and what people and the scheduler read of it is what it was.
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/seed.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/measured.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/rows_of.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using Rows = std::vector<std::string>;

std::string Fixture() {
  const char* source = std::getenv("NOISEFLOOR_SOURCE");
  std::ostringstream text;
  if (source != nullptr) {
    text << std::ifstream(std::string(source) + "/tests/coordinator/store/home_of_0_1.sql").rdbuf();
  }
  return text.str();
}

Rows Ask(const std::string& path, const std::string& sql) {
  SQLite::Database database(path, SQLite::OPEN_READONLY);
  return RowsOf(database, sql);
}

class MigrationTest : public testing::Test {
 protected:
  void SetUp() override {
    SQLite::Database old(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    const std::string fixture = Fixture();
    ASSERT_FALSE(fixture.empty()) << "run through ctest, which sets NOISEFLOOR_SOURCE";
    old.exec(fixture);
  }

  void Change(const std::string& sql) { SQLite::Database(path_, SQLite::OPEN_READWRITE).exec(sql); }

  std::unique_ptr<SqliteStore> Open() {
    auto opened = SqliteStore::Open(home_.path());
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? *std::move(opened) : nullptr;
  }

  Rows AskHere(const std::string& sql) { return Ask(path_, sql); }

  TempHome home_;
  const std::string path_ = DatabasePath(home_.path());
};

TEST_F(MigrationTest, TheViewsSayAfterItWhatTheySaidBefore) {
  const std::map<std::string, std::string> asked = {
      {"sweep",
       "SELECT sweep, name, submitted_utc, specification_sha256, replicates, blocks, notes, tags, "
       "members, waiting, leased, done, diverged, failed, cancelled FROM v_sweep"},
      {"member", "SELECT * FROM v_member ORDER BY cell, replicate"},
      {"accuracy", "SELECT * FROM v_accuracy ORDER BY member"},
      {"metric", "SELECT * FROM v_metric ORDER BY member, metric"},
      {"hash", "SELECT * FROM v_hash ORDER BY member, hash"},
      {"record", "SELECT * FROM v_record ORDER BY member, metric, step, epoch"},
      {"artifact",
       "SELECT member, sweep, cell, replicate, attempt, accepted, kind, size_bytes, sha256, file "
       "FROM v_artifact ORDER BY member, kind"},
      {"event", "SELECT event, at_utc, sweep, member, kind, text FROM v_event ORDER BY event"},
      {"attempt",
       "SELECT member, attempt, lease, worker, unit, granted_utc, ended_utc, outcome, accepted, "
       "why, "
       "cause, message, train_seconds FROM v_attempt ORDER BY lease"}};
  std::map<std::string, Rows> before;
  for (const auto& [name, sql] : asked) before[name] = AskHere(sql);
  ASSERT_EQ(before.at("member").size(), 8u);
  const Rows lanes = AskHere(
      "SELECT cell, replicate, source, state, block, lane FROM lane "
      "ORDER BY cell, replicate, source");
  ASSERT_EQ(lanes.size(), 72u);

  ASSERT_NE(Open(), nullptr);

  for (const auto& [name, sql] : asked) EXPECT_EQ(AskHere(sql), before[name]) << name;
  EXPECT_EQ(AskHere("SELECT cell, replicate, source, state, block, lane FROM v_lane "
                    "ORDER BY cell, replicate, source"),
            lanes);
  EXPECT_THAT(AskHere("SELECT DISTINCT s.owner, e.caller FROM v_sweep s, v_event e"),
              testing::ElementsAre("|"))
      << "nobody was known";
  EXPECT_THAT(AskHere("SELECT count(*) FROM member"), testing::ElementsAre("7"));
  EXPECT_EQ(AskHere("PRAGMA foreign_key_check"), Rows());
  EXPECT_EQ(AskHere("PRAGMA integrity_check"), Rows({"ok"}));
}

TEST_F(MigrationTest, EpochsAndValuesOfRecordsStayWhatTheyWereToTheBit) {
  {
    SQLite::Database old(path_, SQLite::OPEN_READWRITE);
    old.exec(
        "INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES "
        "(2, 9, 0, 6, 0.3, 1, 0, 2), (2, 9, 1, 7, 3.5, 1, 0, 3), (2, 9, 2, 8, 4.000000000000001, "
        "1, 0, 1), (2, 9, 3, 9, 4.5, 1, 0.1, 0)");
  }
  const std::string all =
      "SELECT member, metric, step, hex(epoch), printf('%!.17g', epoch), typeof(epoch), "
      "printf('%!.17g', value), value IS NULL, special FROM v_record ORDER BY 1, 2, 3, 4";
  const Rows before = AskHere(all);
  ASSERT_GT(before.size(), 30u);

  ASSERT_NE(Open(), nullptr);

  EXPECT_EQ(AskHere(all), before);
  EXPECT_THAT(AskHere("SELECT step FROM record WHERE epoch IS NOT NULL ORDER BY step"),
              testing::ElementsAre("6", "8"));
}

TEST_F(MigrationTest, TheTablesAreThoseOfANewHome) {
  const TempHome fresh;
  ASSERT_TRUE(SqliteStore::Open(fresh.path()).ok());
  const std::string fresh_path = DatabasePath(fresh.path());

  ASSERT_NE(Open(), nullptr);

  for (const char* sql :
       {"SELECT t.name, t.wr, t.strict, c.name, c.type, c.\"notnull\", coalesce(c.dflt_value, "
        "'-'), "
        "c.pk FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c "
        "WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid",
        "SELECT m.name, f.* FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f "
        "WHERE m.type = 'table' ORDER BY m.name, f.id, f.seq",
        "SELECT m.tbl_name, m.sql FROM sqlite_schema m WHERE m.type = 'index' "
        "AND m.sql IS NOT NULL ORDER BY m.name",
        "SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY name",
        "SELECT t.name, i.name, i.\"unique\", x.name FROM sqlite_schema t "
        "JOIN pragma_index_list(t.name) i JOIN pragma_index_info(i.name) x "
        "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' "
        "ORDER BY t.name, i.name, x.seqno"}) {
    EXPECT_EQ(AskHere(sql), Ask(fresh_path, sql)) << sql;
  }
}

TEST_F(MigrationTest, TheSchedulerGoesOnWithWhatItKnew) {
  const Rows live = AskHere("SELECT specification FROM lease WHERE dropped_us IS NULL");
  ASSERT_EQ(live.size(), 1u);

  const auto store = Open();
  ASSERT_NE(store, nullptr);
  const auto state = store->Recover();

  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->leases.size(), 1u);
  EXPECT_EQ(state->leases[0].specification, live[0]) << "to the last byte";
  ASSERT_EQ(state->past_leases.size(), 1u);
  EXPECT_EQ(state->past_leases[0].cause, CauseClass::kOutOfMemory);
  EXPECT_TRUE(state->past_leases[0].has_outcome);
  const auto& cells = state->sweeps.at(0).cells;
  EXPECT_EQ(cells[0].At(1).state, MemberState::kDone);
  EXPECT_EQ(cells[2].At(0).state, MemberState::kDiverged);
  EXPECT_EQ(cells[2].At(1).state, MemberState::kFailed);
  EXPECT_EQ(cells[3].At(0).state, MemberState::kLeased);
  EXPECT_EQ(cells[3].At(1).state, MemberState::kWaiting);
  EXPECT_FALSE(cells[3].members.contains(1)) << "nothing has happened to it";
  const auto restored = scheduler::Scheduler::Restore({}, *state, absl::UnixEpoch());
  EXPECT_THAT(restored.BrokenInvariants(), testing::IsEmpty());
  EXPECT_EQ(restored.CountsOf(SweepId{1})->times.count, 5u);
}

TEST_F(MigrationTest, EnvironmentsThatDifferInWhatWasMeasuredBecomeOne) {
  SQLite::Database old(path_, SQLite::OPEN_READONLY);
  std::map<std::string, Json> environments;  // By lease.
  SQLite::Statement row(old,
                        "SELECT a.lease, e.facts FROM attempt a JOIN environment e "
                        "ON e.sha256 = a.environment");
  while (row.executeStep()) {
    Json facts = *ParseJson(row.getColumn(1).getString());
    facts["measured"]["load_at_end"] = facts["load_at_end"];  // Where they are from now on.
    facts["measured"]["load_at_start"] = facts["machine"]["load"];
    facts.erase("load_at_end");
    facts["machine"].erase("load");
    environments[row.getColumn(0).getString()] = facts;
  }
  ASSERT_EQ(environments.size(), 5u);

  ASSERT_NE(Open(), nullptr);

  EXPECT_EQ(AskHere("SELECT count(*) FROM environment"), Rows({"1"}));
  SQLite::Database database(path_, SQLite::OPEN_READONLY);
  SQLite::Statement kept(database,
                         "SELECT a.lease, e.facts, a.measured, e.sha256 FROM attempt a "
                         "JOIN environment e USING (environment)");
  size_t seen = 0;
  while (kept.executeStep()) {
    const std::string facts = kept.getColumn(1).getString();
    EXPECT_EQ(Sha256Hex(facts), kept.getColumn(3).getString());
    EXPECT_EQ(*ParseJson(JoinEnvironment(facts, kept.getColumn(2).getString())),
              environments.at(kept.getColumn(0).getString()));
    ++seen;
  }
  EXPECT_EQ(seen, 5u);
}

TEST_F(MigrationTest, AnEnvironmentThatIsGoneIsNotTakenForNone) {
  Change("UPDATE attempt SET environment = 'gone' WHERE lease = 1");

  ASSERT_NE(Open(), nullptr);

  EXPECT_EQ(AskHere("SELECT lease FROM attempt a WHERE environment IS NOT NULL AND NOT EXISTS "
                    "(SELECT 1 FROM environment e WHERE e.environment = a.environment)"),
            Rows({"1"}));
}

TEST_F(MigrationTest, ADamagedEnvironmentStaysOne) {
  Change(
      "UPDATE environment SET facts = replace(facts, '\"steps\":2', '\"steps\":3') "
      "WHERE sha256 = (SELECT environment FROM attempt WHERE lease = 1)");

  ASSERT_NE(Open(), nullptr);

  SQLite::Database database(path_, SQLite::OPEN_READONLY);
  SQLite::Statement kept(database, "SELECT facts, sha256 FROM environment");
  size_t damaged = 0;
  while (kept.executeStep()) {
    damaged += Sha256Hex(kept.getColumn(0).getString()) != kept.getColumn(1).getString() ? 1 : 0;
  }
  EXPECT_EQ(damaged, 1u);
}

TEST_F(MigrationTest, ASpecificationIsKeptOncePerCellAndGivesEveryMembersText) {
  const Rows texts = AskHere("SELECT specification FROM lease ORDER BY lease");

  ASSERT_NE(Open(), nullptr);

  EXPECT_EQ(AskHere("SELECT cell, count(*) FROM specification GROUP BY cell"),
            Rows({"0|1", "1|1", "2|1", "3|1"}));
  const Rows hashes = AskHere("SELECT lower(hex(specification_sha256)) FROM lease ORDER BY lease");
  ASSERT_EQ(hashes.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(hashes[i], Sha256Hex(texts[i]));
}

// A member whose row was lost: its cell has fewer than its definition says.
TEST_F(MigrationTest, AHomeThatContradictsItselfIsRefusedAndStaysAsItWas) {
  Change("DELETE FROM member WHERE cell = 3 AND replicate = 1");

  const auto opened = SqliteStore::Open(home_.path());

  EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(opened.status()),
            "the store is damaged: cell s1c3: replicates \"1\", and the definition says \"2\"");
  EXPECT_EQ(AskHere("PRAGMA user_version"), Rows({"2"}));
  EXPECT_EQ(AskHere("SELECT count(*) FROM lane"), Rows({"72"}));
}

TEST_F(MigrationTest, WhatCannotBeBroughtOverLeavesTheHomeAsItWas) {
  Change("DROP TABLE attempt_metric");
  const Rows before = AskHere("SELECT sql FROM sqlite_schema ORDER BY name");

  const auto opened = SqliteStore::Open(home_.path());

  EXPECT_FALSE(opened.ok());
  EXPECT_EQ(AskHere("SELECT sql FROM sqlite_schema ORDER BY name"), before);
  EXPECT_EQ(AskHere("PRAGMA user_version"), Rows({"2"}));
}

}  // namespace
}  // namespace noisefloor
