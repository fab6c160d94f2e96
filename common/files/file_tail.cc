#include "common/files/file_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/files/file_error.h"
#include "common/files/opened_file.h"

namespace noisefloor {

absl::StatusOr<std::string> ReadTail(const std::string& path, size_t most_bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // Of a pipe at once.
  if (file < 0) return FileError(path, "open", errno);
  OpenedFile opened(file, path);
  struct stat about {};
  if (fstat(file, &about) != 0) return FileError(path, "inspect", errno);
  if (!S_ISREG(about.st_mode)) {
    return MakeError(absl::StatusCode::kFailedPrecondition, path + ": not a regular file");
  }
  const auto size = static_cast<size_t>(about.st_size);
  std::string text(std::min(size, most_bytes), '\0');
  if (lseek(file, static_cast<off_t>(size - text.size()), SEEK_SET) < 0) {
    return FileError(path, "read", errno);
  }
  NF_ASSIGN_OR_RETURN(const size_t got, opened.Read(text));
  text.resize(got);
  return text;
}

}  // namespace noisefloor
