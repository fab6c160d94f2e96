// Room for the pixels of a whole set while it is being decoded: memory, or the beginning of what
// becomes the set's file of the cache (image_file.h), so that pixels are written once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/checksum.h"
#include "common/files/file_system.h"

namespace noisefloor::trainer {

// Move-only. Any thread may put and get different slots.
class PixelStore {
 public:
  // In memory. Throws as any allocation that fails.
  static PixelStore InMemory(uint64_t slots, size_t slot_bytes);
  // In a file aside of `folder`/images, whose room is taken at once, so that the system may put
  // aside what memory lacks. ResourceExhausted without the room.
  static absl::StatusOr<PixelStore> Aside(uint64_t slots, size_t slot_bytes,
                                          const std::string& folder,
                                          FileSystem& files = LocalFileSystem());
  // What was not kept is removed; what a killed process left, by the next Aside in the folder.
  ~PixelStore();
  PixelStore(PixelStore&& other) noexcept;
  PixelStore& operator=(PixelStore&&) = delete;

  size_t slot_bytes() const { return slot_bytes_; }
  bool in_file() const { return file_ != nullptr; }
  // Of each slot that was put.
  const std::vector<Checksum>& checksums() const { return checksums_; }

  // Spans are of a slot's bytes. Fails where the disk does. Written and read rather than mapped:
  // faults of fresh pages would cost more than the copies.
  absl::Status Put(uint64_t slot, std::span<const uint8_t> pixels);
  // DataLoss when a file gives something else than was put.
  absl::Status Get(uint64_t slot, std::span<uint8_t> pixels) const;

  // Of a file. While nobody puts: lets the disk begin with what was put.
  void StartSync() { file_->StartSync(); }
  // Once: puts `tail` behind the slots, syncs and moves the file to `path`, in the same folder.
  // After a failure what was put can still be got.
  absl::Status KeepAt(const std::string& path, std::string_view tail);

 private:
  PixelStore(uint64_t slots, size_t slot_bytes) : slot_bytes_(slot_bytes), checksums_(slots) {}

  size_t slot_bytes_;
  std::vector<Checksum> checksums_;
  FileSystem* files_ = nullptr;  // Of the file, which there is then.
  std::unique_ptr<WritableFile> file_;
  int lock_ = -1;  // On the file, shared: it is in use.
  bool kept_ = false;
  std::span<uint8_t> memory_;  // Where there is no file.
};

}  // namespace noisefloor::trainer
