// Content-addressed files: what attempts upload, kept once under the SHA-256 of their content.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/atomic_file.h"
#include "common/files/file_system.h"
#include "common/files/sha256.h"

namespace noisefloor {

// Which content: 64 lower-case hexadecimal digits and the number of bytes.
struct BlobName {
  std::string sha256;
  uint64_t size_bytes = 0;
};

// InvalidArgument, naming what was found, unless `sha256` is 64 lower-case hexadecimal digits.
absl::Status CheckSha256(std::string_view sha256);

// One content on its way in. Move-only; one thread at a time. Without Commit nothing appears.
class BlobWriter {
 public:
  // InvalidArgument as soon as more bytes come than were announced.
  absl::Status Write(std::string_view piece);
  // InvalidArgument when size or hash is not what was announced. At most once; Commit asks else.
  absl::Status Check();
  // On disk and synced when OK. What Check says, and then nothing is kept. At most once.
  absl::Status Commit();

 private:
  friend class BlobStore;
  // shared: by the copies of a store and its writers, on any thread. True once the entry of a file
  // may have been lost in this process: then what is seen in a folder proves nothing any more.
  using Doubt = std::shared_ptr<std::atomic<bool>>;
  BlobWriter(BlobName name, AtomicFileWriter file, Doubt doubt)
      : name_(std::move(name)), file_(std::move(file)), doubt_(std::move(doubt)) {}

  BlobName name_;
  AtomicFileWriter file_;
  Sha256 hash_;
  bool checked_ = false;
  Doubt doubt_;
};

// The folder HOME/blobs: the content of hash abcd... lies in ab/cd.... Files are written aside,
// synced, renamed, and the folder is synced, so that one is there whole or not at all.
//
// Any thread; any number of writers, of equal content too. A copy is the same store.
class BlobStore {
 public:
  // Makes the folders that are missing, 00 to ff, and syncs them. `files` outlives the store.
  static absl::StatusOr<BlobStore> Open(const std::string& home,
                                        FileSystem& files = LocalFileSystem());

  // Of a folder as it is: nothing is made in it. For those who only read.
  static BlobStore At(const std::string& home, FileSystem& files = LocalFileSystem()) {
    return BlobStore(home + "/blobs", files);
  }

  absl::StatusOr<BlobWriter> Create(BlobName name) const;
  // All at once. Nothing is written when equal content is there already.
  absl::Status Put(const BlobName& name, std::string_view content) const;

  // True when the content is there undamaged and will be after a loss of power, so that it need not
  // be written again: an earlier writer may have been stopped between its rename and its sync, so
  // this syncs. False: write it. Reads it. An error is of the disk.
  absl::StatusOr<bool> Holds(const BlobName& name) const;
  // True when a file of that name and size is there. Does not read it.
  bool Has(const BlobName& name) const;
  // Reads it: NotFound when missing, DataLoss when a byte or the size is not what it was.
  absl::Status Verify(const BlobName& name) const;
  // Where the content lies or would lie; empty for what CheckSha256 refuses.
  std::string PathOf(std::string_view sha256) const;
  // Removes what writers left aside when the process was killed. Only for the holder of the
  // directory's lock, before it writes.
  absl::Status RemoveLeftovers() const;

  static constexpr int kFolders = 256;
  // The hashes of what lies in one of the folders, sorted; what is on its way in is left out.
  absl::StatusOr<std::vector<std::string>> NamesIn(int folder) const;
  // In bytes; an error of the disk, or NotFound.
  absl::StatusOr<uint64_t> SizeOf(std::string_view sha256) const;
  // Fine when it is not there. It may come back after a loss of power.
  absl::Status Remove(std::string_view sha256) const;
  // What was put there is found again after a loss of power.
  absl::Status SyncFolders() const;

 private:
  friend absl::Status CopyBlob(const BlobStore& from, const BlobStore& to, const BlobName& name);

  BlobStore(std::string folder, FileSystem& files)
      : folder_(std::move(folder)),
        files_(&files),
        doubt_(std::make_shared<std::atomic<bool>>(false)) {}

  std::string folder_;
  FileSystem* files_;
  BlobWriter::Doubt doubt_;
};

// Verified as it is written: NotFound, or InvalidArgument when it is damaged, and nothing is kept.
absl::Status CopyBlob(const BlobStore& from, const BlobStore& to, const BlobName& name);

}  // namespace noisefloor
