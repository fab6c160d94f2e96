// Pools and their launches are read back as they were, and what is gone is not.
#include "coordinator/store/pool_rows.h"

#include "SQLiteCpp/Database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/store/rows_of.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using fleet::LaunchEnd;
using fleet::LaunchPhase;
using scheduler::DropPool;
using scheduler::KeepLaunch;
using scheduler::KeepPool;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const absl::Time kNow = absl::FromUnixSeconds(1700000000);

fleet::PoolRecord PoolOf(uint64_t number, const std::string& name) {
  fleet::PoolRecord pool;
  pool.number = number;
  pool.wish = {.name = name,
               .hardware = "nvidia-a100",
               .cluster = {"--gres=gpu:a100:1", "--comment=\"a b\""},
               .worker = {"--slots=2"},
               .prologue = "module load x\necho 'y'",
               .program = "/opt/nf/noisefloor-worker",
               .access = "/home/a/worker.access",
               .logs = "/home/a/logs",
               .least = 1,
               .most = 7,
               .backlog = 3,
               .idle = absl::Seconds(90),
               .time_limit = absl::Hours(4),
               .drain_before = absl::Minutes(3),
               .gpu_hours = 2.5};
  pool.tag = "1f2e3d4c";
  pool.created_by = "alice";
  pool.created = kNow;
  return pool;
}

fleet::LaunchRecord LaunchOf(uint64_t number, uint64_t pool) {
  fleet::LaunchRecord launch;
  launch.number = number;
  launch.pool = pool;
  launch.nonce = "ab12";
  launch.index = 3;
  launch.stays = true;
  launch.created = kNow;
  return launch;
}

fleet::LaunchRecord Ended(fleet::LaunchRecord launch, LaunchEnd end, absl::Duration after) {
  launch.phase = LaunchPhase::kEnded;
  launch.end = end;
  launch.began = kNow;
  launch.ended = kNow + after;
  return launch;
}

class PoolRowsTest : public ::testing::Test {
 protected:
  void Apply(const std::vector<scheduler::Write>& writes) {
    auto store = SqliteStore::Open(home_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    const absl::Status applied = (*store)->Apply(writes);
    ASSERT_TRUE(applied.ok()) << applied;
  }
  void Damage(const std::string& sql) {
    SQLite::Database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs()).exec(sql);
  }
  std::string Refusal() { return Message(ReadFleet(home_.path()).status()); }
  TempHome home_;
};

TEST_F(PoolRowsTest, AreReadBackAsTheyAreNow) {
  fleet::PoolRecord pool = PoolOf(1, "a100");
  fleet::LaunchRecord launch = LaunchOf(4, 1);
  Apply({KeepPool{pool}, KeepLaunch{launch}});
  auto kept = ReadFleet(home_.path());
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->pools, ElementsAre(pool));
  EXPECT_THAT(kept->launches, ElementsAre(launch));

  pool.state = fleet::PoolState::kPaused;
  pool.why = "its \"last\" 3";
  pool.classes = {"nvidia-a100", "b"};
  pool.stacks = {"torch"};
  pool.slots = 2;
  pool.forgiven = 3;
  launch.phase = LaunchPhase::kAlive;
  launch.job = "24_3";
  launch.node = "n7";
  launch.heard = true;
  launch.began = kNow + absl::Seconds(5);
  Apply({KeepPool{pool}, KeepLaunch{launch}});
  Apply({KeepPool{pool}, KeepLaunch{launch}});  // Once more changes nothing.

  kept = ReadFleet(home_.path());
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->pools, ElementsAre(pool));
  EXPECT_THAT(kept->launches, ElementsAre(launch));
  EXPECT_EQ(kept->last_pool, 1u);
  EXPECT_EQ(kept->last_launch, 4u);
  EXPECT_TRUE(kept->used.empty());
}

TEST_F(PoolRowsTest, ALaunchThatEndsAfterItWasKeptHasItsEndAndCountsItsTime) {
  fleet::LaunchRecord launch = LaunchOf(4, 1);
  launch.phase = LaunchPhase::kAlive;
  launch.began = kNow;
  Apply({KeepPool{PoolOf(1, "a100")}, KeepLaunch{launch}});
  launch = Ended(launch, LaunchEnd::kWell, absl::Hours(2));
  Apply({KeepLaunch{launch}});

  const auto kept = ReadFleet(home_.path());

  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->launches, ElementsAre(launch));
  EXPECT_THAT(kept->used, ElementsAre(Pair(1, absl::Hours(2))));
}

TEST_F(PoolRowsTest, WhatIsGoneIsNotThereButItsNumbersAreTaken) {
  Apply({KeepPool{PoolOf(1, "a100")}, KeepLaunch{LaunchOf(9, 1)}, KeepPool{PoolOf(2, "v100")},
         DropPool{1, kNow}, DropPool{1, kNow + absl::Hours(1)}, KeepPool{PoolOf(3, "a100")}});

  const auto kept = ReadFleet(home_.path());

  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->pools.size(), 2u);
  EXPECT_EQ(kept->pools[0].number, 2u);
  EXPECT_EQ(kept->pools[1].number, 3u);
  EXPECT_TRUE(kept->launches.empty());
  EXPECT_EQ(kept->last_pool, 3u);
  EXPECT_EQ(kept->last_launch, 9u);
}

TEST_F(PoolRowsTest, OfLaunchesThatEndedTheLastTwentyOfEachPoolAndTheTimeOfAll) {
  std::vector<scheduler::Write> writes = {KeepPool{PoolOf(1, "a")}, KeepPool{PoolOf(2, "b")}};
  for (uint64_t number = 1; number <= 30; ++number) {
    writes.emplace_back(
        KeepLaunch{Ended(LaunchOf(number, 1), LaunchEnd::kWell, absl::Minutes(number))});
  }
  writes.emplace_back(KeepLaunch{Ended(LaunchOf(31, 2), LaunchEnd::kBroken, absl::Minutes(7))});
  fleet::LaunchRecord refused = Ended(LaunchOf(32, 2), LaunchEnd::kRefused, absl::Minutes(9));
  refused.began = absl::InfiniteFuture();
  writes.emplace_back(KeepLaunch{refused});
  writes.emplace_back(KeepLaunch{LaunchOf(33, 2)});
  Apply(writes);

  const auto kept = ReadFleet(home_.path());

  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->launches.size(), 23u);
  EXPECT_EQ(kept->launches[0].number, 11u);
  EXPECT_EQ(kept->launches[20].end, LaunchEnd::kBroken);
  EXPECT_EQ(kept->launches[21], refused);
  EXPECT_EQ(kept->launches[22].phase, LaunchPhase::kIntended);
  EXPECT_THAT(kept->used, ElementsAre(Pair(1, absl::Minutes(465)), Pair(2, absl::Minutes(7))));
}

TEST_F(PoolRowsTest, TheLastTwentyAreThoseThatEndedLast) {
  std::vector<scheduler::Write> writes = {KeepPool{PoolOf(1, "a")}};
  for (uint64_t number = 1; number <= 21; ++number) {
    const absl::Duration after = absl::Minutes(number == 1 ? 100 : number);
    writes.emplace_back(KeepLaunch{Ended(LaunchOf(number, 1), LaunchEnd::kWell, after)});
  }
  Apply(writes);

  const auto kept = ReadFleet(home_.path());

  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->launches.size(), 20u);
  EXPECT_EQ(kept->launches[0].number, 1u) << "it began first";
  EXPECT_EQ(kept->launches[1].number, 3u);
}

TEST_F(PoolRowsTest, ViewsTellThemInWords) {
  Apply({KeepPool{PoolOf(1, "a100")},
         KeepLaunch{Ended(LaunchOf(1, 1), LaunchEnd::kTaken, absl::Hours(2))},
         KeepLaunch{LaunchOf(2, 1)}});
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READONLY);
  EXPECT_THAT(RowsOf(database, "SELECT name, state, launches, live, hours FROM v_pool"),
              ElementsAre("a100|active|2|1|2.0"));
  EXPECT_THAT(
      RowsOf(database, "SELECT worker, phase, ending, ended_utc FROM v_launch"),
      ElementsAre("a100-ab12-3|ended|taken|2023-11-15 00:13:20", "a100-ab12-3|intended|NULL|NULL"));
}

TEST_F(PoolRowsTest, EveryStandingHasItsWord) {
  std::vector<scheduler::Write> writes;
  for (uint64_t number = 1; number <= 4; ++number) {
    fleet::PoolRecord pool = PoolOf(number, "p" + std::to_string(number));
    if (number == 2) pool.state = fleet::PoolState::kPaused;
    if (number == 3) pool.state = fleet::PoolState::kRemoving;
    writes.emplace_back(KeepPool{pool});
  }
  writes.emplace_back(DropPool{4, kNow});
  const auto live = [](uint64_t number, LaunchPhase phase) {
    fleet::LaunchRecord launch = LaunchOf(number, 1);
    launch.phase = phase;
    return launch;
  };
  for (const fleet::LaunchRecord& launch :
       {live(1, LaunchPhase::kWaiting), live(2, LaunchPhase::kAlive),
        Ended(LaunchOf(3, 1), LaunchEnd::kWell, absl::Hours(1)),
        Ended(LaunchOf(4, 1), LaunchEnd::kBroken, absl::Hours(1)),
        Ended(LaunchOf(5, 1), LaunchEnd::kRefused, absl::Hours(1)),
        Ended(LaunchOf(6, 1), LaunchEnd::kGone, absl::Hours(1)),
        Ended(LaunchOf(7, 1), LaunchEnd::kSurplus, absl::Hours(1))}) {
    writes.emplace_back(KeepLaunch{launch});
  }
  Apply(writes);
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READONLY);
  EXPECT_THAT(RowsOf(database, "SELECT name, state, live FROM v_pool ORDER BY pool"),
              ElementsAre("p1|active|2", "p2|paused|0", "p3|removing|0", "p4|gone|0"));
  EXPECT_THAT(RowsOf(database, "SELECT phase, ending FROM v_launch ORDER BY launch"),
              ElementsAre("waiting|NULL", "alive|NULL", "ended|well", "ended|broken",
                          "ended|refused", "ended|gone", "ended|surplus"));
}

TEST_F(PoolRowsTest, ARowThatMakesNoSenseIsNamed) {
  Apply({KeepPool{PoolOf(5, "a")}, KeepLaunch{LaunchOf(6, 5)}});
  Damage("UPDATE launch SET ending = 3");
  EXPECT_EQ(ReadFleet(home_.path()).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Refusal(), HasSubstr("launch 6: phase 1, ending 3"));
  Damage("UPDATE launch SET ending = 0");
  for (const auto& [change, words] : std::vector<std::pair<std::string, std::string>>{
           {"state = 4", "state 4"},
           {"state = 1, wish = '{}'", "wish of a pool"},
           {"wish = 'x'", "wish of a pool: x"}}) {
    Damage("UPDATE pool SET " + change);
    EXPECT_THAT(Refusal(), HasSubstr("pool 5"));
    EXPECT_THAT(Refusal(), HasSubstr(words));
  }
}

}  // namespace
}  // namespace noisefloor
