#include "common/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/files/file_error.h"

namespace noisefloor {

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // Of a pipe at once.
  if (file < 0) return FileError(path, "open", errno);
  struct stat about {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(file);
    return MakeError(absl::StatusCode::kFailedPrecondition, path + ": not a regular file");
  }
  const size_t size = static_cast<size_t>(about.st_size);
  void* memory = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int failed = memory == MAP_FAILED ? errno : 0;
  close(file);
  if (failed != 0) return FileError(path, "map", failed);
  return MappedFile(std::span(static_cast<const std::byte*>(memory), size));
}

MappedFile::~MappedFile() { Unmap(); }

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  Unmap();
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

void MappedFile::Unmap() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  bytes_ = {};
}

}  // namespace noisefloor
