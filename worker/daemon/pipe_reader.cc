#include "worker/daemon/pipe_reader.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

namespace noisefloor {

namespace {
constexpr size_t kPieceBytes = 64 << 10;
}  // namespace

bool ReadAvailable(int file, size_t most_bytes, const std::function<void(std::string_view)>& take) {
  std::vector<char> buffer(kPieceBytes);
  for (size_t taken = 0; taken < most_bytes;) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    taken += static_cast<size_t>(got);
    take(std::string_view(buffer.data(), static_cast<size_t>(got)));
  }
  return true;
}

}  // namespace noisefloor
