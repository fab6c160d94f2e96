// A copy of a data directory, made beside the coordinator that writes to it or without one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/files/file_system.h"
#include "coordinator/store/backup_manifest.h"

namespace noisefloor {

// What the backup is at.
struct BackupProgress {
  enum class Stage : uint8_t { kDatabase, kFiles };
  Stage stage = Stage::kDatabase;
  uint64_t done = 0;  // Pages, files.
  uint64_t all = 0;
};

struct BackupOptions {
  std::string version;  // Of noisefloor, for the manifest.
  bool prune = false;   // Files that the new backup does not name go, once it is whole.
  std::function<void(const BackupProgress&)> progress;  // Now and then. May be empty.
  std::function<bool()> stopped;                        // Asked now and then. May be empty.
  // Between the copy of the database and that of the files; for tests of what goes meanwhile.
  std::function<void()> after_database;
};

struct BackupResult {
  BackupManifest manifest;
  uint64_t copied = 0;  // Files that were not there yet,
  uint64_t copied_bytes = 0;
  uint64_t pruned = 0;  // and that went.
};

// Makes `folder` hold the state of `home` at one moment: noisefloor-N.db, blobs/, and backup.json,
// written last. What a backup before this one has left there is used again, and stays whole until
// this one is. Reads through a connection that neither locks out the writer nor checkpoints; the
// log of changes beside the database cannot begin anew while the database is being copied.
// Not in it: `access/` and what else lies in the home. One at a time for each folder.
//
// A file that is damaged or missing though the database names it is left out, with the reason, in
// the manifest. NotFound: `home` is no data directory. FailedPrecondition: `folder` is something
// else, in use by another backup, or the home is of another schema. Aborted: files went meanwhile,
// again and again. Cancelled: stopped; the next one goes on. Others are of the disk.
absl::StatusOr<BackupResult> MakeBackup(const std::string& home, const std::string& folder,
                                        const Clock& clock, const BackupOptions& options,
                                        FileSystem& files = LocalFileSystem());

}  // namespace noisefloor
