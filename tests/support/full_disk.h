// A disk without room for one page more, as far as the store of one data directory is concerned.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace noisefloor::test {

// While it exists, no file that this process writes grows beyond the store's log of changes as it
// is now: the system refuses such a write, as it does on a full disk. One at a time.
class FullDisk {
 public:
  explicit FullDisk(const std::string& home) {
    signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit now = before_;
    now.rlim_cur = std::filesystem::file_size(home + "/noisefloor.db-wal");
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  ~FullDisk() { EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace noisefloor::test
