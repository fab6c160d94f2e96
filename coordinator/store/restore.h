// A data directory made of a backup, and what tells it from the one that the backup was made of.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "SQLiteCpp/Database.h"

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/files/file_system.h"
#include "coordinator/store/backup_manifest.h"
#include "coordinator/store/blob_store.h"

namespace noisefloor {

// In a home whose restoration has not ended.
inline constexpr std::string_view kRestoringName = "restore-unfinished";

struct RestoreOptions {
  bool check_only = false;  // Verifies the backup and writes nothing.
  std::function<void(uint64_t done, uint64_t all)> progress;  // In files. May be empty.
  std::function<bool()> stopped;                              // Asked now and then. May be empty.
  // The backup is what its home was at its end, and that home is not served again (take_over.h):
  // the new one goes on in the same epoch, with all leases.
  bool same_epoch = false;
  // With that: files that are in `home` already, by hash, verified and synced. May be null.
  const std::set<std::string>* held = nullptr;
};

struct RestoreResult {
  BackupManifest manifest;
  bool unfinished = false;  // A later backup into the folder was begun and did not end.
  uint32_t epoch = 0;       // Of the new home.
  uint64_t lost_leases = 0;
};

// Makes `home` of the backup in `folder`. First verifies all of the backup: manifest, hash and
// integrity of the database, what its rows say of each other, the hash of each file. The new home
// has the next epoch, and leases and events that no home of before, nor another one that is made
// of the same backup, has ever numbered: their numbers begin with the millisecond (times 2048) in
// which it was made. Leases that lived in the backup are lost: their members wait again.
//
// The database appears last. NotFound: no backup there; DataLoss: it is damaged, by name;
// FailedPrecondition: it never ended, it is of a newer noisefloor, or `home` is not empty;
// Cancelled: stopped. What a restoration that did not end has left is begun anew.
absl::StatusOr<RestoreResult> RestoreBackup(const std::string& folder, const std::string& home,
                                            const Clock& clock, const RestoreOptions& options,
                                            FileSystem& files = LocalFileSystem());

// Brings files that the backup in `folder` names into `home`, each verified as it comes, and adds
// them to `fetched`. What cannot be had now, since a later backup is being made, is left out.
// Cancelled: stopped. Others are of the disk of `home`.
absl::Status FetchFiles(const std::string& folder, const std::string& home,
                        std::set<std::string>& fetched, const std::function<bool()>& stopped,
                        FileSystem& files = LocalFileSystem());

// How often the data were restored. SQLite's exceptions pass through.
uint32_t EpochOf(SQLite::Database& database);
// The same of a data directory that a coordinator has opened.
absl::StatusOr<uint32_t> ReadEpoch(const std::string& home);

// What SQLite finds wrong with the database of `home`, beside its coordinator or alone, or that it
// is behind its mark (step_mark.h): DataLoss. Reads all of it.
absl::Status QuickCheck(const std::string& home);

// The files that rows name, each once, by name; whether one is named. Those that made room are not.
// SQLite's exceptions pass through.
std::vector<BlobName> NamedBlobs(SQLite::Database& database);
bool IsNamed(SQLite::Database& database, const std::string& sha256);
// Whether an accepted result has it.
bool IsOfResult(SQLite::Database& database, const std::string& sha256);

}  // namespace noisefloor
