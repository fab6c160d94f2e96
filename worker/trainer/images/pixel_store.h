// Memory for the pixels of a whole set while it is being decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/status.h"

namespace noisefloor::trainer {

// Move-only. Different threads may write different parts.
class PixelStore {
 public:
  // In a file without a name in `folder`, whose room is taken at once, so that the system may put
  // aside what memory lacks; empty: in memory. ResourceExhausted without the room.
  static absl::StatusOr<PixelStore> Make(uint64_t bytes, const std::string& folder);
  ~PixelStore();
  PixelStore(PixelStore&& other) noexcept;
  PixelStore& operator=(PixelStore&&) = delete;

  std::span<uint8_t> bytes() const { return bytes_; }

 private:
  explicit PixelStore(std::span<uint8_t> bytes) : bytes_(bytes) {}

  std::span<uint8_t> bytes_;
};

}  // namespace noisefloor::trainer
