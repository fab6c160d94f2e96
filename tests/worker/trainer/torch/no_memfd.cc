// Preloaded into a trainer: it gets no file in memory, in which it would hear its libraries; and
// one sees when it asked.
#include <unistd.h>

#include <cerrno>

extern "C" int memfd_create(const char*, unsigned) {
  constexpr char kSaid[] = "no file in memory\n";
  (void)!write(STDERR_FILENO, kSaid, sizeof kSaid - 1);
  errno = EPERM;
  return -1;
}
