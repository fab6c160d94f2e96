// A data directory of a test's own, removed at its end.
#pragma once

#include <stdlib.h>

#include <string>

#include "gtest/gtest.h"

#include "common/files/directory.h"

namespace noisefloor {

class TempHome {
 public:
  TempHome() {
    std::string pattern = ::testing::TempDir() + "/noisefloor-home-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = pattern;
  }
  ~TempHome() { EXPECT_TRUE(RemoveTree(path_).ok()); }
  TempHome(const TempHome&) = delete;
  TempHome& operator=(const TempHome&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace noisefloor
