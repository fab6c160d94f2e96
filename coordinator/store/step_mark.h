// HOME/noisefloor.step: beside the database, the number of the last step that is on disk.
//
// It is written after a step is synced, and is not synced itself: it is never ahead of the
// database, and may be behind it. A database that is behind its mark has lost what was
// acknowledged: the end of its log was damaged, or an older copy was put in its place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"
#include "common/files/file_system.h"

namespace noisefloor {

inline constexpr std::string_view kStepMarkName = "noisefloor.step";

// What the mark of `home` says. Nothing: there is none, or it is damaged itself and says nothing.
// Errors are of the disk.
absl::StatusOr<std::optional<uint64_t>> ReadStepMark(const std::string& home, FileSystem& files);

// The number of the last step in an open database; 0 before the first. SQLite's exceptions pass
// through.
uint64_t LastStepOf(SQLite::Database& database);

// DataLoss, saying what to do, when `database`, which is or becomes that of `home`, is behind the
// mark there. The mark must have been read, or written, before the database was: so that steps
// which are kept meanwhile are no reason. SQLite's exceptions pass through.
absl::Status CheckStepMark(const std::string& home, std::optional<uint64_t> mark,
                           SQLite::Database& database);

// The same of a data directory, beside its coordinator or alone.
absl::Status CheckStepMark(const std::string& home, FileSystem& files = LocalFileSystem());

// Writes the mark. One thread.
class StepMark {
 public:
  StepMark(std::string home, FileSystem& files) : home_(std::move(home)), files_(files) {}

  // After the step is synced. A mark that cannot be written stays behind, or is gone, until the
  // next one can: it protects less and is never wrong. OK, or why not.
  absl::Status Write(uint64_t step);

 private:
  const std::string home_;
  FileSystem& files_;
  std::unique_ptr<WritableFile> file_;  // Null: not opened yet.
};

}  // namespace noisefloor
