// People's own SQL: what it sees, what it may do, and the seeds that no other reader can derive.
#include "coordinator/store/own_sql.h"

#include <filesystem>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/seed.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Kept final : SqlAnswer {
  void Columns(std::vector<std::string> names) override { columns = std::move(names); }
  void Row(std::vector<SqlValue> values) override { rows.push_back(std::move(values)); }
  std::vector<std::string> columns;
  std::vector<std::vector<SqlValue>> rows;
};

class OwnSqlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = SqliteStore::Open(home_.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    ASSERT_TRUE(store_->Apply(std::vector<scheduler::Write>{sample::Keep()}).ok());
  }

  absl::Status Ask(const std::string& sql) {
    kept_ = {};
    auto sql_reader = OwnSql::Open(home_.path());
    if (!sql_reader.ok()) return sql_reader.status();
    return sql_reader->Ask(sql, kept_);
  }
  std::string Refused(const std::string& sql) {
    const absl::Status status = Ask(sql);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << sql << ": " << status;
    EXPECT_THAT(kept_.rows, IsEmpty()) << sql;
    return Message(status);
  }
  // The one value of the answer.
  std::string Text(const std::string& sql) {
    const absl::Status status = Ask(sql);
    EXPECT_TRUE(status.ok()) << status;
    if (kept_.rows.size() != 1 || !std::holds_alternative<std::string>(kept_.rows[0].at(0))) {
      ADD_FAILURE() << sql << ": " << kept_.rows.size() << " rows, or no text";
      return "";
    }
    return std::get<std::string>(kept_.rows[0][0]);
  }

  TempHome home_;
  std::unique_ptr<SqliteStore> store_;
  Kept kept_;
};

// Python: M = lambda x: the finaliser of SplitMix64 after its increment, modulo 2^64;
// M(M(M(M(18446744073709551615) ^ 1) ^ 0) ^ 3).
TEST_F(OwnSqlTest, ASeedIsThatOfTheRule) {
  EXPECT_EQ(Text("SELECT nf_seed('18446744073709551615', 'init', 0, 3)"), "14455067412989396321");
  EXPECT_EQ(Text("SELECT seed FROM v_seed WHERE member = 's1c1r2' AND source = 'init'"),
            "14455067412989396321");
}

TEST_F(OwnSqlTest, EveryMemberHasTheSeedsThatItsTrainerIsGiven) {
  const sweep::Sweep content = sample::Content();
  size_t compared = 0;
  for (const sweep::Cell& cell : sweep::Expand(content)) {
    for (uint32_t replicate = 0; replicate < 3; ++replicate) {
      const Training given = sweep::MemberTraining(content, cell, replicate, "", "", "");
      for (const NoiseSource source : kAllNoiseSources) {
        if (!IsTold(source, given.Source(source).state)) continue;
        EXPECT_EQ(
            Text("SELECT seed FROM v_seed WHERE sweep = 1 AND cell = " +
                 std::to_string(cell.index) + " AND replicate = " + std::to_string(replicate) +
                 " AND source = '" + std::string(Name(source)) + "'"),
            std::to_string(given.Source(source).seed));
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 4u * 3u * 9u);
}

TEST_F(OwnSqlTest, ASeedOfNothingIsNothingAndOfNonsenseAnError) {
  ASSERT_TRUE(Ask("SELECT nf_seed(NULL, 'init', 0, 0)").ok());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(kept_.rows.at(0).at(0)));
  for (const char* wrong : {"'-1', 'init', 0, 0", "'1', 'luck', 0, 0", "'1', 'init', -1, 0",
                            "'1', 'init', 0, 0.5", "'1x', 'init', 0, 0"}) {
    EXPECT_THAT(Refused(std::string("SELECT nf_seed(") + wrong + ")"),
                HasSubstr("nf_seed: expected a sweep's seed"));
  }
}

TEST_F(OwnSqlTest, ValuesKeepTheirKinds) {
  ASSERT_TRUE(Ask("SELECT NULL AS a, -3 AS b, 0.1 AS c, 'd' AS d, x'00ff' AS e, 9e999 AS f").ok());
  EXPECT_THAT(kept_.columns, ElementsAre("a", "b", "c", "d", "e", "f"));
  const std::vector<SqlValue>& row = kept_.rows.at(0);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(row[0]));
  EXPECT_EQ(std::get<int64_t>(row[1]), -3);
  EXPECT_EQ(std::get<double>(row[2]), 0.1);
  EXPECT_EQ(std::get<std::string>(row[3]), "d");
  EXPECT_EQ(std::get<SqlBlob>(row[4]).bytes, std::string("\0\xff", 2));
  EXPECT_EQ(std::get<double>(row[5]), std::numeric_limits<double>::infinity());
}

TEST_F(OwnSqlTest, OnlyReads) {
  const std::string other = home_.path() + "/other.db";
  const std::vector<std::string> writing = {"DELETE FROM sweep",
                                            "UPDATE sweep SET name = 'x'",
                                            "DROP TABLE sweep",
                                            "CREATE TEMP TABLE t (a)",
                                            "PRAGMA query_only = OFF",
                                            "PRAGMA wal_checkpoint(TRUNCATE)",
                                            "PRAGMA journal_mode = DELETE",
                                            "ATTACH '" + other + "' AS other",
                                            "VACUUM INTO '" + other + "'",
                                            "BEGIN"};
  for (const std::string& sql : writing) {
    EXPECT_EQ(Refused(sql), "only reads: expected SELECT, WITH, VALUES or EXPLAIN") << sql;
  }
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_EQ(Refused("UPDATE sqlite_master SET sql = ''"),
            "table sqlite_master may not be modified");
  EXPECT_TRUE(Ask("SELECT * FROM v_device").ok());
  EXPECT_TRUE(Ask("SELECT * FROM pragma_table_info('v_seed')").ok());
  EXPECT_THAT(kept_.rows, SizeIs(9));
  EXPECT_TRUE(Ask("PRAGMA table_info(sweep)").ok());
  EXPECT_TRUE(Ask("EXPLAIN QUERY PLAN SELECT * FROM v_member").ok());
  EXPECT_EQ(Text("WITH a(n) AS (VALUES ('x')) SELECT n FROM a"), "x");
  EXPECT_EQ(Text("SELECT name FROM v_sweep"), "two-rates");
}

TEST_F(OwnSqlTest, OneStatement) {
  for (const char* several :
       {"SELECT 1; SELECT 2", "SELECT 1; nonsense", "SELECT 1;; -- a\nSELECT 2"}) {
    EXPECT_EQ(Refused(several), "expected one statement, got several");
  }
  for (const char* nothing : {"", " ;", "-- why?"}) {
    EXPECT_EQ(Refused(nothing), "expected one statement, got nothing");
  }
  EXPECT_TRUE(Ask("-- first\nSELECT 1;; -- done\n /* yes */ ; ").ok());
  EXPECT_THAT(kept_.rows, SizeIs(1));
}

TEST_F(OwnSqlTest, AMistakeHasItsPlace) {
  EXPECT_EQ(Refused("SELECT plan,\n  tpo1 FROM v_accuracy"),
            "line 2, column 3: no such column: tpo1");
  EXPECT_EQ(Refused("SELECT * FROM v_acuracy"), "no such table: v_acuracy");
  EXPECT_EQ(Refused("SELEC 1"), "line 1, column 1: near \"SELEC\": syntax error");
}

TEST_F(OwnSqlTest, SeesWhatIsWrittenBesideItAndAnswersFromOneState) {
  auto reader = OwnSql::Open(home_.path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  struct Writing final : SqlAnswer {
    void Columns(std::vector<std::string>) override {}
    void Row(std::vector<SqlValue>) override {
      if (rows++ == 0) written = store->Apply(std::vector<scheduler::Write>{sample::Keep(2)});
    }
    SqliteStore* store = nullptr;
    absl::Status written;
    int rows = 0;
  } during;
  during.store = store_.get();

  ASSERT_TRUE(reader->Ask("SELECT cell FROM cell", during).ok());

  EXPECT_TRUE(during.written.ok()) << during.written;
  EXPECT_EQ(during.rows, 4);
  ASSERT_TRUE(reader->Ask("SELECT cell FROM cell", kept_).ok());
  EXPECT_THAT(kept_.rows, SizeIs(8));
}

TEST(OwnSql, NoStoreIsMadeWhereThereIsNone) {
  const TempHome home;
  EXPECT_EQ(Message(OwnSql::Open(home.path()).status()), home.path() + "/noisefloor.db: missing");
  EXPECT_FALSE(std::filesystem::exists(home.path() + "/noisefloor.db"));
}

}  // namespace
}  // namespace noisefloor
