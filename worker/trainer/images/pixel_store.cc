#include "worker/trainer/images/pixel_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "common/base/check.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"

namespace noisefloor::trainer {

namespace {

// As any allocation that fails.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(uint64_t bytes)
      : words_(fmt::format("no memory for {} bytes of pixels", bytes)) {}
  const char* what() const noexcept override { return words_.c_str(); }

 private:
  std::string words_;
};

}  // namespace

absl::StatusOr<PixelStore> PixelStore::Make(uint64_t slots, size_t slot_bytes,
                                            const std::string& folder) {
  PixelStore store(slot_bytes);
  const uint64_t bytes = slots * slot_bytes;
  if (bytes == 0) return store;
  if (folder.empty()) {
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw NoMemory(bytes);
    madvise(mapped, bytes, MADV_HUGEPAGE);  // Advice: a refusal only costs time.
    store.memory_ = std::span(static_cast<uint8_t*>(mapped), bytes);
    return store;
  }
  NF_RETURN_IF_ERROR(CreateDirectories(folder));
  store.path_ = folder + "/pixels-XXXXXX";
  store.file_ = mkostemp(store.path_.data(), O_CLOEXEC);
  if (store.file_ < 0) return FileError(store.path_, "make", errno);
  (void)unlink(store.path_.c_str());
  const int error = posix_fallocate(store.file_, 0, static_cast<off_t>(bytes));
  if (error != 0) return FileError(store.path_, "make room in", error);
  return store;
}

PixelStore::~PixelStore() {
  if (file_ >= 0) close(file_);
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

PixelStore::PixelStore(PixelStore&& other) noexcept
    : slot_bytes_(other.slot_bytes_),
      file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      memory_(std::exchange(other.memory_, {})) {}

absl::Status PixelStore::Put(uint64_t slot, std::span<const uint8_t> pixels) {
  NF_CHECK(pixels.size() == slot_bytes_);
  if (file_ < 0) {
    std::memcpy(memory_.data() + slot * slot_bytes_, pixels.data(), slot_bytes_);
    return absl::OkStatus();
  }
  for (size_t done = 0; done < slot_bytes_;) {
    const ssize_t count = pwrite(file_, pixels.data() + done, slot_bytes_ - done,
                                 static_cast<off_t>(slot * slot_bytes_ + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path_, "write", errno);
    done += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status PixelStore::Get(uint64_t slot, std::span<uint8_t> pixels) const {
  NF_CHECK(pixels.size() == slot_bytes_);
  if (file_ < 0) {
    std::memcpy(pixels.data(), memory_.data() + slot * slot_bytes_, slot_bytes_);
    return absl::OkStatus();
  }
  for (size_t done = 0; done < slot_bytes_;) {
    const ssize_t count = pread(file_, pixels.data() + done, slot_bytes_ - done,
                                static_cast<off_t>(slot * slot_bytes_ + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path_, "read", errno);
    if (count == 0) return MakeError(absl::StatusCode::kDataLoss, path_ + ": it became shorter");
    done += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

}  // namespace noisefloor::trainer
