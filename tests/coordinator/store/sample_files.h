// The sample's story with files that are really there.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "gtest/gtest.h"

#include "common/files/sha256.h"
#include "coordinator/store/blob_store.h"
#include "tests/coordinator/store/sample_writes.h"

namespace noisefloor::sample {

// Puts "content of PATH" into `blobs` for each artifact of the story.
inline std::vector<Write> StoryWithFiles(const BlobStore& blobs) {
  std::vector<Write> story = Story();
  for (Write& write : story) {
    auto* outcome = std::get_if<scheduler::KeepOutcome>(&write);
    if (outcome == nullptr) continue;
    for (Artifact& artifact : outcome->outcome.artifacts) {
      const std::string content = "content of " + artifact.path;
      artifact.sha256 = Sha256Hex(content);
      artifact.size = content.size();
      EXPECT_TRUE(blobs.Put({artifact.sha256, artifact.size}, content).ok());
    }
  }
  return story;
}

}  // namespace noisefloor::sample
