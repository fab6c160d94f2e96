// What a backup says of itself: DIR/backup.json, which is written last and whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "common/files/file_system.h"

namespace noisefloor {

// A file that the database names and that was not there, or not what it was.
struct MissingBlob {
  std::string sha256;
  std::string reason;
  bool of_result = true;  // An accepted result has it; files of refused ones may never have come.
  friend bool operator==(const MissingBlob&, const MissingBlob&) = default;
};

struct BackupManifest {
  std::string database;  // Its file in DIR.
  uint64_t database_bytes = 0;
  std::string database_sha256;  // Of that file.
  std::string version;          // Of the noisefloor that made it.
  int64_t schema = 0;
  uint32_t epoch = 0;  // Of the home that it was made of.
  absl::Time made;     // The moment whose state it has.
  uint64_t sweeps = 0;
  uint64_t events = 0;
  uint64_t blobs = 0;  // Different files that the database names and DIR has.
  uint64_t blob_bytes = 0;
  std::string blobs_sha256;  // Of their names, sorted, a line each.
  std::vector<MissingBlob> missing;
};

inline constexpr std::string_view kManifestName = "backup.json";
// There while a backup is being made, and after one that did not end.
inline constexpr std::string_view kUnfinishedName = "backup-unfinished";

std::string ManifestToJson(const BackupManifest& manifest);
// NotFound when there is none; DataLoss when it cannot be read.
absl::StatusOr<BackupManifest> ReadManifest(const std::string& folder,
                                            FileSystem& files = LocalFileSystem());

}  // namespace noisefloor
