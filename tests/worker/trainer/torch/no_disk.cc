// Preloaded into a trainer: its disk keeps nothing, for the reason whose number is in the variable.
#include <cerrno>
#include <cstdlib>

extern "C" int fdatasync(int) {
  const char* reason = std::getenv("NO_DISK_ERROR");
  errno = reason == nullptr ? EIO : std::atoi(reason);
  return -1;
}
