// The process that hands over, or the one that takes over, dies, or its disk fails, at each call
// that changes something in either home or in the folder between them. Exactly one of them has the
// data then, with all of them and the live lease; the other is refused; the same command goes on.
#include <signal.h>

#include <filesystem>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/blob_store.h"
#include "coordinator/store/handover_folder.h"
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
constexpr int kDrawn = 10;  // Of each side.
constexpr absl::Duration kPatience = absl::Minutes(2);

class HandoverMatrix : public testing::Test {
 protected:
  // FOLDER/disk/a is a home with a result, its files and a live lease, FOLDER/disk/shared is empty.
  static void MakeHome(const std::string& folder) {
    const std::string home = folder + "/disk/a";
    fs::create_directories(home);
    fs::create_directories(folder + "/disk/shared");
    auto store = SqliteStore::Open(home);
    ASSERT_TRUE(store.ok()) << store.status();
    const auto blobs = BlobStore::Open(home);
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    std::vector<scheduler::Write> story = sample::Story();
    for (scheduler::Write& write : story) {
      auto* end = std::get_if<scheduler::KeepOutcome>(&write);
      if (end == nullptr || !end->accepted) continue;
      const std::string content = "the weights";
      end->outcome.artifacts = {
          {"weights", "weights.safetensors", Sha256Hex(content), content.size()}};
      ASSERT_TRUE(blobs->Put({Sha256Hex(content), content.size()}, content).ok());
    }
    ASSERT_TRUE((*store)->Apply(story).ok());
  }

  // Serves when it has a value; else it ended, and `code` says how.
  struct Started {
    std::optional<Process> process;
    int code = 0;
    bool serves = false;
  };
  static Started Serve(const std::string& folder, const std::string& name, const FaultDisk* disk) {
    const std::vector<std::string> arguments = {NOISEFLOOR,
                                                "serve",
                                                "--home=" + folder + "/disk/" + name,
                                                "--handover=" + folder + "/disk/shared",
                                                "--handover-wait=0s",
                                                "--listen=127.0.0.1:0"};
    auto process =
        Process::Start(disk == nullptr ? arguments : disk->Under(arguments), folder + "/log");
    EXPECT_TRUE(process.ok()) << process.status();
    Started started;
    started.process.emplace(*std::move(process));
    started.serves = started.process->ReadLine(kPatience).ok();
    if (!started.serves) started.code = started.process->Wait(kPatience).value_or(-1000);
    return started;
  }

  static std::vector<std::string> LeasedIn(const std::string& home) {
    return Rows(home, "SELECT member FROM v_member WHERE state = 'leased'");
  }
  static void ExpectHasAll(const std::string& home) {
    EXPECT_THAT(FaultsOf(home), IsEmpty());
    EXPECT_EQ(StudyOf(home), *study_);
    EXPECT_EQ(LeasedIn(home), std::vector<std::string>{"s1c1r2"});
    EXPECT_EQ(ReadEpoch(home).value_or(9), 0u);
  }
  // It serves, with everything.
  static void ExpectServes(const std::string& folder, const std::string& name) {
    const Started started = Serve(folder, name, nullptr);
    ASSERT_TRUE(started.serves) << name << " ended with " << started.code << ": "
                                << EndOfFile(folder + "/log", 6000);
    ExpectHasAll(folder + "/disk/" + name);
  }
  static void ExpectRefused(const std::string& folder, const std::string& name) {
    const Started started = Serve(folder, name, nullptr);
    EXPECT_FALSE(started.serves) << name << " serves, too";
    EXPECT_EQ(started.code, 1) << EndOfFile(folder + "/log", 6000);
  }

  static Term LastTerm(const std::string& folder) {
    const auto term = HandoverFolder(folder + "/disk/shared").LastTerm();
    EXPECT_TRUE(term.ok()) << term.status();
    return term.value_or(Term());
  }
  static std::string IdOf(const std::string& folder, const std::string& name) {
    const auto mark = ReadHomeMark(folder + "/disk/" + name);
    return mark.ok() && *mark ? (*mark)->id : "";
  }

  // `live` makes one life with that fault, and says how many calls there were to fail.
  using Live = std::function<int64_t(int64_t call, FaultKind kind, uint64_t seed)>;
  static void TryAll(const Live& live, int64_t at_least) {
    const int64_t calls = live(0, FaultKind::kNone, 0);
    ASSERT_GE(calls, at_least);
    Chance chance(CrashSeed());
    fired_ = 0;
    const int64_t points = calls * std::ssize(kKinds);
    const int64_t lives = EveryPoint() ? points : kDrawn;
    for (int64_t i = 0; i < lives && !HasFailure(); ++i) {
      // Making and syncing 256 folders is most of it: every other life is of what comes after.
      const int64_t last = std::min<int64_t>(points, at_least * std::ssize(kKinds));
      const int64_t from = i % 2 == 0 ? 0 : points - last;
      const auto drawn = static_cast<int64_t>(chance.Below(static_cast<uint64_t>(points - from)));
      const int64_t point = EveryPoint() ? i : from + drawn;
      const int64_t call = 1 + point / std::ssize(kKinds);
      const FaultKind kind = kKinds[point % std::ssize(kKinds)];
      const uint64_t seed = i % 4 < 2 ? 0 : CrashSeed() + 1;
      SCOPED_TRACE("call " + std::to_string(call) + ", " + NameOf(kind) + ", seed " +
                   std::to_string(seed));
      (void)live(call, kind, seed);
    }
    std::cout << calls << " calls, " << lives << " lives, in " << fired_ << " something happened\n";
    EXPECT_GE(fired_ * 10, lives * 8);
  }

  static void SetUpTestSuite() {
    const TempHome folder;
    MakeHome(folder.path());
    study_ = new std::vector<std::string>(StudyOf(folder.path() + "/disk/a"));
    EXPECT_THAT(FaultsOf(folder.path() + "/disk/a"), IsEmpty());
  }
  static void TearDownTestSuite() { delete study_; }

  static std::vector<std::string>* study_;
  static int64_t fired_;
};
std::vector<std::string>* HandoverMatrix::study_ = nullptr;
int64_t HandoverMatrix::fired_ = 0;

TEST_F(HandoverMatrix, WhoHandsOverHasTheDataOrTheSuccessorCanHaveThem) {
  TryAll(
      [](int64_t call, FaultKind kind, uint64_t seed) -> int64_t {
        const TempHome folder;
        MakeHome(folder.path());
        int64_t calls = 0;
        {
          FaultDisk disk(folder.path() + "/disk");
          Started first = Serve(folder.path(), "a", &disk);
          EXPECT_TRUE(first.serves) << EndOfFile(folder.path() + "/log", 6000);
          calls = disk.calls();
          if (kind != FaultKind::kNone) disk.FailIn(call, kind, seed);
          first.process->Signal(SIGTERM);
          const int code = first.process->Wait(kPatience).value_or(-1000);
          if (kind == FaultKind::kNone) {
            EXPECT_EQ(code, 0) << EndOfFile(folder.path() + "/log", 6000);
          }
          calls = disk.calls() - calls;
          fired_ += disk.fired() > 0;
        }
        if (LastTerm(folder.path()).end) {
          ExpectServes(folder.path(), "b");
          ExpectRefused(folder.path(), "a");
        } else {
          ExpectRefused(folder.path(), "b");
          ExpectServes(folder.path(), "a");
        }
        return calls;
      },
      40);
}

TEST_F(HandoverMatrix, WhoTakesOverHasThemAllOrLeavesThemToOthers) {
  TryAll(
      [](int64_t call, FaultKind kind, uint64_t seed) -> int64_t {
        const TempHome folder;
        MakeHome(folder.path());
        {
          Started first = Serve(folder.path(), "a", nullptr);
          first.process->Signal(SIGTERM);
          EXPECT_EQ(first.process->Wait(kPatience).value_or(-1000), 0);
        }
        int64_t calls = 0;
        {
          FaultDisk disk(folder.path() + "/disk");
          if (kind != FaultKind::kNone) disk.FailIn(call, kind, seed);
          const Started second = Serve(folder.path(), "b", &disk);
          if (kind == FaultKind::kNone) {
            EXPECT_TRUE(second.serves) << EndOfFile(folder.path() + "/log", 6000);
          }
          calls = disk.calls();
          fired_ += disk.fired() > 0;
        }
        const Term term = LastTerm(folder.path());
        // Left, or given back: it had them, and could not serve.
        if (term.number == 1 || term.end) {
          ExpectServes(folder.path(), "c");
          ExpectRefused(folder.path(), "b");
          ExpectRefused(folder.path(), "a");
        } else {
          EXPECT_EQ(term.claim.id, IdOf(folder.path(), "b"));
          ExpectRefused(folder.path(), "c");
          ExpectRefused(folder.path(), "a");
          ExpectServes(folder.path(), "b");
        }
        return calls;
      },
      60);
}

}  // namespace
}  // namespace noisefloor::test
