// A value that changed on the disk is refused with its row; nothing is invented and nothing
// crashes.
#include <string>

#include "SQLiteCpp/Database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using scheduler::Write;

// What the next process says of a store in which `sql` has changed something.
absl::Status RecoverAfter(const std::string& sql) {
  const TempHome home;
  {
    auto store = SqliteStore::Open(home.path());
    if (!store.ok()) return store.status();
    const absl::Status kept = (*store)->Apply(sample::Story());
    if (!kept.ok()) return kept;
  }
  {
    SQLite::Database raw(DatabasePath(home.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
    raw.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; " + sql);
  }
  auto store = SqliteStore::Open(home.path());
  if (!store.ok()) return store.status();
  return (*store)->Recover().status();
}

std::string InDefinition(const std::string& from, const std::string& to) {
  return "UPDATE sweep SET definition = replace(definition, '" + from + "', '" + to + "')";
}

struct Damage {
  std::string sql;
  std::string said;  // After "the store is damaged: ".
};

TEST(RecoverTest, WhatWasWrittenIsRead) { EXPECT_TRUE(RecoverAfter("SELECT 1").ok()); }

TEST(RecoverTest, ADefinitionThatIsNotItsRowsIsRefusedByName) {
  const Damage all[] = {
      {InDefinition("\"replicates\":3", "\"replicates\":9"),
       "sweep s1: replicates \"3\", and its definition says \"9\""},
      {InDefinition("\"blocks\":1", "\"blocks\":7"),
       "sweep s1: blocks \"1\", and its definition says \"7\""},
      {InDefinition("two-rates", "two-raters"),
       "sweep s1: name \"two-rates\", and its definition says \"two-raters\""},
      {"UPDATE sweep SET seed = '7'",
       "sweep s1: seed \"7\", and its definition says \"18446744073709551615\""},
      {InDefinition("\"values\":[0.05,0.5]", "\"values\":[]"),
       "sweep s1: its definition has an axis without values"},
      {InDefinition("train.optimizer.learning_rate\",\"values", "train.x\",\"values"),
       "sweep s1: its definition has an impossible axis: "},
      {InDefinition("\"hardware\":[\"cpu-test-avx2\"]", "\"hardware\":[]"),
       "sweep s1: its definition has no cells"},
      {InDefinition("[0.05,0.5]", "[0.05,0.5,0.7]"), "sweep s1: 4 cells, and its definition has 6"},
      {InDefinition("0.05,", "0.07,"),
       "cell s1c0: axes \"{\"train.optimizer.learning_rate\":0.05}\", and the definition says "
       "\"{\"train.optimizer.learning_rate\":0.07}\""},
      {"UPDATE sweep SET definition = substr(definition, 2)", "sweep s1: definition: "},
      {InDefinition("\"blocks\":1", "\"blocks\":4294967295") +
           "; UPDATE sweep SET blocks = 4294967295",
       "sweep s1: its definition has too many cells"},
      {InDefinition("\"replicates\":3", "\"replicates\":90000") +
           "; UPDATE sweep SET replicates = 90000",
       "sweep s1: its definition has no or too many members"},
      {InDefinition("\"init\":\"free\"", "\"init\":\"off\""),
       "plans of s1: their sources are not those of its definition"},
  };
  for (const Damage& damage : all) {
    const absl::Status status = RecoverAfter(damage.sql);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << damage.sql;
    EXPECT_THAT(Message(status), testing::StartsWith("the store is damaged: " + damage.said));
  }
}

TEST(RecoverTest, ARowThatContradictsTheOthersIsRefusedByName) {
  const Damage all[] = {
      {"UPDATE lease SET worker = 9 WHERE lease = 3", "lease 3: there is no worker 9"},
      {"UPDATE lease SET worker = 9 WHERE lease = 1", "lease 1: there is no worker 9"},
      {"UPDATE worker SET forgotten = 1", "lease 3: there is no worker 1"},
      {"UPDATE lease SET cell = 77 WHERE lease = 3", "lease 3: there is no member s1c77r2"},
      {"UPDATE lease SET replicate = 77 WHERE lease = 4", "lease 4: there is no member s1c1r77"},
      {"UPDATE lease SET sweep = 5 WHERE lease = 3", "lease 3: there is no member s5c1r2"},
      {"UPDATE lease SET cell = 4294967297 WHERE lease = 3",
       "lease 3: there is no member s1c4294967295r2"},
      {"UPDATE lease SET attempt = 8 WHERE lease = 3",
       "lease 3: attempt 8 of s1c1r2, which has had 1"},
      {"UPDATE lease SET drop_cause = 'bux' WHERE lease = 4", "lease 4: drop_cause \"bux\""},
      {"UPDATE lease SET cell = 9 WHERE lease = 2",
       "lease 2: a result of s1c9r0, to which nothing has happened"},
      {"UPDATE worker SET identity = '12x' WHERE worker = 2", "worker 2: identity \"12x\""},
      {"UPDATE cell SET plan = 'contrul' WHERE cell = 0",
       "cell s1c0: plan \"contrul\", and the definition says \"control\""},
      {"UPDATE cell SET block = 3 WHERE cell = 0",
       "cell s1c0: block \"3\", and the definition says \"0\""},
      {"UPDATE cell SET hardware = 'gpu' WHERE cell = 3",
       "cell s1c3: hardware \"gpu\", and the definition says \"cpu-test-avx2\""},
      {"UPDATE cell SET stack = '' WHERE cell = 1", "cell s1c1: stack \"\", though it is pinned"},
      {"UPDATE cell SET cell = 9 WHERE cell = 3", "cell s1c9: no definition has such a cell"},
      {"DELETE FROM cell WHERE cell = 3", "sweep s1: 3 cells, and its definition has 4"},
      {"UPDATE cell SET replicates = 4 WHERE cell = 3",
       "cell s1c3: replicates \"4\", and the definition says \"3\""},
      {"UPDATE cell SET untouched = 'done' WHERE cell = 3", "cell s1c3: untouched \"done\""},
      {"UPDATE plan_source SET state = 'fixed' WHERE plan = 'algo' AND source = 'init'",
       "plans of s1: their sources are not those of its definition"},
      {"UPDATE plan_source SET levels = '[0,1]' WHERE plan = 'algo' AND source = 'init'",
       "plans of s1: their sources are not those of its definition"},
      {"DELETE FROM plan_source WHERE plan = 'algo' AND source = 'init'",
       "plans of s1: their sources are not those of its definition"},
      {"DELETE FROM member WHERE cell = 0 AND replicate = 0",
       "lease 2: a result of s1c0r0, to which nothing has happened"},
      {"DELETE FROM member WHERE cell = 1 AND replicate = 2",
       "lease 3: attempt 1 of s1c1r2, which has had 0"},
      {"UPDATE member SET replicate = 9 WHERE cell = 3 AND replicate = 0",
       "s1c3r9: no definition has such a member"},
      {"UPDATE specification SET text = replace(text, '0.05', '0.06')",
       "s1c1r2: no specification of its cell gives the hash of its attempt"},
      {"DELETE FROM specification",
       "s1c1r2: no specification of its cell gives the hash of its attempt"},
      {"UPDATE specification SET text = '{}' WHERE cell = 1",
       "s1c1r2: no specification of its cell gives the hash of its attempt"},
      {"UPDATE member SET state = 'asleep' WHERE cell = 3 AND replicate = 0",
       "s1c3r0: state \"asleep\""},
      {"UPDATE sweep_data SET sweep = 4", "data of s4: there is no such sweep"},
  };
  for (const Damage& damage : all) {
    const absl::Status status = RecoverAfter(damage.sql);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << damage.sql;
    EXPECT_EQ(Message(status), "the store is damaged: " + damage.said);
  }
}

TEST(RecoverTest, APinThatIsTakenBackLeavesTheCellAsItWasMade) {
  const TempHome home;
  auto store = SqliteStore::Open(home.path());
  ASSERT_TRUE(store.ok()) << store.status();
  scheduler::PinCell back = sample::Pin(1);
  back.stack = back.fingerprint = back.build = "";
  scheduler::PinCell other = sample::Pin(1);
  other.fingerprint = "fingerprint-2";
  ASSERT_TRUE((*store)->Apply(std::vector<Write>{sample::Keep(), sample::Pin(1), back}).ok());
  const auto unpinned = (*store)->Recover();
  ASSERT_TRUE(unpinned.ok()) << unpinned.status();
  EXPECT_EQ(unpinned->sweeps[0].cells[1].fingerprint, "");
  EXPECT_EQ(unpinned->sweeps[0].cells[1].cell.stack, "");

  ASSERT_TRUE((*store)->Apply(std::vector<Write>{other}).ok());

  const auto pinned = (*store)->Recover();
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(pinned->sweeps[0].cells[1].fingerprint, "fingerprint-2");
  EXPECT_EQ(pinned->sweeps[0].cells[1].cell.stack, "torch-2.11");
}

}  // namespace
}  // namespace noisefloor
