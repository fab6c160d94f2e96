// Whether the database of a data directory may be opened, and whether it is still the one that was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

// Before the database is opened. FailedPrecondition when it is missing or empty though files of
// attempts, or a log of changes, are there: a new one beside them would hide what was lost; and
// when it has a second name, under which another coordinator could open it.
absl::Status CheckDatabaseFile(const std::string& home);

// The database, what SQLite keeps beside it and the folder of the files, as they were found. One
// thread.
class HomeFiles {
 public:
  // After the database was opened.
  explicit HomeFiles(const std::string& home);

  // DataLoss when one of them was removed or replaced: what is written from then on goes to a file
  // that nobody finds again.
  absl::Status Check();

 private:
  struct Identity {
    uint64_t device = 0;
    uint64_t number = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  struct File {
    std::string path;
    std::optional<Identity> found;  // Empty: was not there yet.
  };
  static std::optional<Identity> Look(const std::string& path, bool& missing);

  std::vector<File> files_;
};

}  // namespace noisefloor
