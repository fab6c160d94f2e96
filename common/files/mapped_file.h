// A file's content as memory, read when it is touched.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

// Read-only mapping of a whole file. Move-only; views of it end with it. Any thread may read.
// Truncating the file while it is mapped ends the program: map only files that nobody rewrites in
// place (ours are renamed into place).
class MappedFile {
 public:
  static absl::StatusOr<MappedFile> Open(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  void Unmap();

  std::span<const std::byte> bytes_;  // Empty for an empty file, which cannot be mapped.
};

}  // namespace noisefloor
