#include "common/files/opened_file.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/files/file_error.h"

namespace noisefloor {

OpenedFile::OpenedFile(int file, std::string shown) : file_(file), shown_(std::move(shown)) {}

OpenedFile::~OpenedFile() { close(file_); }

absl::StatusOr<size_t> OpenedFile::Read(std::span<char> into) {
  size_t used = 0;
  while (used < into.size()) {
    const ssize_t count = read(file_, into.data() + used, into.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(shown_, "read", errno);
    if (count == 0) break;
    used += static_cast<size_t>(count);
  }
  return used;
}

}  // namespace noisefloor
