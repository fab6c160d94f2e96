#include "worker/daemon/uploader.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

#include "common/files/sha256.h"

namespace noisefloor {
namespace {

class CheckArtifactTest : public testing::Test {
 protected:
  CheckArtifactTest() {
    std::string pattern = testing::TempDir() + "nf-artifact-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ + "/work/below");
    std::ofstream(folder_ + "/work/a") << "abc";
    std::ofstream(folder_ + "/work/below/b") << "abc";
    std::ofstream(folder_ + "/secret") << "abc";
  }
  ~CheckArtifactTest() override { std::filesystem::remove_all(folder_); }

  std::string Refusal(const std::string& path, uint64_t size = 3,
                      const std::string& content = "abc") const {
    const ArtifactEvent artifact{"kind", path, Sha256Hex(content), size};
    return Message(CheckArtifact(folder_ + "/work", artifact).status());
  }

  std::string folder_;
};

TEST_F(CheckArtifactTest, WholeFilesPass) {
  EXPECT_EQ(Refusal("a"), "");
  EXPECT_EQ(Refusal("below/b"), "");
}

TEST_F(CheckArtifactTest, WhatIsNotAsSaidIsNamed) {
  EXPECT_EQ(Refusal("c"), "artifact kind (c): there is no such file");
  EXPECT_EQ(Refusal("below"), "artifact kind (below): not a file");
  EXPECT_EQ(Refusal("a", 4), "artifact kind (a): 3 bytes, and the trainer said 4");
  EXPECT_EQ(Refusal("a", 3, "abd"), "artifact kind (a): SHA-256 " + Sha256Hex("abc") +
                                        ", and the trainer said " + Sha256Hex("abd"));
}

TEST_F(CheckArtifactTest, LinksDoNotLeadOutOfTheFolder) {
  std::filesystem::create_symlink(folder_ + "/secret", folder_ + "/work/file_link");
  std::filesystem::create_symlink(folder_, folder_ + "/work/folder_link");
  EXPECT_EQ(Refusal("file_link"), "artifact kind (file_link): reached through a link");
  EXPECT_EQ(Refusal("folder_link/secret"),
            "artifact kind (folder_link/secret): reached through a link");
}

}  // namespace
}  // namespace noisefloor
