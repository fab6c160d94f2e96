// A disk, and a file, that do what those do that are below them: for tests that change one thing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

class ForwardingFile : public WritableFile {
 public:
  explicit ForwardingFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  const std::string& path() const override { return file_->path(); }
  absl::Status Append(std::string_view bytes) override { return file_->Append(bytes); }
  absl::Status WriteAt(uint64_t offset_bytes, std::string_view bytes) override {
    return file_->WriteAt(offset_bytes, bytes);
  }
  absl::Status ReadAt(uint64_t offset_bytes, std::span<char> into) const override {
    return file_->ReadAt(offset_bytes, into);
  }
  absl::Status Truncate(uint64_t size_bytes) override { return file_->Truncate(size_bytes); }
  absl::Status Sync() override { return file_->Sync(); }
  absl::Status TakeRoom(uint64_t size_bytes) override { return file_->TakeRoom(size_bytes); }
  void StartSync() override { file_->StartSync(); }

 private:
  const std::unique_ptr<WritableFile> file_;
};

// Notes which folders were synced and what was renamed: "sync PATH", "rename PATH".
class NotingDisk final : public ForwardingDisk {
 public:
  absl::Status SyncFolder(const std::string& path) override {
    done.push_back("sync " + path);
    return ForwardingDisk::SyncFolder(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    done.push_back("rename " + from);
    return ForwardingDisk::Rename(from, to);
  }

  std::vector<std::string> done;
};

}  // namespace noisefloor
