#include "common/files/private_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "common/files/file_error.h"
#include "common/files/file_system.h"

namespace noisefloor {

namespace {

absl::Status Fill(FileSystem& files, const std::string& path, std::string_view bytes) {
  NF_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files.OpenToAppend(path));
  NF_RETURN_IF_ERROR(file->Append(bytes));
  return file->Sync();
}

}  // namespace

absl::Status WritePrivateFile(const std::string& path, std::string_view bytes) {
  FileSystem& files = LocalFileSystem();
  // Not CreateAside, whose files others may read: whoever opened one early would keep it open.
  std::string aside = path + ".aside-XXXXXX";
  const int made = mkostemp(aside.data(), O_CLOEXEC);
  if (made < 0) return FileError(path, "create", errno);
  close(made);
  absl::Status written = Fill(files, aside, bytes);
  if (written.ok()) written = files.Rename(aside, path);
  if (!written.ok()) {
    (void)files.Remove(aside);
    return written;
  }
  return files.SyncFolder(ParentFolder(path));
}

}  // namespace noisefloor
