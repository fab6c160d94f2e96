#include "worker/trainer/torch/step/stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace noisefloor::trainer {

namespace {

std::atomic<bool> stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // Safe in a signal handler.

// Readable from the first signal on: a wait that begins just after it ends at once, which an
// interrupted system call alone could not promise. -1 until WatchForStop.
int stop_event = -1;

void NoteStop(int) {
  const int error = errno;
  stop_asked = true;
  const uint64_t one = 1;
  (void)!write(stop_event, &one, sizeof one);
  errno = error;
}

}  // namespace

void WatchForStop() {
  stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action = {};
  action.sa_handler = NoteStop;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool StopAsked() { return stop_asked; }

bool WaitUnlessStopped(int file) {
  pollfd files[] = {{file, POLLIN, 0}, {stop_event, POLLIN, 0}};  // poll passes over -1.
  while (!stop_asked) {
    if (poll(files, 2, -1) < 0 && errno == EINTR) continue;
    return files[1].revents == 0;
  }
  return false;
}

}  // namespace noisefloor::trainer
