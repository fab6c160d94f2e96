// Where the data sets that `noisefloor data` knows come from, and which files they are made of.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor::cli {

struct SourceFile {
  std::string name;    // "train-images-idx3-ubyte.gz"
  std::string sha256;  // As published.
};

struct DownloadableSet {
  std::string name;      // "cifar10"
  std::string base_url;  // Before the file's name, with a slash.
  std::string folder;    // Under the data root.
  std::vector<SourceFile> files;
  bool archive = false;              // .tar.gz files that hold the folder.
  std::vector<std::string> members;  // Files that must be there in the end.
  uint64_t unpacked_bytes = 0;       // At most.
};

std::span<const DownloadableSet> DownloadableSets();
const DownloadableSet* FindDownloadable(std::string_view name);

struct GetSetSettings {
  std::string data_root;
  std::string base_url;  // Another address; empty: the official one. The hashes stay.
  std::function<void(const std::string& file, uint64_t received, uint64_t total)> progress;
  std::function<bool()> stop;
};
// Downloads what is missing, verifies, unpacks. Repeatable.
absl::Status GetSet(const DownloadableSet& set, const GetSetSettings& settings);

// Which of the set's files are missing below the root, by their plain or .gz names.
std::vector<std::string> MissingFiles(const DownloadableSet& set, const std::string& data_root);

}  // namespace noisefloor::cli
