// A disk that does what the machine's own does: for tests that change one thing about it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/files/file_system.h"

namespace noisefloor {

class ForwardingDisk : public FileSystem {
 public:
  absl::StatusOr<FileInfo> Inspect(const std::string& path) override { return disk_.Inspect(path); }
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const std::string& path) override {
    return disk_.OpenToRead(path);
  }
  absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) override {
    return disk_.List(folder);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenToAppend(const std::string& path) override {
    return disk_.OpenToAppend(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenToOverwrite(const std::string& path) override {
    return disk_.OpenToOverwrite(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateAside(const std::string& path) override {
    return disk_.CreateAside(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return disk_.Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override { return disk_.Remove(path); }
  absl::Status RemoveTree(const std::string& path) override { return disk_.RemoveTree(path); }
  absl::StatusOr<bool> MakeFolder(const std::string& path) override {
    return disk_.MakeFolder(path);
  }
  absl::Status SyncFolder(const std::string& path) override { return disk_.SyncFolder(path); }

 private:
  FileSystem& disk_ = LocalFileSystem();
};

}  // namespace noisefloor
