// A backup has one state of the store, whatever goes on beside it; a restored home is another one.
#include "coordinator/store/backup.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include "SQLiteCpp/Statement.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/file_error.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/database.h"
#include "coordinator/store/folder_lock.h"
#include "coordinator/store/home_files.h"
#include "coordinator/store/migrations.h"
#include "coordinator/store/restore.h"
#include "coordinator/store/store.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/store/rows_of.h"
#include "tests/coordinator/store/sample_files.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/support/forwarding_disk.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

// Whose databases cannot be synced, nor anything else be done to them.
class UnsyncedDisk final : public ForwardingDisk {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenToAppend(const std::string& path) override {
    if (!path.ends_with(".db")) return ForwardingDisk::OpenToAppend(path);
    return std::make_unique<File>(path);
  }

 private:
  class File final : public WritableFile {
   public:
    explicit File(std::string path) : path_(std::move(path)) {}
    const std::string& path() const override { return path_; }
    absl::Status Append(std::string_view) override { return Sync(); }
    absl::Status WriteAt(uint64_t, std::string_view) override { return Sync(); }
    absl::Status ReadAt(uint64_t, std::span<char>) const override { return absl::OkStatus(); }
    absl::Status Truncate(uint64_t) override { return Sync(); }
    absl::Status Sync() override { return FileError(path_, "sync", EIO); }

   private:
    const std::string path_;
  };
};

class BackupTest : public testing::Test {
 protected:
  BackupTest() {
    auto opened = SqliteStore::Open(home_.path());
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    blobs_.emplace(*BlobStore::Open(home_.path()));
  }

  // The story with files that are really there.
  void Live() {
    const absl::Status applied = store_->Apply(sample::StoryWithFiles(*blobs_));
    ASSERT_TRUE(applied.ok()) << applied;
  }
  static std::string HashOf(const std::string& path) { return Sha256Hex("content of " + path); }

  absl::StatusOr<BackupResult> Make(const BackupOptions& options = {}) {
    return MakeBackup(home_.path(), folder_, SystemClock(), options);
  }
  absl::StatusOr<RestoreResult> Restore(const std::string& home, bool check_only = false) {
    return RestoreBackup(folder_, home, SystemClock(), {.check_only = check_only});
  }
  // Another sweep than the story's.
  void SubmitAnother(uint64_t id) {
    const absl::Status kept = store_->Apply(std::vector<scheduler::Write>{sample::Keep(id)});
    ASSERT_TRUE(kept.ok()) << kept;
  }
  static std::vector<std::string> Ask(const std::string& home, const std::string& sql) {
    const auto database = OpenForReading(DatabasePath(home));
    EXPECT_TRUE(database.ok()) << database.status();
    return RowsOf(**database, sql);
  }
  void Flip(const std::string& path, std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(file.good());
  }

  const TempHome home_;
  const TempHome other_;
  const std::string folder_ = other_.path() + "/backup";
  const std::string new_home_ = other_.path() + "/home";
  std::unique_ptr<SqliteStore> store_;
  std::optional<BlobStore> blobs_;
};

TEST_F(BackupTest, HasWhatWasThereAtItsBeginningBesideTheWriter) {
  Live();
  // What is written while it is made belongs to the next one.
  const auto made = Make({.version = "test", .after_database = [this] { SubmitAnother(2); }});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->manifest.sweeps, 1u);
  EXPECT_EQ(made->manifest.blobs, 2u);
  EXPECT_EQ(made->copied, 2u);
  EXPECT_THAT(made->manifest.missing, IsEmpty());
  EXPECT_FALSE(fs::exists(folder_ + "/backup-unfinished"));
  EXPECT_FALSE(fs::exists(folder_ + "/access"));
  const auto again = Make();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->manifest.sweeps, 2u);
  EXPECT_EQ(again->copied, 0u) << "files that are there are not copied again";
}

TEST_F(BackupTest, ADatabaseThatIsNotSyncedBecomesNoBackup) {
  Live();
  UnsyncedDisk disk;
  const auto made = MakeBackup(home_.path(), folder_, SystemClock(), {}, disk);
  EXPECT_THAT(Message(made.status()), HasSubstr("noisefloor-1.db: cannot sync"));
  EXPECT_FALSE(fs::exists(folder_ + "/backup.json"));
}

TEST_F(BackupTest, OfManyPagesNeitherWaitsForTheWriterNorBeginsAgain) {
  Live();
  std::vector<scheduler::Write> events;
  for (uint64_t i = 0; i < 5000; ++i) {
    events.push_back(scheduler::AppendEvent{
        SweepId{1}, {}, "noted", std::string(4000, 'x'), sample::At(1), EventId{100 + i}});
  }
  ASSERT_TRUE(store_->Apply(events).ok());
  uint64_t written = 0;
  uint64_t pages = 0;
  const auto made = Make({.progress = [&](const BackupProgress& at) {
    if (at.stage != BackupProgress::Stage::kDatabase) return;
    pages = at.all;
    EXPECT_LT(written, 20u) << "each change lets it begin again";
    if (written < 20) SubmitAnother(2 + written++);
  }});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_GT(pages, 4096u) << "more than two pieces, or this shows nothing";
  EXPECT_GE(written, 2u);
  EXPECT_EQ(made->manifest.sweeps, 1u) << "the state of its beginning";
  EXPECT_EQ(Make()->manifest.sweeps, 1 + written);
}

TEST_F(BackupTest, TheOneBeforeStaysWholeUntilTheNextIs) {
  Live();
  ASSERT_TRUE(Make().ok());
  SubmitAnother(2);
  bool database_done = false;
  const auto stopped = Make(
      {.stopped = [&] { return database_done; }, .after_database = [&] { database_done = true; }});
  EXPECT_TRUE(absl::IsCancelled(stopped.status())) << stopped.status();
  EXPECT_TRUE(fs::exists(folder_ + "/backup-unfinished"));
  const auto restored = Restore(new_home_);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_TRUE(restored->unfinished);
  EXPECT_EQ(restored->manifest.sweeps, 1u);
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(Restore(other_.path() + "/third")->manifest.sweeps, 2u);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename());
  EXPECT_EQ(names.size(), 3u) << "the database before has gone: " << testing::PrintToString(names);
}

// Of a disk that is away for a moment, or of a newer noisefloor.
TEST_F(BackupTest, OneThatCannotBeReadIsLeftAsItIs) {
  Live();
  const auto made = Make();
  ASSERT_TRUE(made.ok());
  const std::string path = folder_ + "/backup.json";
  std::string text = *ReadFile(path, 1 << 20);
  const size_t form = text.find("\"form\":");
  ASSERT_NE(form, std::string::npos);
  text.insert(text.find_first_of("0123456789", form), "9");
  std::ofstream(path) << text;

  const absl::Status refused = Make().status();

  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(Message(refused), HasSubstr("made by a newer noisefloor"));
  EXPECT_TRUE(fs::exists(folder_ + "/" + made->manifest.database));
  EXPECT_FALSE(fs::exists(folder_ + "/backup-unfinished"));
  // A damaged one is none.
  std::ofstream(path) << "{";
  EXPECT_TRUE(Make().ok());
}

TEST_F(BackupTest, OfAnEarlierSchemaIsBroughtOver) {
  Live();
  const auto made = Make();
  ASSERT_TRUE(made.ok()) << made.status();
  BackupManifest manifest = made->manifest;
  const std::string database = folder_ + "/" + manifest.database;
  SQLite::Database(database, SQLite::OPEN_READWRITE, 0, SummedVfs())
      .exec("DROP TABLE inference; DROP INDEX artifact_of_sets; PRAGMA user_version = 12");
  manifest.schema = 12;
  manifest.database_sha256 = *Sha256File(database);
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/backup.json", ManifestToJson(manifest)).ok());

  EXPECT_TRUE(Restore(new_home_, /*check_only=*/true).ok());
  std::set<std::string> fetched;
  const std::string ahead = other_.path() + "/ahead";
  EXPECT_TRUE(FetchFiles(folder_, ahead, fetched, [] { return false; }).ok());
  EXPECT_EQ(fetched.size(), 2u);

  const auto restored = Restore(new_home_);

  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_THAT(Ask(new_home_, "PRAGMA user_version"),
              ElementsAre(std::to_string(CurrentSchema().version())));
  EXPECT_THAT(Ask(new_home_, "SELECT count(*) FROM inference"), ElementsAre("0"));
}

TEST_F(BackupTest, AFileThatMakesRoomMeanwhileMakesItBeginAgain) {
  Live();
  int begun = 0;
  const auto made = Make({.after_database = [&] {
    if (++begun > 1) return;
    const absl::Status kept =
        store_->Apply(std::vector<scheduler::Write>{scheduler::CollectArtifacts{
            {{LeaseId{2}, "predictions", "predictions.npy"}}, sample::At(100)}});
    ASSERT_TRUE(kept.ok()) << kept;
    ASSERT_TRUE(blobs_->Remove(HashOf("predictions.npy")).ok());
  }});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(made->manifest.blobs, 1u);
  EXPECT_THAT(made->manifest.missing, IsEmpty());
  EXPECT_TRUE(Restore(new_home_).ok());
}

TEST_F(BackupTest, WhatIsDamagedInTheHomeIsLeftOutByName) {
  Live();
  Flip(blobs_->PathOf(HashOf("images.npy")), 3);
  ASSERT_TRUE(blobs_->Remove(HashOf("predictions.npy")).ok());
  const auto made = Make();
  ASSERT_TRUE(made.ok()) << made.status();
  for (const MissingBlob& one : made->manifest.missing) EXPECT_TRUE(one.of_result);
  std::map<std::string, std::string> reasons;
  for (const MissingBlob& one : made->manifest.missing) reasons[one.sha256] = one.reason;
  EXPECT_THAT(reasons[HashOf("images.npy")], HasSubstr("damaged"));
  EXPECT_THAT(reasons[HashOf("predictions.npy")], HasSubstr("not there"));
  EXPECT_FALSE(fs::exists(BlobStore::At(folder_).PathOf(HashOf("images.npy"))));
  EXPECT_TRUE(Restore(new_home_).ok()) << "the rest of it can be had";
}

TEST_F(BackupTest, FilesOfRefusedResultsMayNeverHaveCome) {
  Live();
  scheduler::KeepOutcome refused = sample::Finish(1, sample::Member(0, 0));
  refused.accepted = false;
  refused.outcome.artifacts = {{"log", "log", std::string(64, '7'), 9}};
  ASSERT_TRUE(store_->Apply(std::vector<scheduler::Write>{refused}).ok());
  const auto made = Make();
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->manifest.missing.size(), 1u);
  EXPECT_FALSE(made->manifest.missing[0].of_result);
  EXPECT_TRUE(Restore(new_home_).ok());
}

TEST_F(BackupTest, FilesThatNobodyNamesGoOnlyWhenAsked) {
  Live();
  ASSERT_TRUE(Make().ok());
  const std::string path = BlobStore::At(folder_).PathOf(HashOf("predictions.npy"));
  ASSERT_TRUE(store_
                  ->Apply(std::vector<scheduler::Write>{scheduler::CollectArtifacts{
                      {{LeaseId{2}, "predictions", "predictions.npy"}}, sample::At(100)}})
                  .ok());
  ASSERT_TRUE(Make().ok());
  EXPECT_TRUE(fs::exists(path));
  const auto pruned = Make({.prune = true});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_EQ(pruned->pruned, 1u);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(Restore(new_home_).ok());
}

TEST_F(BackupTest, GoesIntoNoFolderOfOtherThings) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/letter.txt") << "dear";
  EXPECT_THAT(std::string(Make().status().message()), HasSubstr("holds other things"));
  EXPECT_THAT(
      std::string(
          MakeBackup(home_.path(), home_.path() + "/b", SystemClock(), {}).status().message()),
      HasSubstr("lies in the data directory itself"));
  EXPECT_TRUE(absl::IsNotFound(MakeBackup(new_home_, folder_, SystemClock(), {}).status()));
}

TEST_F(BackupTest, RestoringRefusesWhatIsDamagedBeforeItWrites) {
  Live();
  const auto made = Make();
  ASSERT_TRUE(made.ok());
  const std::string blob = BlobStore::At(folder_).PathOf(HashOf("images.npy"));
  Flip(blob, 5);
  EXPECT_TRUE(absl::IsDataLoss(Restore(new_home_).status()));
  EXPECT_TRUE(absl::IsDataLoss(Restore(new_home_, /*check_only=*/true).status()));
  Flip(blob, 5);
  Flip(folder_ + "/" + made->manifest.database, 5000);
  EXPECT_TRUE(absl::IsDataLoss(Restore(new_home_).status()));
  Flip(folder_ + "/" + made->manifest.database, 5000);
  EXPECT_FALSE(fs::exists(new_home_));
  ASSERT_TRUE(Restore(new_home_, /*check_only=*/true).ok());
  EXPECT_FALSE(fs::exists(new_home_));
  ASSERT_TRUE(BlobStore::At(folder_).Remove(HashOf("images.npy")).ok());
  EXPECT_THAT(std::string(Restore(new_home_).status().message()), HasSubstr("is not there"));
  fs::remove(folder_ + "/backup.json");
  EXPECT_TRUE(absl::IsNotFound(Restore(new_home_).status()));
  std::ofstream(folder_ + "/backup-unfinished") << "";
  EXPECT_THAT(std::string(Restore(new_home_).status().message()), HasSubstr("never ended"));
}

// What a kill leaves before the mark of the backup has its name.
TEST_F(BackupTest, ABackupThatWasKilledAtItsBeginningIsMadeByTheSameCommand) {
  Live();
  fs::create_directories(folder_);
  const std::string mark = folder_ + "/backup-unfinished.aside-abc123";
  std::ofstream(mark) << "A back";

  const auto made = Make();

  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_FALSE(fs::exists(mark));
  EXPECT_TRUE(Restore(new_home_).ok());
}

// The one before it was killed with files in their places, whose folders it had not synced.
TEST_F(BackupTest, ABackupThatGoesOnWithAnotherSyncsWhatThatHasLeft) {
  Live();
  ASSERT_TRUE(Make().ok());
  const auto synced = [this] {
    NotingDisk disk;
    const auto made = MakeBackup(home_.path(), folder_, SystemClock(), {}, disk);
    EXPECT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->copied, 0u) << "or this shows nothing";
    return std::ranges::count(disk.done, "sync " + folder_ + "/blobs/" +
                                             HashOf("predictions.npy").substr(0, 2)) > 0;
  };
  EXPECT_FALSE(synced()) << "all that is there was synced by the one before";
  std::ofstream(folder_ + "/backup-unfinished") << "A back";
  EXPECT_TRUE(synced());
}

TEST_F(BackupTest, OnlyAnEmptyHomeIsFilled) {
  Live();
  ASSERT_TRUE(Make().ok());
  EXPECT_THAT(std::string(Restore(home_.path()).status().message()), HasSubstr("that is empty"));
  // What a restoration has left that was killed: no coordinator makes a new store of it.
  fs::create_directories(new_home_);
  std::ofstream(new_home_ + "/restore-unfinished") << "";
  EXPECT_THAT(std::string(CheckDatabaseFile(new_home_).message()),
              HasSubstr("a restoration that has not ended"));
  const auto restored = Restore(new_home_);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_TRUE(CheckDatabaseFile(new_home_).ok());
  EXPECT_FALSE(fs::exists(new_home_ + "/restore-unfinished"));
}

TEST_F(BackupTest, OneRestorationAtATimeFillsAHome) {
  Live();
  ASSERT_TRUE(Make().ok());
  fs::create_directories(new_home_);
  {
    const auto another = FolderLock::Take(new_home_, "");
    ASSERT_TRUE(another.ok()) << another.status();
    EXPECT_THAT(Message(Restore(new_home_).status()),
                HasSubstr("another restoration into it runs"));
    EXPECT_TRUE(fs::is_empty(new_home_));
  }
  EXPECT_TRUE(Restore(new_home_).ok());
}

TEST_F(BackupTest, OfADatabaseElsewhereIsDamaged) {
  Live();
  const auto made = Make();
  ASSERT_TRUE(made.ok()) << made.status();
  fs::copy_file(folder_ + "/" + made->manifest.database, other_.path() + "/elsewhere.db");
  BackupManifest manifest = made->manifest;
  manifest.database = "../elsewhere.db";
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/backup.json", ManifestToJson(manifest)).ok());
  const absl::Status refused = Restore(new_home_).status();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_FALSE(fs::exists(new_home_));
}

TEST_F(BackupTest, OneBackupAtATimeIsMadeIntoAFolder) {
  Live();
  ASSERT_TRUE(Make().ok());
  const std::vector<std::string> of_others = {folder_ + "/mine.db", folder_ + "/noisefloor-notes"};
  for (const std::string& path : of_others) std::ofstream(path) << "not of a backup";
  {
    const auto another = FolderLock::Take(folder_, "");
    ASSERT_TRUE(another.ok()) << another.status();
    EXPECT_THAT(Message(Make().status()), HasSubstr("another backup is being made there"));
    EXPECT_FALSE(fs::exists(folder_ + "/backup-unfinished"));
  }
  EXPECT_TRUE(Make().ok());
  for (const std::string& path : of_others) EXPECT_TRUE(fs::exists(path)) << path;
}

// One that ends while another looks at the backup's files has filled the home.
TEST_F(BackupTest, AHomeThatWasFilledMeanwhileIsNotFilledAgain) {
  Live();
  ASSERT_TRUE(Make().ok());
  std::optional<absl::Status> first;
  const auto second =
      RestoreBackup(folder_, new_home_, SystemClock(), {.progress = [&](uint64_t, uint64_t) {
                      if (!std::exchange(first, absl::OkStatus()))
                        first = Restore(new_home_).status();
                    }});
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->ok()) << *first;
  EXPECT_THAT(Message(second.status()), HasSubstr("that is empty"));
}

// What a kill leaves before the mark of the restoration has its name, and of a copy of the
// database.
TEST_F(BackupTest, ARestorationThatWasKilledAtItsBeginningIsFinished) {
  Live();
  ASSERT_TRUE(Make().ok());
  fs::create_directories(new_home_);
  const std::string mark = new_home_ + "/restore-unfinished.aside-abc123";
  const std::string copy = new_home_ + "/noisefloor.db.restoring.aside-abc123";
  std::ofstream(mark) << "A rest";
  std::ofstream(copy) << "SQLite";
  std::ofstream(new_home_ + "/mine") << "not of a restoration";
  EXPECT_THAT(std::string(Restore(new_home_).status().message()), HasSubstr("that is empty"));
  EXPECT_TRUE(fs::exists(mark));
  fs::remove(new_home_ + "/mine");

  const auto restored = Restore(new_home_);

  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_FALSE(fs::exists(mark));
  EXPECT_FALSE(fs::exists(copy));
}

TEST_F(BackupTest, ARestoredHomeHasTheNextEpochAndNumbersThatNobodyHad) {
  Live();
  ASSERT_TRUE(Make().ok());
  const auto first = Restore(new_home_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->epoch, 1u);
  EXPECT_EQ(first->lost_leases, 1u);
  // The lease that lived is lost, and its member waits.
  EXPECT_THAT(Ask(new_home_, "SELECT state FROM member WHERE cell = 1 AND replicate = 2"),
              ElementsAre("waiting"));
  EXPECT_THAT(Ask(new_home_, "SELECT drop_cause FROM lease WHERE lease = 3"),
              ElementsAre("lost_worker"));
  EXPECT_THAT(Ask(new_home_, "SELECT drop_reason FROM lease WHERE lease = 3")[0],
              HasSubstr("restored from the backup of"));
  EXPECT_EQ(*ReadEpoch(new_home_), 1u);
  EXPECT_EQ(*ReadEpoch(home_.path()), 0u);
  // A second home of the same backup has the same epoch, and still no number of the first.
  const std::string second = other_.path() + "/second";
  const absl::Time before = SystemClock().Now();
  ASSERT_TRUE(Restore(second).ok());
  const auto state_of = [](const std::string& home) {
    const auto store = SqliteStore::Open(home);
    EXPECT_TRUE(store.ok()) << store.status();
    return *(*store)->Recover();
  };
  const scheduler::RecoveredState one = state_of(new_home_);
  const scheduler::RecoveredState two = state_of(second);
  EXPECT_GT(one.last_lease, LeaseId{4});
  EXPECT_GE(two.last_lease.value, static_cast<uint64_t>(absl::ToUnixMillis(before)) << 11);
  EXPECT_GT(two.last_lease, one.last_lease);
  EXPECT_GT(two.last_event.value, one.last_lease.value);
  EXPECT_LT(two.last_event.value, uint64_t{1} << 53) << "a number of JSON";
  EXPECT_THAT(one.leases, IsEmpty());
}

TEST_F(BackupTest, EpochsRiseFromHomeToHome) {
  Live();
  ASSERT_TRUE(Make().ok());
  ASSERT_TRUE(Restore(new_home_).ok());
  const std::string folder = other_.path() + "/of-the-restored";
  ASSERT_TRUE(MakeBackup(new_home_, folder, SystemClock(), {}).ok());
  const auto again =
      RestoreBackup(folder, other_.path() + "/third", SystemClock(), RestoreOptions{});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->epoch, 2u);
  EXPECT_EQ(again->lost_leases, 0u);
}

}  // namespace
}  // namespace noisefloor
