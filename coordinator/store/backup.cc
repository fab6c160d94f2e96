#include "coordinator/store/backup.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "SQLiteCpp/Backup.h"
#include "SQLiteCpp/Statement.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/database.h"
#include "coordinator/store/folder_lock.h"
#include "coordinator/store/home_lock.h"
#include "coordinator/store/log_check.h"
#include "coordinator/store/page_sum.h"
#include "coordinator/store/restore.h"
#include "coordinator/store/step_mark.h"
#include "coordinator/store/summed_vfs.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

constexpr int kPagesAtOnce = 2048;
constexpr int kMostTries = 5;
constexpr std::string_view kUnfinishedText =
    "A backup into this folder was begun and has not ended. The same command again finishes it.\n"
    "When backup.json is there, it is of the backup before, which is whole.\n";

absl::Status Refuse(std::string_view message) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message);
}

bool IsSnapshotName(std::string_view name) {
  return name.starts_with("noisefloor-") && name.ends_with(".db");
}

// One state of the home: a copy of its database, and what that names.
struct Snapshot {
  BackupManifest manifest;
  std::vector<BlobName> blobs;  // By name.
};

class Backup {
 public:
  Backup(const std::string& home, const std::string& folder, const Clock& clock,
         const BackupOptions& options, FileSystem& files)
      : home_(home), folder_(folder), clock_(clock), options_(options), files_(files) {}

  absl::StatusOr<BackupResult> Make();

 private:
  std::string PathIn(std::string_view name) const { return fmt::format("{}/{}", folder_, name); }
  absl::Status CheckPlaces() const;
  absl::Status Begin();
  absl::Status RemoveOtherSnapshots(std::string_view kept) const;
  absl::StatusOr<Snapshot> CopyDatabase();
  absl::Status CopyPages(const std::string& path);
  absl::Status ReadSnapshot(const std::string& path, Snapshot& snapshot) const;
  absl::StatusOr<bool> CopyFiles(const BlobStore& blobs, Snapshot& snapshot);
  // Who names it in the home as it is now.
  enum class Name : uint8_t { kNone, kOfOthers, kOfResult };
  absl::StatusOr<Name> NameNow(const std::string& sha256) const;
  absl::Status Finish(const BlobStore& blobs, const Snapshot& snapshot);
  absl::StatusOr<uint64_t> Prune(const BlobStore& blobs, const Snapshot& snapshot) const;
  absl::Status Report(BackupProgress::Stage stage, uint64_t done, uint64_t all) const;

  const std::string& home_;
  const std::string& folder_;
  const Clock& clock_;
  const BackupOptions& options_;
  FileSystem& files_;
  bool resumed_ = false;  // The one before did not end.
  uint64_t number_ = 0;   // Of the newest copy of the database.
  BackupResult result_;
};

absl::Status Backup::Report(BackupProgress::Stage stage, uint64_t done, uint64_t all) const {
  if (options_.progress) options_.progress({stage, done, all});
  if (!options_.stopped || !options_.stopped()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kCancelled,
                   folder_ + ": the backup is not whole; the same command again finishes it");
}

// A folder of other things is not filled up, and a home does not become its own backup.
absl::Status Backup::CheckPlaces() const {
  std::error_code error;
  if (!fs::exists(DatabasePath(home_), error)) {
    return MakeError(absl::StatusCode::kNotFound, home_ + ": no data directory: no noisefloor.db");
  }
  const fs::path target = fs::weakly_canonical(folder_, error);
  const fs::path source = fs::weakly_canonical(home_, error);
  const auto [at, rest] = std::mismatch(source.begin(), source.end(), target.begin(), target.end());
  if (at == source.end()) return Refuse(folder_ + ": lies in the data directory itself");
  if (!fs::exists(folder_, error) || fs::is_empty(folder_, error)) return absl::OkStatus();
  if (fs::exists(PathIn(kManifestName), error)) return absl::OkStatus();
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    // Or what was to become it, of a backup that was killed at its first step.
    if (entry.path().filename().string().starts_with(kUnfinishedName)) return absl::OkStatus();
  }
  return Refuse(folder_ +
                ": expected a folder that is empty or a backup, and it holds other things");
}

absl::Status Backup::RemoveOtherSnapshots(std::string_view kept) const {
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFiles(folder_, files_));
  for (const std::string& name : names) {
    const bool snapshot = name.starts_with("noisefloor-") && name.find(".db") != name.npos;
    const bool aside = name.find(".aside-") != std::string::npos;
    if ((!snapshot && !aside) || name == kept) continue;
    NF_RETURN_IF_ERROR(files_.Remove(PathIn(name)));
  }
  return absl::OkStatus();
}

// From here on the folder says that it is not whole.
absl::Status Backup::Begin() {
  const absl::StatusOr<BackupManifest> before = ReadManifest(folder_, files_);
  // What cannot be read just now, or only by a newer program, may be whole.
  if (!before.ok() && !absl::IsNotFound(before.status()) && !absl::IsDataLoss(before.status())) {
    return Annotate(before.status(), "the backup that is there is left as it is");
  }
  const std::string kept = before.ok() ? before->database : "";
  resumed_ = files_.Inspect(PathIn(kUnfinishedName)).ok();
  NF_RETURN_IF_ERROR(WriteFileAtomically(PathIn(kUnfinishedName), kUnfinishedText, files_));
  NF_RETURN_IF_ERROR(RemoveOtherSnapshots(kept));
  if (IsSnapshotName(kept)) {
    number_ = std::strtoull(kept.c_str() + std::string_view("noisefloor-").size(), nullptr, 10);
  }
  return absl::OkStatus();
}

absl::Status Backup::CopyPages(const std::string& path) {
  NF_ASSIGN_OR_RETURN(const std::optional<uint64_t> mark, ReadStepMark(home_, files_));
  NF_ASSIGN_OR_RETURN(const auto source, OpenForReading(DatabasePath(home_)));
  // One state: what is written meanwhile goes to the log, behind what this transaction sees.
  source->exec("BEGIN");
  (void)source->execAndGet("SELECT count(*) FROM sqlite_schema");
  NF_RETURN_IF_ERROR(CheckStepMark(home_, mark, *source));
  SQLite::Database target(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 0, SummedVfs());
  target.exec("PRAGMA synchronous = OFF");  // Synced whole, below.
  if (ReservedBytes(*source) == kSumBytes) {
    ReserveSums(target);
    target.exec("PRAGMA user_version = 1");  // Page 1 is there: sums are kept from here on.
  }
  {
    SQLite::Backup copy(target, *source);
    while (copy.executeStep(kPagesAtOnce) != SQLITE_DONE) {
      const auto all = static_cast<uint64_t>(copy.getTotalPageCount());
      const auto left = static_cast<uint64_t>(copy.getRemainingPageCount());
      NF_RETURN_IF_ERROR(Report(BackupProgress::Stage::kDatabase, all - left, all));
    }
  }
  target.exec("PRAGMA journal_mode = DELETE");  // One file, which can be read where it lies.
  return absl::OkStatus();
}

absl::Status Backup::ReadSnapshot(const std::string& path, Snapshot& snapshot) const {
  SQLite::Database database(path, SQLite::OPEN_READONLY, 0, SummedVfs());
  snapshot.manifest.schema = database.execAndGet("PRAGMA user_version").getInt64();
  snapshot.manifest.epoch = EpochOf(database);
  snapshot.manifest.sweeps = static_cast<uint64_t>(
      database.execAndGet("SELECT count(*) FROM sweep WHERE deleted_us IS NULL").getInt64());
  snapshot.manifest.events =
      static_cast<uint64_t>(database.execAndGet("SELECT count(*) FROM event").getInt64());
  snapshot.blobs = NamedBlobs(database);
  return absl::OkStatus();
}

absl::StatusOr<Snapshot> Backup::CopyDatabase() {
  Snapshot snapshot;
  snapshot.manifest.database = fmt::format("noisefloor-{}.db", ++number_);
  snapshot.manifest.made = clock_.Now();
  snapshot.manifest.version = options_.version;
  const std::string path = PathIn(snapshot.manifest.database);
  try {
    NF_RETURN_IF_ERROR(CopyPages(path));
    NF_RETURN_IF_ERROR(ReadSnapshot(path, snapshot));
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, fmt::format("copying {} to {}", DatabasePath(home_), path));
  }
  NF_ASSIGN_OR_RETURN(const auto file, files_.OpenToAppend(path));
  NF_RETURN_IF_ERROR(file->Sync());
  NF_ASSIGN_OR_RETURN(const FileInfo about, files_.Inspect(path));
  snapshot.manifest.database_bytes = about.size_bytes;
  NF_ASSIGN_OR_RETURN(snapshot.manifest.database_sha256, Sha256File(path, files_));
  return snapshot;
}

absl::StatusOr<Backup::Name> Backup::NameNow(const std::string& sha256) const {
  NF_ASSIGN_OR_RETURN(const auto database, OpenForReading(DatabasePath(home_)));
  try {
    if (!IsNamed(*database, sha256)) return Name::kNone;
    return IsOfResult(*database, sha256) ? Name::kOfResult : Name::kOfOthers;
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading " + DatabasePath(home_));
  }
}

// False: a file went because nobody wants it any more. What else cannot be had is said.
absl::StatusOr<bool> Backup::CopyFiles(const BlobStore& blobs, Snapshot& snapshot) {
  const BlobStore from = BlobStore::At(home_, files_);
  BackupManifest& manifest = snapshot.manifest;
  Sha256 names;
  uint64_t looked_at = 0;
  for (const BlobName& name : snapshot.blobs) {
    NF_RETURN_IF_ERROR(Report(BackupProgress::Stage::kFiles, looked_at++, snapshot.blobs.size()));
    if (!blobs.Has(name)) {
      const absl::Status copied = CopyBlob(from, blobs, name);
      const bool damaged = absl::IsInvalidArgument(copied);  // Not of the announced size and hash.
      if (!copied.ok() && !damaged && !absl::IsNotFound(copied)) return copied;
      if (!copied.ok()) {
        NF_ASSIGN_OR_RETURN(const Name named, NameNow(name.sha256));
        if (named == Name::kNone) return false;
        manifest.missing.push_back({name.sha256,
                                    (damaged ? "damaged: " : "not there: ") + Message(copied),
                                    named == Name::kOfResult});
        continue;
      }
      ++result_.copied;
      result_.copied_bytes += name.size_bytes;
    }
    ++manifest.blobs;
    manifest.blob_bytes += name.size_bytes;
    names.Update(name.sha256 + "\n");
  }
  manifest.blobs_sha256 = names.Hex();
  return true;
}

// Its manifest makes it the backup.
absl::Status Backup::Finish(const BlobStore& blobs, const Snapshot& snapshot) {
  // Ours are synced one by one; one that was killed may have left some that are not.
  if (resumed_) NF_RETURN_IF_ERROR(blobs.SyncFolders());
  NF_RETURN_IF_ERROR(files_.SyncFolder(folder_));
  NF_RETURN_IF_ERROR(
      WriteFileAtomically(PathIn(kManifestName), ManifestToJson(snapshot.manifest), files_));
  NF_RETURN_IF_ERROR(RemoveOtherSnapshots(snapshot.manifest.database));
  if (options_.prune) {
    NF_ASSIGN_OR_RETURN(result_.pruned, Prune(blobs, snapshot));
  }
  NF_RETURN_IF_ERROR(files_.Remove(PathIn(kUnfinishedName)));
  return files_.SyncFolder(folder_);
}

absl::StatusOr<uint64_t> Backup::Prune(const BlobStore& blobs, const Snapshot& snapshot) const {
  std::set<std::string_view> named;
  for (const BlobName& name : snapshot.blobs) named.insert(name.sha256);
  uint64_t pruned = 0;
  for (int folder = 0; folder < BlobStore::kFolders; ++folder) {
    NF_ASSIGN_OR_RETURN(const std::vector<std::string> there, blobs.NamesIn(folder));
    for (const std::string& sha256 : there) {
      if (named.contains(sha256)) continue;
      NF_RETURN_IF_ERROR(blobs.Remove(sha256));
      ++pruned;
    }
  }
  return pruned;
}

absl::StatusOr<BackupResult> Backup::Make() {
  NF_RETURN_IF_ERROR(CheckPlaces());
  // With a coordinator the log is its own to judge.
  if (!HomeLock::Holder(home_)) NF_RETURN_IF_ERROR(CheckLog(DatabasePath(home_), files_));
  NF_RETURN_IF_ERROR(CreateDirectories(folder_, files_));
  NF_ASSIGN_OR_RETURN(const FolderLock lock,
                      FolderLock::Take(folder_, "another backup is being made there"));
  NF_RETURN_IF_ERROR(Begin());
  NF_ASSIGN_OR_RETURN(const BlobStore blobs, BlobStore::Open(folder_, files_));
  NF_RETURN_IF_ERROR(blobs.RemoveLeftovers());
  for (int i = 0; i < kMostTries; ++i) {
    NF_ASSIGN_OR_RETURN(Snapshot snapshot, CopyDatabase());
    if (options_.after_database) options_.after_database();
    NF_ASSIGN_OR_RETURN(const bool whole, CopyFiles(blobs, snapshot));
    if (!whole) continue;
    NF_RETURN_IF_ERROR(Finish(blobs, snapshot));
    result_.manifest = std::move(snapshot.manifest);
    return std::move(result_);
  }
  return MakeError(absl::StatusCode::kAborted,
                   fmt::format("{}: files were removed while they were copied, {} times; run the "
                               "backup again when `noisefloor gc` has ended",
                               home_, kMostTries));
}

}  // namespace

absl::StatusOr<BackupResult> MakeBackup(const std::string& home, const std::string& folder,
                                        const Clock& clock, const BackupOptions& options,
                                        FileSystem& files) {
  return Backup(home, folder, clock, options, files).Make();
}

}  // namespace noisefloor
