// The process of `backup`, `restore`, `gc` or `delete` dies, or its disk fails, at each call that
// changes something. A backup that was whole stays so, no name is ever without its file, and the
// same command again finishes what was begun.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/restore.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/crash/budget.h"
#include "tests/crash/home_checker.h"
#include "tests/crash/served.h"

namespace noisefloor::test {
namespace {

using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr FaultKind kKinds[] = {FaultKind::kKill,  FaultKind::kKillAfter, FaultKind::kTorn,
                                FaultKind::kPower, FaultKind::kEio,       FaultKind::kEnospc};
constexpr int kDrawn = 12;  // Of each command.
constexpr int64_t kLastCalls = 70;
constexpr absl::Duration kPatience = absl::Minutes(2);

// Exit code; minus the signal.
int RunOn(const FaultDisk* disk, std::vector<std::string> arguments, const std::string& log) {
  arguments.insert(arguments.begin(), NOISEFLOOR);
  auto process = Process::Start(disk == nullptr ? arguments : disk->Under(arguments), log);
  EXPECT_TRUE(process.ok()) << process.status();
  const auto code = process->Wait(kPatience);
  EXPECT_TRUE(code.ok()) << code.status();
  return code.value_or(-1000);
}

class UpkeepMatrix : public testing::Test {
 protected:
  static constexpr char kWeights[] = "the weights";
  static constexpr char kLog[] = "the log";

  // A member with weights and a log, others in every state; no lease lives.
  static void SetUpTestSuite() {
    template_ = new TempHome();
    const std::string first = template_->path() + "/first";
    fs::create_directories(first);
    auto store = SqliteStore::Open(first);
    ASSERT_TRUE(store.ok()) << store.status();
    const auto blobs = BlobStore::Open(first);
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    std::vector<scheduler::Write> story = sample::Story();
    for (scheduler::Write& write : story) {
      auto* end = std::get_if<scheduler::KeepOutcome>(&write);
      if (end == nullptr || !end->accepted) continue;
      end->outcome.artifacts = {
          {"weights", "weights.safetensors", Sha256Hex(kWeights), sizeof(kWeights) - 1},
          {"log", "log", Sha256Hex(kLog), sizeof(kLog) - 1}};
    }
    for (const std::string& content : {std::string(kWeights), std::string(kLog)}) {
      ASSERT_TRUE(blobs->Put({Sha256Hex(content), content.size()}, content).ok());
    }
    ASSERT_TRUE((*store)->Apply(story).ok());
    store->reset();
    ASSERT_TRUE(MakeBackup(first, template_->path() + "/backup", SystemClock(), {}).ok());
    ASSERT_TRUE(RestoreBackup(template_->path() + "/backup", template_->path() + "/home",
                              SystemClock(), RestoreOptions{})
                    .ok());
    CopyTemplate("home", template_->path() + "/ended");
    ASSERT_EQ(RunOn(nullptr, {"cancel", "s1", "--home=" + template_->path() + "/ended"},
                    template_->path() + "/log"),
              0)
        << EndOfFile(template_->path() + "/log", 6000);
  }
  static void TearDownTestSuite() { delete template_; }

  static void CopyTemplate(const std::string& part, const std::string& to) {
    fs::copy(template_->path() + "/" + part, to, fs::copy_options::recursive);
  }
  static absl::Status Verify(const std::string& backup) {
    return RestoreBackup(backup, "", SystemClock(), {.check_only = true}).status();
  }

  // `prepare` fills a folder, `watched` names what is on the disk that fails, `command` is what is
  // run, `after` looks at what a fault has left, `end` at what the same command leaves then. Where
  // `is_done` says that all is done, the command is not run again: it would be refused.
  struct Story {
    std::function<void(const std::string& folder)> prepare;
    std::string watched;
    std::function<std::vector<std::string>(const std::string& folder)> command;
    std::function<void(const std::string& folder)> after;
    std::function<void(const std::string& folder)> end;
    std::function<bool(const std::string& folder)> is_done = [](const std::string&) {
      return false;
    };
  };

  static int64_t Live(const Story& story, int64_t call, FaultKind kind, uint64_t seed) {
    const TempHome folder;
    story.prepare(folder.path());
    const std::string log = folder.path() + "/log";
    int64_t calls = 0;
    {
      FaultDisk disk(folder.path() + "/" + story.watched);
      if (kind != FaultKind::kNone) disk.FailIn(call, kind, seed);
      const int code = RunOn(&disk, story.command(folder.path()), log);
      if (kind == FaultKind::kNone) {
        EXPECT_EQ(code, 0) << EndOfFile(log, 6000);
      }
      calls = disk.calls();
      fired_ += disk.fired() > 0;
    }
    story.after(folder.path());
    if (!story.is_done(folder.path())) {
      EXPECT_EQ(RunOn(nullptr, story.command(folder.path()), log), 0) << EndOfFile(log, 6000);
    }
    story.end(folder.path());
    return calls;
  }

  static void TryAll(const Story& story, int64_t at_least) {
    // What goes in pieces between other work makes as many calls as it has pieces, now more, now
    // fewer: a fault behind the fewest may never come.
    int64_t calls = std::numeric_limits<int64_t>::max();
    for (int i = 0; i < 3; ++i) calls = std::min(calls, Live(story, 0, FaultKind::kNone, 0));
    ASSERT_GE(calls, at_least);
    Chance chance(CrashSeed());
    fired_ = 0;
    const int64_t points = calls * std::ssize(kKinds);
    const int64_t lives = EveryPoint() ? points : kDrawn;
    for (int64_t i = 0; i < lives && !HasFailure(); ++i) {
      // The folders of files are made first: every other life is of what comes after them.
      const int64_t last = std::min(points, kLastCalls * std::ssize(kKinds));
      const int64_t from = i % 2 == 0 ? 0 : points - last;
      const int64_t point =
          EveryPoint()
              ? i
              : from + static_cast<int64_t>(chance.Below(static_cast<uint64_t>(points - from)));
      const int64_t call = 1 + point / std::ssize(kKinds);
      const FaultKind kind = kKinds[point % std::ssize(kKinds)];
      const uint64_t seed = i % 4 < 2 ? 0 : CrashSeed() + 1;
      SCOPED_TRACE("call " + std::to_string(call) + ", " + NameOf(kind) + ", seed " +
                   std::to_string(seed));
      (void)Live(story, call, kind, seed);
    }
    std::cout << calls << " calls, " << lives << " lives, in " << fired_ << " something happened\n";
    EXPECT_GE(fired_ * 10, lives * 8);
  }

  static TempHome* template_;
  static int64_t fired_;
};
TempHome* UpkeepMatrix::template_ = nullptr;
int64_t UpkeepMatrix::fired_ = 0;

TEST_F(UpkeepMatrix, AFirstBackupIsWholeOrSaysThatItIsNot) {
  TryAll(
      {.prepare =
           [](const std::string& folder) {
             CopyTemplate("home", folder + "/home");
             fs::create_directories(folder + "/backup");
           },
       .watched = "backup",
       .command =
           [](const std::string& folder) {
             return std::vector<std::string>{"backup", folder + "/backup",
                                             "--home=" + folder + "/home"};
           },
       .after =
           [](const std::string& folder) {
             const absl::Status whole = Verify(folder + "/backup");
             EXPECT_TRUE(whole.ok() || absl::IsNotFound(whole) || absl::IsFailedPrecondition(whole))
                 << whole;
           },
       .end = [](const std::string& folder) { EXPECT_TRUE(Verify(folder + "/backup").ok()); }},
      20);
}

TEST_F(UpkeepMatrix, TheBackupBeforeStaysWholeUntilTheNextIs) {
  TryAll({.prepare =
              [](const std::string& folder) {
                CopyTemplate("home", folder + "/home");
                CopyTemplate("backup", folder + "/backup");
              },
          .watched = "backup",
          .command =
              [](const std::string& folder) {
                return std::vector<std::string>{"backup", folder + "/backup", "--prune",
                                                "--home=" + folder + "/home"};
              },
          .after =
              [](const std::string& folder) {
                const absl::Status whole = Verify(folder + "/backup");
                EXPECT_TRUE(whole.ok()) << whole;
              },
          .end =
              [](const std::string& folder) {
                const auto manifest = ReadManifest(folder + "/backup");
                ASSERT_TRUE(manifest.ok()) << manifest.status();
                EXPECT_EQ(manifest->epoch, 1u) << "of the home as it is";
                EXPECT_TRUE(Verify(folder + "/backup").ok());
              }},
         20);
}

TEST_F(UpkeepMatrix, NoNameIsEverWithoutItsFile) {
  TryAll({.prepare = [](const std::string& folder) { CopyTemplate("home", folder + "/home"); },
          .watched = "home",
          .command =
              [](const std::string& folder) {
                return std::vector<std::string>{"gc", "--kind=weights", "--older-than=0s",
                                                "--home=" + folder + "/home"};
              },
          .after =
              [](const std::string& folder) { EXPECT_THAT(FaultsOf(folder + "/home"), IsEmpty()); },
          .end =
              [](const std::string& folder) {
                const BlobStore blobs = BlobStore::At(folder + "/home");
                EXPECT_THAT(FaultsOf(folder + "/home"), IsEmpty());
                EXPECT_FALSE(blobs.Has({Sha256Hex(kWeights), sizeof(kWeights) - 1}));
                EXPECT_TRUE(blobs.Has({Sha256Hex(kLog), sizeof(kLog) - 1}));
                EXPECT_EQ(Rows(folder + "/home",
                               "SELECT kind FROM v_artifact WHERE collected_utc IS NOT NULL"),
                          std::vector<std::string>({"weights"}));
              }},
         5);
}

// The database comes last: without it nobody opens what a restoration has begun.
bool IsRestored(const std::string& home) { return fs::exists(home + "/noisefloor.db"); }

TEST_F(UpkeepMatrix, ARestoredHomeIsWholeOrRefused) {
  TryAll({.prepare =
              [](const std::string& folder) {
                CopyTemplate("backup", folder + "/backup");
                fs::create_directories(folder + "/home");
              },
          .watched = "home",
          .command =
              [](const std::string& folder) {
                return std::vector<std::string>{"restore", folder + "/backup",
                                                "--home=" + folder + "/home"};
              },
          .after =
              [](const std::string& folder) {
                const std::string home = folder + "/home";
                if (IsRestored(home)) {
                  EXPECT_THAT(FaultsOf(home), IsEmpty());
                } else {
                  EXPECT_NE(RunOn(nullptr, {"status", "--home=" + home}, folder + "/log"), 0);
                }
                EXPECT_TRUE(Verify(folder + "/backup").ok());
              },
          .end =
              [](const std::string& folder) {
                const std::string home = folder + "/home";
                EXPECT_TRUE(IsRestored(home));
                EXPECT_THAT(FaultsOf(home), IsEmpty());
                EXPECT_EQ(ReadEpoch(home).value_or(0), 1u);
                for (const std::string& content : {std::string(kWeights), std::string(kLog)}) {
                  EXPECT_TRUE(BlobStore::At(home).Has({Sha256Hex(content), content.size()}));
                }
              },
          .is_done = [](const std::string& folder) { return IsRestored(folder + "/home"); }},
         20);
}

bool HasSweep(const std::string& home) {
  return Rows(home, "SELECT count(*) FROM v_sweep WHERE sweep = 1") ==
         std::vector<std::string>{"1"};
}

TEST_F(UpkeepMatrix, ASweepIsThereOrDeletedAndItsRowsGo) {
  TryAll(
      {.prepare = [](const std::string& folder) { CopyTemplate("ended", folder + "/home"); },
       .watched = "home",
       .command =
           [](const std::string& folder) {
             return std::vector<std::string>{"delete", "s1", "--yes", "--home=" + folder + "/home"};
           },
       .after =
           [](const std::string& folder) {
             const std::string home = folder + "/home";
             EXPECT_THAT(FaultsOf(home), IsEmpty());
             const auto members = Rows(home, "SELECT count(*) > 0 FROM v_member WHERE sweep = 1");
             EXPECT_EQ(members, std::vector<std::string>{HasSweep(home) ? "1" : "0"});
           },
       .end =
           [](const std::string& folder) {
             const std::string home = folder + "/home";
             EXPECT_FALSE(HasSweep(home));
             {
               const auto store = SqliteStore::Open(home);
               ASSERT_TRUE(store.ok()) << store.status();
               while ((*store)->RemoveDeleted(1000).value_or(false)) {
               }
             }
             for (const char* table : {"cell", "member", "lease", "specification"}) {
               EXPECT_EQ(
                   Rows(home, std::string("SELECT count(*) FROM ") + table + " WHERE sweep = 1"),
                   std::vector<std::string>{"0"})
                   << table;
             }
             EXPECT_THAT(FaultsOf(home), IsEmpty());
           },
       .is_done = [](const std::string& folder) { return !HasSweep(folder + "/home"); }},
      5);
}

}  // namespace
}  // namespace noisefloor::test
