#include "coordinator/cli/unpack.h"

#include <filesystem>
#include <memory>
#include <vector>

#include "fmt/format.h"

#include "archive.h"
#include "archive_entry.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"

namespace noisefloor::cli {

namespace {

struct FreeArchive {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

absl::Status Damaged(const std::string& path, archive* handle) {
  const char* text = archive_error_string(handle);
  return MakeError(absl::StatusCode::kDataLoss,
                   fmt::format("{}: {}", path, text != nullptr ? text : "damaged"));
}

// Below the folder whatever the rest of the path is.
bool IsInside(const std::filesystem::path& path) {
  if (path.empty() || path.is_absolute()) return false;
  for (const auto& part : path) {
    if (part == "..") return false;
  }
  return true;
}

absl::Status WriteEntry(const std::string& archive_path, archive* handle, const std::string& path,
                        uint64_t& left_bytes) {
  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Open(path));
  std::vector<char> piece(1 << 16);
  for (;;) {
    const la_ssize_t count = archive_read_data(handle, piece.data(), piece.size());
    if (count < 0) return Damaged(archive_path, handle);
    if (count == 0) return writer.Commit();
    if (static_cast<uint64_t>(count) > left_bytes) {
      return MakeError(absl::StatusCode::kResourceExhausted,
                       fmt::format("{}: unpacks to more than expected", archive_path));
    }
    left_bytes -= static_cast<uint64_t>(count);
    NF_RETURN_IF_ERROR(writer.Write(std::string_view(piece.data(), static_cast<size_t>(count))));
  }
}

absl::Status UnpackEntry(const std::string& archive_path, archive* handle, archive_entry* entry,
                         const std::string& folder, uint64_t& left_bytes) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr || !IsInside(name)) {
    return InvalidInput(
        fmt::format("{}: refuses the path {}", archive_path, name != nullptr ? name : "(none)"));
  }
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  const auto type = archive_entry_filetype(entry);
  const bool link = archive_entry_hardlink(entry) != nullptr;
  if (type == AE_IFDIR) return CreateDirectories(path.string());
  if (type != AE_IFREG || link) {
    return InvalidInput(fmt::format("{}: {} is neither a file nor a folder", archive_path, name));
  }
  NF_RETURN_IF_ERROR(CreateDirectories(path.parent_path().string()));
  return WriteEntry(archive_path, handle, path.string(), left_bytes);
}

}  // namespace

absl::Status Unpack(const std::string& archive_path, const std::string& folder,
                    uint64_t limit_bytes) {
  const Archive handle(archive_read_new());
  archive_read_support_filter_gzip(handle.get());
  archive_read_support_format_tar(handle.get());
  if (archive_read_open_filename(handle.get(), archive_path.c_str(), 1 << 16) != ARCHIVE_OK) {
    return Damaged(archive_path, handle.get());
  }
  uint64_t left_bytes = limit_bytes;
  archive_entry* entry = nullptr;
  for (;;) {
    const int result = archive_read_next_header(handle.get(), &entry);
    if (result == ARCHIVE_EOF) return absl::OkStatus();
    if (result != ARCHIVE_OK) return Damaged(archive_path, handle.get());
    NF_RETURN_IF_ERROR(UnpackEntry(archive_path, handle.get(), entry, folder, left_bytes));
  }
}

}  // namespace noisefloor::cli
