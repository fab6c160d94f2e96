// The coordinator is killed at each call of opening a new data directory, and of bringing one of an
// older version to today's. The next start has it as if nothing had happened.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "SQLiteCpp/Database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/crash/budget.h"
#include "tests/crash/home_checker.h"
#include "tests/crash/served.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr FaultKind kKinds[] = {FaultKind::kKill, FaultKind::kKillAfter, FaultKind::kTorn,
                                FaultKind::kPower};
constexpr int64_t kFirstVersion = 2;  // Of version 0.1.0.
constexpr int kDrawn = 4;             // Of each version.

// A home of version 0.1.0, brought to that version.
void MakeHome(const std::string& home, int64_t version) {
  const char* source = std::getenv("NOISEFLOOR_SOURCE");
  ASSERT_NE(source, nullptr) << "run through ctest";
  std::ostringstream text;
  text << std::ifstream(std::string(source) + "/tests/coordinator/store/home_of_0_1.sql").rdbuf();
  fs::create_directories(home);
  SQLite::Database(DatabasePath(home), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec(text.str());
  if (version == kFirstVersion) return;
  const Schema now = CurrentSchema();
  const Schema then = {now.tables, "", now.steps.first(static_cast<size_t>(version) - 1)};
  const auto opened = OpenForWriting(DatabasePath(home), then);
  ASSERT_TRUE(opened.ok()) << opened.status();
}

class MigrationMatrix : public testing::TestWithParam<int64_t> {
 protected:
  // What the first start has to do, and what is there after it.
  struct Calm {
    int64_t calls = 0;
    std::vector<std::string> study;
  };

  void Make(const std::string& home) const {
    if (GetParam() != 0) MakeHome(home, GetParam());
  }

  Calm Watch() const {
    const TempHome folder;
    Make(folder.path() + "/home");
    FaultDisk disk(folder.path() + "/home");
    Served coordinator(folder.path(), &disk);
    const absl::Status started = coordinator.Start();
    EXPECT_TRUE(started.ok()) << started;
    return {disk.calls(), StudyOf(coordinator.home())};
  }

  void Check(const Calm& calm, int64_t call, FaultKind kind, uint64_t seed) {
    SCOPED_TRACE("call " + std::to_string(call) + ", " + NameOf(kind) + ", seed " +
                 std::to_string(seed));
    const TempHome folder;
    Make(folder.path() + "/home");
    FaultDisk disk(folder.path() + "/home");
    Served coordinator(folder.path(), &disk);
    disk.FailIn(call, kind, seed);
    const absl::Status first = coordinator.Start();
    if (first.ok()) coordinator.Kill();  // Its last calls may come when it serves already.
    disk.Mend();

    const absl::Status second = coordinator.Start();

    ASSERT_TRUE(second.ok()) << second;
    EXPECT_EQ(StudyOf(coordinator.home()), calm.study);
    coordinator.Kill();
    EXPECT_EQ(Rows(coordinator.home(), "PRAGMA integrity_check"), std::vector<std::string>({"ok"}));
    EXPECT_EQ(SchemaVersion(DatabasePath(coordinator.home())).value_or(0),
              CurrentSchema().version());
  }
};

TEST_P(MigrationMatrix, KilledAnywhereItComesToTheSame) {
  const Calm calm = Watch();
  ASSERT_GE(calm.calls, 20);
  if (GetParam() != 0) {
    ASSERT_GE(calm.study.size(), 10u);
    ASSERT_THAT(calm.study[0], HasSubstr("sweep 1"));
  }
  Chance chance(CrashSeed());
  const int64_t lives = EveryPoint() ? calm.calls * std::ssize(kKinds) : kDrawn;
  for (int64_t i = 0; i < lives && !HasFailure(); ++i) {
    const auto drawn =
        static_cast<int64_t>(chance.Below(static_cast<uint64_t>(calm.calls * std::ssize(kKinds))));
    const int64_t point = EveryPoint() ? i : drawn;
    const uint64_t seed = point % 2 == 0 ? 0 : CrashSeed() + 1;
    Check(calm, 1 + point / std::ssize(kKinds), kKinds[point % std::ssize(kKinds)], seed);
  }
}

// 0: a new one.
INSTANTIATE_TEST_SUITE_P(Versions, MigrationMatrix,
                         testing::Range<int64_t>(kFirstVersion, CurrentSchema().version()));
INSTANTIATE_TEST_SUITE_P(New, MigrationMatrix, testing::Values(int64_t{0}));

}  // namespace
}  // namespace noisefloor::test
