#include "worker/trainer/images/pixel_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "common/base/check.h"
#include "common/cache/upkeep.h"
#include "common/files/directory.h"

namespace noisefloor::trainer {

namespace {

constexpr std::string_view kName = "images";
constexpr absl::Duration kTooYoung = absl::Seconds(10);  // Made, and not locked yet.

std::optional<absl::Time> LastChange(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return std::nullopt;
  return absl::TimeFromTimespec(about.st_mtim);
}

// What nobody uses, as large as a set perhaps; `own` was made just now, and says what time it is.
void RemoveAbandoned(const std::string& folder, const std::string& own) {
  const auto names = ListFiles(folder);
  const auto now = LastChange(own);
  if (!names.ok() || !now) return;
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    if (!name.starts_with(fmt::format("{}.aside-", kName)) || path == own) continue;
    const auto changed = LastChange(path);
    if (changed && *now - *changed > kTooYoung) (void)RemoveUnused(path);
  }
}

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

PixelStore PixelStore::InMemory(uint64_t slots, size_t slot_bytes) {
  PixelStore store(slots, slot_bytes);
  const uint64_t bytes = slots * slot_bytes;
  if (bytes == 0) return store;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw NoMemory(bytes);
  madvise(mapped, bytes, MADV_HUGEPAGE);  // Advice: a refusal only costs time.
  store.memory_ = std::span(static_cast<uint8_t*>(mapped), bytes);
  return store;
}

absl::StatusOr<PixelStore> PixelStore::Aside(uint64_t slots, size_t slot_bytes,
                                             const std::string& folder, FileSystem& files) {
  NF_RETURN_IF_ERROR(CreateDirectories(folder, files));
  PixelStore store(slots, slot_bytes);
  NF_ASSIGN_OR_RETURN(store.file_, files.CreateAside(fmt::format("{}/{}", folder, kName)));
  store.files_ = &files;
  store.lock_ = open(store.file_->path().c_str(), O_RDONLY | O_CLOEXEC);
  (void)flock(store.lock_, LOCK_SH | LOCK_NB);
  RemoveAbandoned(folder, store.file_->path());
  if (slots > 0) NF_RETURN_IF_ERROR(store.file_->TakeRoom(slots * slot_bytes));
  return store;
}

PixelStore::~PixelStore() {
  if (file_ != nullptr && !kept_) (void)files_->Remove(file_->path());
  if (lock_ >= 0) close(lock_);
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

PixelStore::PixelStore(PixelStore&& other) noexcept
    : slot_bytes_(other.slot_bytes_),
      checksums_(std::move(other.checksums_)),
      files_(other.files_),
      file_(std::move(other.file_)),
      lock_(std::exchange(other.lock_, -1)),
      kept_(other.kept_),
      memory_(std::exchange(other.memory_, {})) {}

absl::Status PixelStore::Put(uint64_t slot, std::span<const uint8_t> pixels) {
  NF_CHECK(pixels.size() == slot_bytes_ && slot < checksums_.size());
  if (file_ == nullptr) {
    std::memcpy(memory_.data() + slot * slot_bytes_, pixels.data(), slot_bytes_);
    return absl::OkStatus();
  }
  checksums_[slot] = ChecksumOf(std::as_bytes(pixels));
  return file_->WriteAt(slot * slot_bytes_,
                        {reinterpret_cast<const char*>(pixels.data()), pixels.size()});
}

absl::Status PixelStore::Get(uint64_t slot, std::span<uint8_t> pixels) const {
  NF_CHECK(pixels.size() == slot_bytes_ && slot < checksums_.size());
  if (file_ == nullptr) {
    std::memcpy(pixels.data(), memory_.data() + slot * slot_bytes_, slot_bytes_);
    return absl::OkStatus();
  }
  NF_RETURN_IF_ERROR(
      file_->ReadAt(slot * slot_bytes_, {reinterpret_cast<char*>(pixels.data()), pixels.size()}));
  // A disk that failed may have dropped what was written.
  if (ChecksumOf(std::as_bytes(pixels)) == checksums_[slot]) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss,
                   file_->path() + ": it gives other pixels than were written");
}

absl::Status PixelStore::KeepAt(const std::string& path, std::string_view tail) {
  NF_CHECK(in_file() && !kept_);
  NF_RETURN_IF_ERROR(file_->WriteAt(checksums_.size() * slot_bytes_, tail));
  NF_RETURN_IF_ERROR(file_->Sync());
  NF_RETURN_IF_ERROR(files_->Rename(file_->path(), path));
  kept_ = true;
  return files_->SyncFolder(ParentFolder(path));
}

}  // namespace noisefloor::trainer
