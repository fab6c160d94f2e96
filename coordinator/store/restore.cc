#include "coordinator/store/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "SQLiteCpp/Statement.h"
#include "SQLiteCpp/Transaction.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/store/database.h"
#include "coordinator/store/folder_lock.h"
#include "coordinator/store/handover_folder.h"
#include "coordinator/store/migrations.h"
#include "coordinator/store/recover.h"
#include "coordinator/store/row_writer.h"
#include "coordinator/store/step_mark.h"
#include "coordinator/store/summed_vfs.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 1 << 20;
constexpr std::string_view kAside = "noisefloor.db.restoring";
constexpr int kNumbersInAMillisecond = 11;  // Bits: 2048. Numbers stay below 2^53 until 2109.

absl::Status Damaged(const std::string& path, std::string_view why) {
  return MakeError(absl::StatusCode::kDataLoss,
                   fmt::format("{}: {}; the backup is damaged", path, why));
}

class Restoration {
 public:
  Restoration(const std::string& folder, const std::string& home, const Clock& clock,
              const RestoreOptions& options, FileSystem& files)
      : folder_(folder), home_(home), clock_(clock), options_(options), files_(files) {}

  absl::StatusOr<RestoreResult> Make();

 private:
  absl::Status ReadWhatIsThere();
  absl::Status CheckHome() const;
  absl::StatusOr<std::vector<std::string>> Leftovers() const;
  absl::Status CheckDatabase();
  absl::Status CheckFiles() const;
  absl::Status CopyFiles() const;
  absl::Status Copy(const std::string& from, AtomicFileWriter& to) const;
  absl::Status MakeDatabase();
  absl::Status BeginEpoch(SQLite::Database& database);
  absl::Status Report(uint64_t done) const;

  const std::string& folder_;
  const std::string& home_;
  const Clock& clock_;
  const RestoreOptions& options_;
  FileSystem& files_;
  std::vector<BlobName> blobs_;  // That the backup has.
  RestoreResult result_;
};

absl::Status Restoration::Report(uint64_t done) const {
  const uint64_t all = blobs_.size() * (options_.check_only ? 1 : 2);
  if (options_.progress) options_.progress(done, all);
  if (!options_.stopped || !options_.stopped()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kCancelled,
                   home_ + ": nothing was restored; the same command again begins anew");
}

absl::Status Restoration::ReadWhatIsThere() {
  std::error_code error;
  result_.unfinished = fs::exists(fmt::format("{}/{}", folder_, kUnfinishedName), error);
  absl::StatusOr<BackupManifest> manifest = ReadManifest(folder_, files_);
  if (absl::IsNotFound(manifest.status())) {
    if (!result_.unfinished) {
      return MakeError(absl::StatusCode::kNotFound, folder_ + ": no backup: no backup.json");
    }
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     folder_ + ": the backup never ended; `noisefloor backup` again finishes it");
  }
  NF_RETURN_IF_ERROR(manifest.status());
  result_.manifest = *std::move(manifest);
  return absl::OkStatus();
}

// Empty, or what a restoration has left whose database never came.
// Files that one that was killed left half written, by path: of the mark, before there was one, or
// of the database.
absl::StatusOr<std::vector<std::string>> Restoration::Leftovers() const {
  NF_ASSIGN_OR_RETURN(const std::vector<FolderEntry> entries, files_.List(home_));
  std::vector<std::string> paths;
  for (const FolderEntry& entry : entries) {
    const bool ours = entry.name.starts_with(kRestoringName) || entry.name.starts_with(kAside);
    if (!ours || entry.name.find(".aside-") == std::string::npos) continue;
    paths.push_back(fmt::format("{}/{}", home_, entry.name));
  }
  return paths;
}

absl::Status Restoration::CheckHome() const {
  std::error_code error;
  // Whoever takes over into it goes on with that.
  if (!options_.same_epoch) NF_RETURN_IF_ERROR(CheckHandedOver(home_, files_));
  if (!fs::exists(home_, error) || fs::is_empty(home_, error)) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> leftovers, Leftovers());
  const auto all = std::distance(fs::directory_iterator(home_, error), fs::directory_iterator());
  // "lock": of one who could not lock the folder itself (folder_lock.h).
  const int64_t ours = std::ssize(leftovers) + (fs::exists(home_ + "/lock", error) ? 1 : 0);
  if (ours == all) return absl::OkStatus();
  if (fs::exists(home_ + "/" + std::string(kRestoringName), error) &&
      !fs::exists(DatabasePath(home_), error)) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   home_ + ": expected a folder that is empty or not there yet");
}

absl::Status Restoration::CheckDatabase() {
  const BackupManifest& manifest = result_.manifest;
  const std::string path = fmt::format("{}/{}", folder_, manifest.database);
  const absl::StatusOr<std::string> found = Sha256File(path, files_);
  if (absl::IsNotFound(found.status())) return Damaged(path, "the database is not there");
  NF_RETURN_IF_ERROR(found.status());
  if (*found != manifest.database_sha256) return Damaged(path, "its content has changed");
  if (manifest.schema > CurrentSchema().version()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{}: made by noisefloor {} (schema {}); restore with that program",
                                 folder_, manifest.version, manifest.schema));
  }
  try {
    SQLite::Database database(path, SQLite::OPEN_READONLY, 0, SummedVfs());
    // What was handed over is, to the byte, what was served until just now; that it still hangs
    // together is for `doctor` to see, not for those who wait.
    const std::string said =
        options_.same_epoch ? "ok" : database.execAndGet("PRAGMA integrity_check(1)").getString();
    if (said != "ok") return Damaged(path, said);
    if (manifest.schema == CurrentSchema().version()) {  // Others are looked at when brought over.
      NF_RETURN_IF_ERROR(Annotate(ReadRecoveredState(database).status(), path));
    }
    std::set<std::string> missing;
    for (const MissingBlob& one : manifest.missing) missing.insert(one.sha256);
    for (BlobName& name : NamedBlobs(database)) {
      if (!missing.contains(name.sha256)) blobs_.push_back(std::move(name));
    }
  } catch (const SQLite::Exception& error) {
    return Annotate(ToStatus(error, path), "the backup");
  }
  return absl::OkStatus();
}

absl::Status Restoration::CheckFiles() const {
  const BlobStore from = BlobStore::At(folder_, files_);
  Sha256 names;
  uint64_t done = 0;
  for (const BlobName& name : blobs_) {
    names.Update(name.sha256 + "\n");
    if (options_.held != nullptr && options_.held->contains(name.sha256)) continue;
    NF_RETURN_IF_ERROR(Report(done++));
    const absl::Status there = from.Verify(name);
    if (absl::IsNotFound(there)) return Damaged(from.PathOf(name.sha256), "is not there");
    NF_RETURN_IF_ERROR(there);
  }
  if (blobs_.size() == result_.manifest.blobs && names.Hex() == result_.manifest.blobs_sha256) {
    return absl::OkStatus();
  }
  return Damaged(folder_, fmt::format("its manifest counts {} files, its database names {}",
                                      result_.manifest.blobs, blobs_.size()));
}

absl::Status Restoration::Copy(const std::string& from, AtomicFileWriter& to) const {
  NF_ASSIGN_OR_RETURN(const auto source, files_.OpenToRead(from));
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    NF_ASSIGN_OR_RETURN(const size_t read, source->Read(piece));
    if (read == 0) return to.Commit();
    NF_RETURN_IF_ERROR(to.Write(std::string_view(piece).substr(0, read)));
  }
}

absl::Status Restoration::CopyFiles() const {
  const BlobStore from = BlobStore::At(folder_, files_);
  NF_ASSIGN_OR_RETURN(const BlobStore to, BlobStore::Open(home_, files_));
  NF_RETURN_IF_ERROR(to.RemoveLeftovers());
  uint64_t done = blobs_.size();
  for (const BlobName& name : blobs_) {
    if (options_.held != nullptr && options_.held->contains(name.sha256)) continue;
    NF_RETURN_IF_ERROR(Report(done++));
    NF_ASSIGN_OR_RETURN(const bool held, to.Holds(name));
    if (held) continue;
    NF_ASSIGN_OR_RETURN(AtomicFileWriter writer,
                        AtomicFileWriter::Open(to.PathOf(name.sha256), files_));
    NF_RETURN_IF_ERROR(Copy(from.PathOf(name.sha256), writer));
    NF_RETURN_IF_ERROR(to.Verify(name));
  }
  return absl::OkStatus();
}

// In the transaction of the caller.
absl::Status Restoration::BeginEpoch(SQLite::Database& database) {
  NF_ASSIGN_OR_RETURN(const scheduler::RecoveredState before, ReadRecoveredState(database));
  const absl::Time now = clock_.Now();
  const auto by_clock = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMillis(now)))
                        << kNumbersInAMillisecond;
  const uint64_t above = std::max({before.last_lease.value, before.last_event.value, by_clock});
  result_.epoch = EpochOf(database) + 1;
  SQLite::Statement row(database, "INSERT INTO restoration VALUES (?, ?, ?, ?)");
  row.bind(1, result_.epoch);
  row.bind(2, absl::ToUnixMicros(now));
  row.bind(3, absl::ToUnixMicros(result_.manifest.made));
  row.bind(4, static_cast<int64_t>(above));
  row.exec();
  NF_ASSIGN_OR_RETURN(const scheduler::RecoveredState state, ReadRecoveredState(database));
  result_.lost_leases = state.leases.size();
  scheduler::Scheduler scheduler = scheduler::Scheduler::Restore({}, state, now);
  const scheduler::Effects effects = scheduler.Step(
      scheduler::DataRestored{fmt::format(
          "the data were restored from the backup of {} UTC, epoch {}",
          absl::FormatTime("%Y-%m-%d %H:%M:%S", result_.manifest.made, absl::UTCTimeZone()),
          result_.epoch)},
      now);
  RowWriter writer(database);
  for (const scheduler::Write& write : effects.writes) writer.Apply(write);
  return absl::OkStatus();
}

absl::Status Restoration::MakeDatabase() {
  const std::string aside = fmt::format("{}/{}", home_, kAside);
  for (const char* ending : {"-wal", "-shm", "-journal"}) {
    NF_RETURN_IF_ERROR(files_.Remove(aside + ending));  // Of a restoration that did not end.
  }
  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Open(aside, files_));
  NF_RETURN_IF_ERROR(Copy(fmt::format("{}/{}", folder_, result_.manifest.database), writer));
  try {
    NF_ASSIGN_OR_RETURN(const auto database, OpenForWriting(aside, CurrentSchema()));
    if (!options_.same_epoch) {
      SQLite::Transaction transaction(*database, SQLite::TransactionBehavior::IMMEDIATE);
      NF_RETURN_IF_ERROR(BeginEpoch(*database));
      transaction.commit();
    }
    // Into one file, which can be renamed.
    database->exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "writing " + aside);
  }
  NF_ASSIGN_OR_RETURN(const auto file, files_.OpenToAppend(aside));
  NF_RETURN_IF_ERROR(file->Sync());
  NF_RETURN_IF_ERROR(files_.Rename(aside, DatabasePath(home_)));
  NF_RETURN_IF_ERROR(files_.SyncFolder(home_));  // Before the mark goes.
  NF_RETURN_IF_ERROR(files_.Remove(fmt::format("{}/{}", home_, kRestoringName)));
  return files_.SyncFolder(home_);
}

absl::StatusOr<RestoreResult> Restoration::Make() {
  NF_RETURN_IF_ERROR(ReadWhatIsThere());
  if (!options_.check_only) NF_RETURN_IF_ERROR(CheckHome());
  NF_RETURN_IF_ERROR(CheckDatabase());
  NF_RETURN_IF_ERROR(CheckFiles());
  result_.epoch = result_.manifest.epoch;
  if (options_.check_only) return std::move(result_);
  NF_RETURN_IF_ERROR(CreateDirectories(home_, files_));
  std::optional<FolderLock> lock;
  if (!options_.same_epoch) {  // Whoever takes over has it already.
    NF_ASSIGN_OR_RETURN(lock, FolderLock::Take(home_, "another restoration into it runs"));
    NF_RETURN_IF_ERROR(CheckHome());  // One may have ended while the files were checked.
  }
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> leftovers, Leftovers());
  for (const std::string& path : leftovers) NF_RETURN_IF_ERROR(files_.Remove(path));
  NF_RETURN_IF_ERROR(WriteFileAtomically(fmt::format("{}/{}", home_, kRestoringName),
                                         "A restoration into this folder has not ended.\n",
                                         files_));
  NF_RETURN_IF_ERROR(CopyFiles());
  NF_RETURN_IF_ERROR(MakeDatabase());
  return std::move(result_);
}

}  // namespace

absl::StatusOr<RestoreResult> RestoreBackup(const std::string& folder, const std::string& home,
                                            const Clock& clock, const RestoreOptions& options,
                                            FileSystem& files) {
  return Restoration(folder, home, clock, options, files).Make();
}

absl::Status FetchFiles(const std::string& folder, const std::string& home,
                        std::set<std::string>& fetched, const std::function<bool()>& stopped,
                        FileSystem& files) {
  NF_ASSIGN_OR_RETURN(const BlobStore to, BlobStore::Open(home, files));
  NF_RETURN_IF_ERROR(to.RemoveLeftovers());
  const BlobStore from = BlobStore::At(folder, files);
  const absl::StatusOr<BackupManifest> manifest = ReadManifest(folder, files);
  if (!manifest.ok()) return absl::OkStatus();
  std::vector<BlobName> names;
  try {
    SQLite::Database database(fmt::format("{}/{}", folder, manifest->database),
                              SQLite::OPEN_READONLY, 0, SummedVfs());
    names = NamedBlobs(database);
  } catch (const SQLite::Exception&) {
    return absl::OkStatus();  // Gone with the next one.
  }
  for (const BlobName& name : names) {
    if (stopped()) return MakeError(absl::StatusCode::kCancelled, "stopped while files came");
    NF_ASSIGN_OR_RETURN(bool held, to.Holds(name));
    if (!held) {
      const absl::Status copied = CopyBlob(from, to, name);
      held = copied.ok();
      const bool not_there = absl::IsNotFound(copied) || absl::IsInvalidArgument(copied);
      if (!held && !not_there) return copied;
    }
    if (held) fetched.insert(name.sha256);
  }
  return absl::OkStatus();
}

uint32_t EpochOf(SQLite::Database& database) {
  return static_cast<uint32_t>(
      database.execAndGet("SELECT coalesce(max(epoch), 0) FROM restoration").getInt64());
}

absl::StatusOr<uint32_t> ReadEpoch(const std::string& home) {
  NF_ASSIGN_OR_RETURN(const auto database, OpenForReading(DatabasePath(home)));
  try {
    return EpochOf(*database);
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading " + DatabasePath(home));
  }
}

absl::Status QuickCheck(const std::string& home) {
  NF_ASSIGN_OR_RETURN(const auto database, OpenForReading(DatabasePath(home)));
  try {
    const std::string said = database->execAndGet("PRAGMA quick_check(1)").getString();
    if (said == "ok") return CheckStepMark(home);
    return MakeError(absl::StatusCode::kDataLoss, DatabasePath(home) + ": " + said);
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading " + DatabasePath(home));
  }
}

std::vector<BlobName> NamedBlobs(SQLite::Database& database) {
  // A backup may be of a schema that has none.
  const bool infers = database.tableExists("inference");
  std::vector<BlobName> blobs;
  SQLite::Statement row(database,
                        std::string("SELECT sha256, max(size_bytes) FROM (SELECT sha256, "
                                    "size_bytes FROM artifact WHERE collected_us IS NULL ") +
                            (infers ? "UNION ALL SELECT sha256, size_bytes FROM inference " : "") +
                            ") GROUP BY sha256 ORDER BY sha256");
  while (row.executeStep()) {
    blobs.push_back(
        {row.getColumn(0).getString(), static_cast<uint64_t>(row.getColumn(1).getInt64())});
  }
  return blobs;
}

bool IsNamed(SQLite::Database& database, const std::string& sha256) {
  SQLite::Statement row(database,
                        "SELECT 1 WHERE EXISTS (SELECT 1 FROM artifact WHERE sha256 = ?1 AND "
                        "collected_us IS NULL) OR EXISTS (SELECT 1 FROM inference WHERE sha256 = "
                        "?1)");
  row.bind(1, sha256);
  return row.executeStep();
}

bool IsOfResult(SQLite::Database& database, const std::string& sha256) {
  SQLite::Statement row(database,
                        "SELECT 1 WHERE EXISTS (SELECT 1 FROM artifact f JOIN attempt a USING "
                        "(lease) WHERE f.sha256 = ?1 AND f.collected_us IS NULL AND a.accepted = "
                        "1) OR EXISTS (SELECT 1 FROM inference WHERE sha256 = ?1)");
  row.bind(1, sha256);
  return row.executeStep();
}

}  // namespace noisefloor
