#include "common/files/private_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "common/files/file_error.h"
#include "common/files/file_system.h"

namespace noisefloor {

namespace {

absl::Status Fill(WritableFile& file, std::string_view bytes) {
  if (chmod(file.path().c_str(), S_IRUSR | S_IWUSR) != 0) {
    return FileError(file.path(), "protect", errno);
  }
  NF_RETURN_IF_ERROR(file.Append(bytes));
  return file.Sync();
}

}  // namespace

absl::Status WritePrivateFile(const std::string& path, std::string_view bytes) {
  FileSystem& files = LocalFileSystem();
  NF_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> aside, files.CreateAside(path));
  absl::Status written = Fill(*aside, bytes);
  if (written.ok()) written = files.Rename(aside->path(), path);
  if (!written.ok()) {
    (void)files.Remove(aside->path());
    return written;
  }
  return files.SyncFolder(ParentFolder(path));
}

}  // namespace noisefloor
