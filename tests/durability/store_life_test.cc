// Two members' lives at the coordinator, on a disk that fails or loses power at every operation.
//
// Promised is what a step answered with OK: rows by SqliteStore::Apply, files by an upload. What
// was promised must be there, whole, after whatever happened; of the step under way all or nothing.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/durability/seeds.h"
#include "tests/support/model_disk.h"
#include "tests/support/model_vfs.h"

namespace noisefloor {
namespace {

using scheduler::SetMemberState;
using scheduler::Write;
using Survival = ModelDisk::Survival;

const std::string kHome = "/home";

// One thing that the coordinator does and then says that it is done: rows, or a file.
struct Step {
  std::vector<Write> rows;
  std::string file;
};

Step Rows(std::vector<Write> rows) { return {std::move(rows), ""}; }
Step File(std::string content) { return {{}, std::move(content)}; }

BlobName NameOf(const std::string& content) { return {Sha256Hex(content), content.size()}; }

scheduler::KeepOutcome Outcome(uint64_t lease, MemberId member,
                               const std::vector<std::string>& files) {
  scheduler::KeepOutcome outcome = sample::Finish(lease, member);
  outcome.outcome.artifacts.clear();
  for (const std::string& content : files) {
    const std::string kind = "kind " + std::to_string(outcome.outcome.artifacts.size());
    outcome.outcome.artifacts.push_back({kind, kind, Sha256Hex(content), content.size()});
  }
  return outcome;
}

// Submitted, leased, records, files, accepted; then another member with one equal file.
std::vector<Step> Story() {
  const std::string predictions(3000, 'p');
  const std::string weights(1500, 'w');
  const std::string other(700, 'o');
  const MemberId first = sample::Member(0, 0);
  const MemberId second = sample::Member(0, 1);
  const auto ended = [](uint64_t lease) {
    return scheduler::DropLease{LeaseId{lease}, CauseClass::kNone, "", sample::At(60)};
  };
  return {Rows({sample::Keep(),
                scheduler::AppendEvent{
                    SweepId{1}, {}, "submitted", "12 members", sample::At(0), EventId{1}}}),
          Rows({sample::Worker(1)}),
          Rows({sample::Pin(0), sample::Specify(0), sample::Grant(1, first),
                SetMemberState{first, MemberState::kLeased, 1, 0}}),
          Rows({sample::Records(1, first, 1)}),
          File(predictions),
          File(weights),
          Rows({sample::Records(1, first, 2), Outcome(1, first, {predictions, weights}), ended(1),
                SetMemberState{first, MemberState::kDone, 1, 0}}),
          Rows({sample::Grant(2, second), SetMemberState{second, MemberState::kLeased, 1, 0}}),
          Rows({sample::Records(2, second, 1)}),
          File(predictions),
          File(other),
          Rows({Outcome(2, second, {predictions, other}), ended(2),
                SetMemberState{second, MemberState::kDone, 1, 0}})};
}

// A coordinator's hold on its home, from its start to its end.
struct Process {
  BlobStore blobs;
  std::unique_ptr<SqliteStore> store;

  static absl::StatusOr<Process> Start(ModelDisk& disk) {
    NF_ASSIGN_OR_RETURN(BlobStore blobs, BlobStore::Open(kHome, disk));
    NF_RETURN_IF_ERROR(blobs.RemoveLeftovers());
    NF_ASSIGN_OR_RETURN(auto store, SqliteStore::Open(kHome, disk));
    NF_RETURN_IF_ERROR(store->Recover().status());
    return Process{std::move(blobs), std::move(store)};
  }

  // `number`: of the store's step, which may be there already.
  absl::Status Do(const Step& step, StepNumber number) const {
    if (step.file.empty()) return store->Apply(number, step.rows);
    const BlobName name = NameOf(step.file);  // As coordinator/rpc/upload.cc takes it.
    NF_ASSIGN_OR_RETURN(const bool held, blobs.Holds(name));
    if (held) return absl::OkStatus();
    NF_ASSIGN_OR_RETURN(BlobWriter writer, blobs.Create(name));
    NF_RETURN_IF_ERROR(writer.Write(step.file.substr(0, 1000)));
    NF_RETURN_IF_ERROR(writer.Write(step.file.substr(std::min<size_t>(1000, step.file.size()))));
    return writer.Commit();
  }
};

// What a calm life is like; made once.
struct Calm {
  const std::vector<Step> story = Story();
  ModelDisk home;                     // Opened once before: its folders and tables are there.
  std::vector<std::string> expected;  // The rows after so many steps.
  int64_t operations = 0;             // Of a whole life.
};

class StoreLifeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    calm_ = new Calm;
    ASSERT_TRUE(CreateDirectories(kHome, calm_->home).ok());
    EXPECT_EQ(Live(calm_->home, 0, 0), 0u);
    for (size_t steps = 0; steps <= calm_->story.size(); ++steps) {
      ModelDisk disk = calm_->home;
      EXPECT_EQ(Live(disk, 0, steps), steps);
      calm_->operations = disk.operations() - calm_->home.operations();
      calm_->expected.push_back(Dump(disk));
    }
  }
  static void TearDownTestSuite() { delete std::exchange(calm_, nullptr); }

  // A disk on which the next life will have its operation `number` go wrong.
  static int64_t Number(int64_t number) { return calm_->home.operations() + number; }
  static std::string Describe(const ModelDisk& disk, int64_t number) {
    return disk.history().at(static_cast<size_t>(Number(number))) + ", operation " +
           std::to_string(number);
  }

  // Of the store: files are none of its steps.
  static StepNumber NumberOf(size_t step) {
    const auto before = std::span(calm_->story).first(step);
    return 1 + static_cast<StepNumber>(
                   std::ranges::count_if(before, [](const Step& one) { return one.file.empty(); }));
  }

  // Lives from step `from` on; the number of steps that were promised, those before `from` among
  // them. What fails is done again, by a new process when the old one cannot go on; a disk that
  // fails for good is given up.
  static size_t Live(ModelDisk& disk, size_t from, size_t to) {
    ModelVfs vfs(disk);
    int failures = 0;
    size_t done = from;
    while (disk.has_power() && failures < 5) {
      auto process = Process::Start(disk);
      if (!process.ok()) {
        ++failures;
        continue;
      }
      while (done < to && disk.has_power() && failures < 5) {
        const absl::Status status = process->Do(calm_->story[done], NumberOf(done));
        if (status.ok()) {
          ++done;
          continue;
        }
        ++failures;
        if (status.code() == absl::StatusCode::kInternal) break;
      }
      if (done == to) break;
    }
    return done;
  }

  // Every row of every table.
  static std::string Dump(ModelDisk& disk) {
    const ModelVfs vfs(disk);
    SQLite::Database database(DatabasePath(kHome), SQLite::OPEN_READWRITE, 0, SummedVfs());
    SQLite::Statement tables(database, "SELECT name FROM sqlite_schema WHERE type = 'table'");
    std::string text;
    while (tables.executeStep()) {
      const std::string table = tables.getColumn(0).getString();
      SQLite::Statement rows(database, "SELECT * FROM " + table);
      while (rows.executeStep()) {
        text += table;
        for (int i = 0; i < rows.getColumnCount(); ++i) text += "|" + rows.getColumn(i).getString();
        text += "\n";
      }
    }
    return text;
  }

  // The home opens, holds what was promised and nothing half.
  static void Check(ModelDisk disk, size_t promised) {
    {
      const ModelVfs vfs(disk);
      const auto process = Process::Start(disk);
      ASSERT_TRUE(process.ok()) << process.status();
      for (size_t step = 0; step < promised; ++step) {
        if (calm_->story[step].file.empty()) continue;
        EXPECT_TRUE(process->blobs.Verify(NameOf(calm_->story[step].file)).ok())
            << "file of step " << step;
      }
    }
    const std::string found = Dump(disk);
    const bool whole = found == calm_->expected[promised] ||
                       (promised < calm_->story.size() && found == calm_->expected[promised + 1]);
    EXPECT_TRUE(whole) << "rows after " << promised << " steps:\n" << found;
    const std::vector<FolderEntry> folders = disk.List(kHome + "/blobs").value();
    for (const FolderEntry& folder : folders) {
      const std::string path = kHome + "/blobs/" + folder.name;
      const std::vector<std::string> files = ListFiles(path, disk).value();
      for (const std::string& rest : files) {
        EXPECT_EQ(Sha256File(path + "/" + rest, disk).value(), folder.name + rest) << "half a file";
      }
    }
  }

  static Calm* calm_;
};

Calm* StoreLifeTest::calm_ = nullptr;

TEST_F(StoreLifeTest, PowerGoesAtEveryOperation) {
  for (int64_t i = 0; i < calm_->operations && !HasFailure(); ++i) {
    ModelDisk disk = calm_->home;
    disk.LosePowerAt(Number(i));
    const size_t promised = Live(disk, 0, calm_->story.size());
    SCOPED_TRACE(Describe(disk, i));
    Check(disk.AfterPowerLoss(Survival::kNothing), promised);
    Check(disk.AfterPowerLoss(Survival::kEverything), promised);
    for (uint64_t seed = 0; seed < PowerSeeds(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Check(disk.AfterPowerLoss(Survival::kSome, seed), promised);
    }
  }
}

TEST_F(StoreLifeTest, AProcessIsKilledAtEveryOperationAndPowerGoesAfterTheNextHasEnded) {
  for (int64_t i = 0; i < calm_->operations && !HasFailure(); ++i) {
    ModelDisk disk = calm_->home;
    disk.LosePowerAt(Number(i));
    const size_t promised = Live(disk, 0, calm_->story.size());
    SCOPED_TRACE(Describe(disk, i));
    ModelDisk next = disk.AfterKill();
    ASSERT_EQ(Live(next, promised, calm_->story.size()), calm_->story.size());
    Check(next.AfterPowerLoss(Survival::kNothing), calm_->story.size());
  }
}

TEST_F(StoreLifeTest, EveryOperationFailsOnceAndPowerGoesAtTheEnd) {
  const int64_t turns = PowerSeeds() > 1 ? 2 : 1;  // Each with the one error, then with the other.
  for (int64_t i = 0; i < turns * calm_->operations && !HasFailure(); ++i) {
    ModelDisk disk = calm_->home;
    disk.KeepEntriesOfFailedSyncs();
    const int64_t number = i % calm_->operations;
    const bool first = (number + i / calm_->operations) % 2 == 0;
    disk.FailAt(Number(number), first ? EIO : ENOSPC, /*lasting=*/false);
    const size_t promised = Live(disk, 0, calm_->story.size());
    SCOPED_TRACE(Describe(disk, number));
    EXPECT_EQ(promised, calm_->story.size()) << "one failure is got over";
    Check(disk.AfterPowerLoss(Survival::kNothing), promised);
  }
}

TEST_F(StoreLifeTest, TheDiskFailsForGoodAtEveryOperationAndIsReplacedWithItsContent) {
  for (int64_t i = 0; i < calm_->operations && !HasFailure(); ++i) {
    ModelDisk disk = calm_->home;
    disk.FailAt(Number(i), ENOSPC, /*lasting=*/true);
    const size_t promised = Live(disk, 0, calm_->story.size());
    SCOPED_TRACE(Describe(disk, i));
    ModelDisk next = disk.AfterPowerLoss(Survival::kNothing);
    Check(next, promised);
    EXPECT_EQ(Live(next, promised, calm_->story.size()), calm_->story.size()) << "it goes on";
  }
}

// The first opening of a home, which makes its folders, or its tables, and the first promise.
using First = std::function<bool(ModelDisk&)>;

void ExpectPromisesFromTheFirstOpeningOn(const ModelDisk& home, const First& promise,
                                         const First& is_kept) {
  bool whole = false;
  for (int64_t i = home.operations(); !whole && !testing::Test::HasFailure(); ++i) {
    ModelDisk disk = home;
    disk.LosePowerAt(i);
    whole = promise(disk);
    SCOPED_TRACE(disk.history().back());
    for (ModelDisk next : {disk.AfterKill(), disk.AfterPowerLoss(Survival::kNothing),
                           disk.AfterPowerLoss(Survival::kSome, static_cast<uint64_t>(i))}) {
      if (!whole) {
        EXPECT_TRUE(promise(next)) << "the next process can";
      }
      ModelDisk after = next.AfterPowerLoss(Survival::kNothing);
      EXPECT_TRUE(is_kept(after));
    }
  }
}

TEST_F(StoreLifeTest, FilesAreKeptFromTheFirstOpeningOn) {
  const BlobName name = NameOf("predictions");
  ModelDisk home;
  ASSERT_TRUE(CreateDirectories(kHome, home).ok());
  ExpectPromisesFromTheFirstOpeningOn(
      home,
      [&](ModelDisk& disk) {
        const auto blobs = BlobStore::Open(kHome, disk);
        return blobs.ok() && blobs->Put(name, "predictions").ok();
      },
      [&](ModelDisk& disk) { return BlobStore::Open(kHome, disk)->Verify(name).ok(); });
}

TEST_F(StoreLifeTest, RowsAreKeptFromTheFirstOpeningOn) {
  ModelDisk home;
  ASSERT_TRUE(CreateDirectories(kHome, home).ok());
  ExpectPromisesFromTheFirstOpeningOn(
      home,
      [](ModelDisk& disk) {
        const ModelVfs vfs(disk);
        const auto store = SqliteStore::Open(kHome, disk);
        return store.ok() && (*store)->Apply(1, calm_->story[0].rows).ok();
      },
      [](ModelDisk& disk) { return Dump(disk) == calm_->expected[1]; });
}

// The folder's sync fails after the rename, and the same content comes again: that it is seen there
// proves nothing, so it is written anew.
TEST_F(StoreLifeTest, AFileWhoseFolderCouldNotBeSyncedIsNotKnownAlready) {
  ModelDisk disk = calm_->home;
  const BlobStore blobs = *BlobStore::Open(kHome, disk);
  const std::string content = "predictions";
  const BlobName name = NameOf(content);
  EXPECT_FALSE(*blobs.Holds(name));
  disk.FailAt(disk.operations() + 4, EIO, /*lasting=*/false);  // After create, write, sync, rename.

  EXPECT_FALSE(blobs.Put(name, content).ok());
  ASSERT_TRUE(disk.history().back().starts_with("sync " + kHome + "/blobs/")) << "of the folder";
  EXPECT_TRUE(blobs.Verify(name).ok()) << "it is seen";
  EXPECT_FALSE(*blobs.Holds(name)) << "and not trusted";
  ASSERT_TRUE(blobs.Put(name, content).ok());

  ModelDisk after = disk.AfterPowerLoss(Survival::kNothing);
  EXPECT_TRUE(BlobStore::Open(kHome, after)->Verify(name).ok());
}

// The same, with a process that ended between its rename and its sync.
TEST_F(StoreLifeTest, WhatIsKnownAlreadyIsSyncedBeforeThatIsSaid) {
  ModelDisk disk = calm_->home;
  const BlobName name = NameOf("weights");
  {
    const BlobStore blobs = *BlobStore::Open(kHome, disk);
    disk.LosePowerAt(disk.operations() + 4);
    EXPECT_FALSE(blobs.Put(name, "weights").ok());
  }
  ModelDisk next = disk.AfterKill();
  const BlobStore blobs = *BlobStore::Open(kHome, next);
  ASSERT_TRUE(*blobs.Holds(name));

  ModelDisk after = next.AfterPowerLoss(Survival::kNothing);
  EXPECT_TRUE(BlobStore::Open(kHome, after)->Verify(name).ok());
}

}  // namespace
}  // namespace noisefloor
