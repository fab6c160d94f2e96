// A tree: files below one folder, known by their content. What is brought to a machine that lacks
// it (a data set, a stack) is one, wherever it comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

struct TreeFile {
  std::string path;  // Below the tree's folder: "cifar-10-batches-bin/test_batch.bin".
  uint64_t size_bytes = 0;
  std::string sha256;  // Of its content; 64 lower-case hexadecimal digits.
  bool executable = false;
  friend bool operator==(const TreeFile&, const TreeFile&) = default;
};

struct Tree {
  std::vector<TreeFile> files;  // By path, each once.
  friend bool operator==(const Tree&, const Tree&) = default;
};

// The one file of a tree of weights.
inline constexpr std::string_view kWeightsFile = "weights.safetensors";

// Hash of all that a tree is: 64 hexadecimal digits. Equal trees have equal ones, whatever they are
// called and wherever they lie.
std::string IdentityOf(const Tree& tree);
uint64_t BytesOf(const Tree& tree);

// InvalidArgument unless every path stays below the tree's folder ("..", a first '/' or an empty
// part does not), none is another's folder, they are sorted, hashes are hashes, and there are 1 to
// kMostTreeFiles files of together less than 2^50 bytes. For what somebody else says.
inline constexpr size_t kMostTreeFiles = 100000;
absl::Status CheckTree(const Tree& tree);

}  // namespace noisefloor
