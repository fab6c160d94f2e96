#include "coordinator/cli/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "common/files/file_error.h"

namespace noisefloor::cli {

OutputFile::OutputFile(int file) : file_(file) {
  setp(waiting_.data(), waiting_.data() + waiting_.size());
}

OutputFile::~OutputFile() { (void)Finish(); }

bool OutputFile::WriteOut() {
  const char* next = pbase();
  while (error_ == 0 && next < pptr()) {
    const ssize_t count = write(file_, next, static_cast<size_t>(pptr() - next));
    if (count >= 0) {
      next += count;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  setp(waiting_.data(), waiting_.data() + waiting_.size());
  return error_ == 0;
}

OutputFile::int_type OutputFile::overflow(int_type character) {
  if (!WriteOut()) return traits_type::eof();
  if (traits_type::eq_int_type(character, traits_type::eof())) return 0;
  return sputc(traits_type::to_char_type(character));
}

int OutputFile::sync() { return WriteOut() ? 0 : -1; }

absl::Status OutputFile::Finish() {
  (void)WriteOut();
  if (file_ >= 0 && close(file_) != 0 && error_ == 0) error_ = errno;
  file_ = -1;
  if (error_ == 0) return absl::OkStatus();
  return FileError("standard output", "write", error_);
}

bool OutputFile::ReaderLeft() const { return error_ == EPIPE; }

void HoldStandardStreams() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (fcntl(file, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Read only where writing is meant, and the reverse.
    (void)!open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace noisefloor::cli
