#include "worker/trainer/torch/stop.h"

#include <atomic>
#include <csignal>

namespace noisefloor::trainer {

namespace {

std::atomic<bool> stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // Safe in a signal handler.

void NoteStop(int) { stop_asked = true; }

}  // namespace

void WatchForStop() {
  struct sigaction action = {};
  action.sa_handler = NoteStop;  // Without SA_RESTART: reads return early.
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool StopAsked() { return stop_asked; }

}  // namespace noisefloor::trainer
