// A folder of one test, removed with it, and the broken files that tests put there.
#pragma once

#include <stdlib.h>

#include <fstream>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

#include "common/base/check.h"
#include "common/files/directory.h"

namespace noisefloor {

class Scratch {
 public:
  Scratch() : folder_(::testing::TempDir() + "noisefloor-XXXXXX") {
    NF_CHECK(mkdtemp(folder_.data()) != nullptr);
  }
  ~Scratch() { (void)RemoveTree(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& folder() const { return folder_; }
  std::string Path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  std::string Put(std::string_view name, std::string_view bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }

 private:
  std::string folder_;
};

}  // namespace noisefloor
