#include "worker/trainer/images/pixel_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/files/directory.h"
#include "common/files/file_error.h"

namespace noisefloor::trainer {

namespace {

absl::StatusOr<std::span<uint8_t>> Map(uint64_t bytes, int flags, int file) {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (mapped == MAP_FAILED) {
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        fmt::format("no memory for {} bytes of pixels: {}", bytes, std::strerror(errno)));
  }
  return std::span(static_cast<uint8_t*>(mapped), bytes);
}

absl::StatusOr<std::span<uint8_t>> MapFile(uint64_t bytes, const std::string& folder) {
  NF_RETURN_IF_ERROR(CreateDirectories(folder));
  std::string path = folder + "/pixels-XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) return FileError(path, "make", errno);
  (void)unlink(path.c_str());
  // With its room: writing to a hole of a full disk would end the process.
  const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  auto mapped = error == 0 ? Map(bytes, MAP_SHARED, file) : FileError(path, "make room in", error);
  close(file);
  return mapped;
}

}  // namespace

absl::StatusOr<PixelStore> PixelStore::Make(uint64_t bytes, const std::string& folder) {
  if (bytes == 0) return PixelStore({});
  NF_ASSIGN_OR_RETURN(
      const std::span<uint8_t> mapped,
      folder.empty() ? Map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1) : MapFile(bytes, folder));
  return PixelStore(mapped);
}

PixelStore::~PixelStore() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

PixelStore::PixelStore(PixelStore&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

}  // namespace noisefloor::trainer
