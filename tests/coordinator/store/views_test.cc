// The views that people read with their own SQL, and the examples of the store's README.
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "SQLiteCpp/Statement.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/seed.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/rows_of.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using Kind = Outcome::Kind;
using Rows = std::vector<std::string>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The statements of every block of SQL in a document.
std::vector<std::string> Statements(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::vector<std::string> statements;
  bool sql = false;
  std::string statement;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) {
      sql = line == "```sql";
      continue;
    }
    if (!sql) continue;
    statement += line + "\n";
    if (!line.ends_with(";")) continue;
    statements.push_back(statement);
    statement.clear();
  }
  EXPECT_EQ(statement, "") << "a statement without its end";
  return statements;
}

class ViewsTest : public ::testing::Test {
 protected:
  // Per cell: 0 equal accuracies, 1 one of three diverged, 2 a control cohort of two results, one
  // of which diverged, 3 nothing.
  void SetUp() override {
    auto opened = SqliteStore::Open(home_.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    writes_ = {sample::Keep(), sample::Worker(), sample::Pin(0), sample::Pin(1), sample::Pin(2)};
    for (uint32_t replicate = 0; replicate < 3; ++replicate) {
      End({0, replicate}, Kind::kDone, {{"top1", 0.1}, {"loss", 2.5}}, 'a');
    }
    End({1, 0}, Kind::kDone, {{"top1", 0.5}, {"loss", 1.5}}, 'a');
    End({1, 1}, Kind::kDone, {{"top1", 0.75}}, 'b');
    End({1, 2}, Kind::kDiverged, {{"top1", 0.01}, {"loss", kInfinity}}, 'c');
    End({2, 0}, Kind::kDone, {{"top1", 0.5}, {"top5", 0.875}, {"loss", 1.5}}, 'a');
    End({2, 1}, Kind::kDiverged, {{"loss", std::numeric_limits<double>::quiet_NaN()}}, 'b');
    End({2, 2}, Kind::kDiverged, {{"loss", -kInfinity}}, 'b');
    ASSERT_TRUE(store_->Apply(writes_).ok());
  }

  struct Place {
    uint32_t cell;
    uint32_t replicate;
  };

  // A member that ends at its first attempt with these values and this hash of its weights.
  void End(Place place, Kind kind, const std::map<std::string, double>& metrics, char weights) {
    const MemberId member = sample::Member(place.cell, place.replicate);
    const uint64_t lease = ++leases_;
    writes_.push_back(sample::Grant(lease, member));
    writes_.push_back(sample::Records(lease, member, 1));
    scheduler::KeepOutcome ended = sample::Finish(lease, member);
    ended.outcome.kind = kind;
    ended.outcome.metrics = metrics;
    ended.outcome.hashes = {{"weights", std::string(64, weights)}};
    writes_.push_back(ended);
    const bool done = kind == Kind::kDone;
    writes_.push_back(scheduler::SetMemberState{
        member, done ? MemberState::kDone : MemberState::kDiverged, 1, 0});
  }

  Rows Ask(const std::string& sql) {
    auto reader = OpenForReading(DatabasePath(home_.path()));
    EXPECT_TRUE(reader.ok()) << reader.status();
    return RowsOf(**reader, sql);
  }

  TempHome home_;
  std::unique_ptr<SqliteStore> store_;
  std::vector<scheduler::Write> writes_;
  uint64_t leases_ = 0;
};

TEST_F(ViewsTest, AccuracySaysHowAMemberEndedAndKeepsALossThatIsNotFinite) {
  EXPECT_THAT(
      Ask("SELECT member, outcome, top1, top5, loss, loss_special FROM v_accuracy "
          "WHERE cell > 0 ORDER BY cell, replicate"),
      ElementsAre("s1c1r0|done|0.5|NULL|1.5|", "s1c1r1|done|0.75|NULL|NULL|NULL",
                  "s1c1r2|diverged|0.01|NULL|Inf|inf", "s1c2r0|done|0.5|0.875|1.5|",
                  "s1c2r1|diverged|NULL|NULL|NULL|nan", "s1c2r2|diverged|NULL|NULL|-Inf|-inf"));
}

TEST_F(ViewsTest, MembersAndAttemptsAreCountedAndTimed) {
  EXPECT_THAT(Ask("SELECT members, waiting, done, diverged, failed, submitted_utc FROM v_sweep"),
              ElementsAre("12|3|6|3|0|2023-11-14 22:13:20"));
  EXPECT_THAT(Ask("SELECT attempt, worker, granted_utc, ended_utc, outcome, accepted, "
                  "train_seconds FROM v_attempt WHERE member = 's1c1r2'"),
              ElementsAre("1|box-1|2023-11-14 22:13:22|2023-11-14 22:14:20|diverged|1|47.0"));
  EXPECT_THAT(Ask("SELECT state, attempt, worker, unit, train_seconds FROM v_member "
                  "WHERE cell > 1 AND replicate = 1 ORDER BY cell"),
              ElementsAre("diverged|1|box-1|cpu of box-1|47.0", "waiting|0|NULL|NULL|NULL"));
}

TEST_F(ViewsTest, AReplayHasTheLanesOfWhatItReplaysAndNamesIt) {
  scheduler::KeepSweep replay = sample::Keep(2);
  const sweep::Cell algo = sweep::Expand(sample::Content()).at(1);
  ASSERT_EQ(algo.plan, "algo");
  replay.content = sweep::ReplayOf(sample::Content(), algo,
                                   {.of = sample::Member(1, 2), .count = 2, .hardware = "cpu"});
  replay.cells = sweep::Expand(replay.content);
  ASSERT_TRUE(store_->Apply(std::vector<scheduler::Write>{replay}).ok());

  EXPECT_THAT(Ask("SELECT member, of FROM v_replay"),
              ElementsAre("s2c0r0|s1c1r2", "s2c0r1|s1c1r2"));
  EXPECT_THAT(Ask("SELECT member, lane FROM v_lane WHERE sweep = 2 AND source = 'init'"),
              ElementsAre("s2c0r0|3", "s2c0r1|3"));
  EXPECT_THAT(Ask("SELECT lane FROM v_lane WHERE member = 's1c1r2' AND source = 'init'"),
              ElementsAre("3"));
}

// Every lane that the view computes is the one that the trainer was given.
TEST_F(ViewsTest, LanesOfLevelsAreThoseOfTheRule) {
  scheduler::KeepSweep crossed = sample::Keep(2);
  crossed.content.plans = {{"crossed", *sweep::BuiltInPlan("algo"), 7, 2}};
  LaneRules& rules = crossed.content.plans[0].rules;
  RuleOf(rules, NoiseSource::kInit).levels = {0, 0, 1, 1};
  RuleOf(rules, NoiseSource::kDropout).levels = {4, 0, 12345};
  RuleOf(rules, NoiseSource::kDial) = {SourceState::kFree, {0, 1}};
  crossed.cells = sweep::Expand(crossed.content);
  ASSERT_TRUE(store_->Apply(std::vector<scheduler::Write>{crossed}).ok());

  Rows expected;
  for (const sweep::Cell& cell : crossed.cells) {
    for (uint32_t replicate = 0; replicate < 7; ++replicate) {
      for (const NoiseSource source : kAllNoiseSources) {
        if (source == NoiseSource::kLoad) continue;  // Off.
        const Lane lane = LaneOf(RuleOf(rules, source), cell.block, replicate);
        expected.push_back(fmt::format("s2c{}r{}|{}|{}|{}", cell.index, replicate, Name(source),
                                       lane.block, lane.number));
      }
    }
  }
  EXPECT_THAT(Ask("SELECT member, source, block, lane FROM v_lane WHERE sweep = 2"),
              testing::UnorderedElementsAreArray(expected));
}

TEST_F(ViewsTest, WhatAWorkerHasAndWithholdsIsThere) {
  EXPECT_THAT(Ask("SELECT worker, device, unit, model, memory_bytes FROM v_device"),
              ElementsAre("box-1|0|cpu of box-1|Test 9000|NULL"));
  EXPECT_THAT(Ask("SELECT worker, what, hardware, reason FROM v_withheld"),
              ElementsAre("box-1|GPU-9|nvidia-t4|it burns"));
  EXPECT_THAT(Ask("SELECT DISTINCT unit FROM v_attempt"), ElementsAre("cpu of box-1"));
}

TEST_F(ViewsTest, TheExamplesOfTheReadmeSayWhatTheReportSays) {
  const char* source = std::getenv("NOISEFLOOR_SOURCE");
  ASSERT_NE(source, nullptr) << "run through ctest, which sets NOISEFLOOR_SOURCE";
  const std::vector<std::string> examples =
      Statements(std::string(source) + "/coordinator/store/README.md");
  ASSERT_EQ(examples.size(), 4u);

  const std::string slow = R"({"train.optimizer.learning_rate":0.05})";
  const std::string fast = R"({"train.optimizer.learning_rate":0.5})";
  EXPECT_THAT(Ask(examples[0]),
              ElementsAre("control|cpu-test-avx2|" + slow + "|3|0.1|0.0",
                          "algo|cpu-test-avx2|" + slow + "|2|0.625|0.176776695296637",
                          "control|cpu-test-avx2|" + fast + "|1|0.5|NULL"))
      << examples[0];
  EXPECT_THAT(Ask(examples[1]), ElementsAre("2|cpu-test-avx2|2")) << examples[1];
  EXPECT_THAT(Ask(examples[2]), ElementsAre("10|0.5|NULL|nan")) << examples[2];
  EXPECT_THAT(Ask(examples[3]), testing::IsEmpty()) << "there is no inference";
}

}  // namespace
}  // namespace noisefloor
