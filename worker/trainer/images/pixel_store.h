// Room for the pixels of a whole set while it is being decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/status.h"

namespace noisefloor::trainer {

// Move-only. Any thread may put and get different slots.
class PixelStore {
 public:
  // In a file without a name in `folder`, whose room is taken at once, so that the system may put
  // aside what memory lacks; empty: in memory. ResourceExhausted without the room.
  static absl::StatusOr<PixelStore> Make(uint64_t slots, size_t slot_bytes,
                                         const std::string& folder);
  ~PixelStore();
  PixelStore(PixelStore&& other) noexcept;
  PixelStore& operator=(PixelStore&&) = delete;

  size_t slot_bytes() const { return slot_bytes_; }
  // Spans are of a slot's bytes. Fails where the disk does. Written and read rather than mapped:
  // faults of fresh pages would cost more than the copies.
  absl::Status Put(uint64_t slot, std::span<const uint8_t> pixels);
  absl::Status Get(uint64_t slot, std::span<uint8_t> pixels) const;

 private:
  explicit PixelStore(size_t slot_bytes) : slot_bytes_(slot_bytes) {}

  size_t slot_bytes_;
  int file_ = -1;
  std::string path_;           // That the file had; for messages.
  std::span<uint8_t> memory_;  // Where there is no file.
};

}  // namespace noisefloor::trainer
