#include "worker/trainer/images/tar_shard.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "common/files/file_error.h"
#include "worker/trainer/images/image_tree.h"
#include "worker/trainer/images/picture.h"

namespace noisefloor::trainer {

namespace {

constexpr size_t kBlockBytes = 1 << 16;

struct Close {
  void operator()(archive* open) const { archive_read_free(open); }
};

// An open file.
class Opened {
 public:
  explicit Opened(int file) : file_(file) {}
  ~Opened() {
    if (file_ >= 0) close(file_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  int file() const { return file_; }

 private:
  const int file_;
};

std::string WordsOf(archive* open) {
  const char* words = archive_error_string(open);
  return words == nullptr ? "no reason told" : words;
}

// Path of an entry that may be read; empty: passed over.
absl::StatusOr<std::string> PathOf(archive_entry* entry) {
  const char* raw = archive_entry_pathname(entry);
  std::string path = raw == nullptr ? "" : raw;
  if (raw == nullptr) return InvalidInput("its name is not UTF-8");
  while (path.starts_with("./")) path.erase(0, 2);
  if (archive_entry_filetype(entry) == AE_IFDIR) return "";
  const absl::Status fine = CheckPath(path);
  if (!fine.ok()) return fine;
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_filetype(entry) == AE_IFLNK) {
    return InvalidInput("a link; expected plain files and folders");
  }
  if (archive_entry_filetype(entry) != AE_IFREG) {
    return InvalidInput("neither a plain file nor a folder");
  }
  if (archive_entry_sparse_count(entry) > 0) {
    return InvalidInput("a sparse file; expected plain files and folders");
  }
  const bool hidden = ("/" + path).find("/.") != std::string::npos;
  if (hidden || !IsPictureName(path)) return "";
  if (archive_entry_size(entry) < 0 || archive_entry_size(entry) > kMostPictureBytes) {
    return InvalidInput(
        fmt::format("{} bytes; expected at most {}", archive_entry_size(entry), kMostPictureBytes));
  }
  return path;
}

constexpr off_t kTarBlock = 512;

// Whether the bytes [begin, end) of the file are zeros; of an unreadable file false.
bool AreZeros(int file, off_t begin, off_t end) {
  std::string piece(kBlockBytes, '\0');
  while (begin < end) {
    const auto wanted = static_cast<size_t>(std::min<off_t>(end - begin, kBlockBytes));
    const ssize_t count = pread(file, piece.data(), wanted, begin);
    if (count <= 0) return false;
    const auto got = std::string_view(piece).substr(0, static_cast<size_t>(count));
    if (got.find_first_not_of('\0') != std::string_view::npos) return false;
    begin += count;
  }
  return true;
}

// libarchive takes the end of the file, and the first block of zeros, for the end of the shard: one
// that was cut between two entries, or has another behind it, would lose pictures without a word.
absl::Status CheckEnd(const std::string& shard, int file, off_t consumed) {
  const off_t size = lseek(file, 0, SEEK_END);
  if (size < 0) return FileError(shard, "look at", errno);
  const off_t end = std::min(consumed, size);
  if (!AreZeros(file, end, size)) {
    return InvalidInput(shard + ": something follows the end of the tar file");
  }
  const bool ended =
      size - end >= kTarBlock || AreZeros(file, std::max<off_t>(0, end - kTarBlock), end);
  return ended ? absl::OkStatus()
               : InvalidInput(shard + ": it ends early, without the zeros that end a tar file");
}

// A name as a message may show it.
std::string Shown(archive_entry* entry) {
  const char* raw = archive_entry_pathname(entry);
  std::string name = raw == nullptr ? "?" : raw;
  if (!IsUtf8(name)) {
    for (char& c : name) c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
  }
  return name.substr(0, 200);
}

absl::StatusOr<std::string> BytesOf(archive* open, archive_entry* entry) {
  std::string bytes(static_cast<size_t>(archive_entry_size(entry)), '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const la_ssize_t count = archive_read_data(open, bytes.data() + got, bytes.size() - got);
    if (count < 0) return InvalidInput(WordsOf(open));
    if (count == 0) return InvalidInput("it ends early");
    got += static_cast<size_t>(count);
  }
  return bytes;
}

}  // namespace

absl::Status ReadShard(
    const std::string& shard, const std::function<bool(const std::string& path)>& wanted,
    const std::function<absl::Status(const std::string& path, std::string bytes)>& take) {
  const Opened file(open(shard.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.file() < 0) return FileError(shard, "open", errno);
  const std::unique_ptr<archive, Close> reader(archive_read_new());
  if (reader == nullptr) return MakeError(absl::StatusCode::kResourceExhausted, "no memory");
  archive_read_support_format_tar(reader.get());
  // Names as bytes, whatever the process's locale: we say what a name may be.
  archive_read_set_options(reader.get(), "hdrcharset=BINARY");
  if (archive_read_open_fd(reader.get(), file.file(), kBlockBytes) != ARCHIVE_OK) {
    return InvalidInput(fmt::format("{}: not a tar file: {}", shard, WordsOf(reader.get())));
  }
  for (bool first = true;; first = false) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF && first) return InvalidInput(shard + ": a tar file without entries");
    if (result == ARCHIVE_EOF) {
      return CheckEnd(shard, file.file(), archive_filter_bytes(reader.get(), 0));
    }
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
      return InvalidInput(fmt::format("{}: {}: {}", shard,
                                      first ? "not a tar file" : "a damaged tar file",
                                      WordsOf(reader.get())));
    }
    const auto name = [&] { return fmt::format("{}:{}", shard, Shown(entry)); };
    const auto path = PathOf(entry);
    if (!path.ok()) return Annotate(path.status(), name());
    if (path->empty()) continue;
    absl::StatusOr<std::string> bytes = std::string();
    if (wanted(*path)) bytes = BytesOf(reader.get(), entry);
    if (!bytes.ok()) return Annotate(bytes.status(), name());
    NF_RETURN_IF_ERROR(take(*path, *std::move(bytes)));
  }
}

absl::Status ListShard(const std::string& shard,
                       const std::function<absl::Status(const std::string& path)>& take) {
  return ReadShard(
      shard, [](const std::string&) { return false; },
      [&](const std::string& path, std::string) { return take(path); });
}

}  // namespace noisefloor::trainer
