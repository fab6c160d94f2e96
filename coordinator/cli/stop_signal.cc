#include "coordinator/cli/stop_signal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "common/base/check.h"

namespace noisefloor::cli {

namespace {

std::atomic<int> signal_pipe = -1;  // The handler may touch nothing else.
struct sigaction interrupt_before;
struct sigaction terminate_before;
struct sigaction hangup_before;
struct sigaction warning_before;

extern "C" void OnSignal(int) {
  const char byte = 1;
  const int file = signal_pipe.load();
  if (file >= 0) (void)!write(file, &byte, 1);
}

}  // namespace

void OutliveReaders() { signal(SIGPIPE, SIG_IGN); }

StopSignal::StopSignal(bool also_warning) : also_warning_(also_warning) {
  NF_CHECK(signal_pipe.load() < 0);
  NF_CHECK(pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  signal_pipe = pipe_[1];
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, &interrupt_before);
  sigaction(SIGTERM, &action, &terminate_before);
  sigaction(SIGHUP, nullptr, &hangup_before);
  if (hangup_before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  if (also_warning_) sigaction(SIGUSR1, &action, &warning_before);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &interrupt_before, nullptr);
  sigaction(SIGTERM, &terminate_before, nullptr);
  sigaction(SIGHUP, &hangup_before, nullptr);
  if (also_warning_) sigaction(SIGUSR1, &warning_before, nullptr);
  signal_pipe = -1;
  close(pipe_[0]);
  close(pipe_[1]);
}

bool StopSignal::Requested() const { return WaitFor(absl::ZeroDuration()); }

void StopSignal::Clear() {
  char bytes[16];
  while (read(pipe_[0], bytes, sizeof bytes) > 0) {
  }
}

bool StopSignal::WaitFor(absl::Duration timeout, int other) const {
  pollfd files[2] = {{pipe_[0], POLLIN, 0}, {other, POLLIN, 0}};
  const int wait_ms = timeout == absl::InfiniteDuration()
                          ? -1
                          : static_cast<int>(absl::ToInt64Milliseconds(timeout));
  if (poll(files, 2, wait_ms) < 0) (void)poll(files, 2, 0);  // Interrupted: look once more.
  return (files[0].revents & POLLIN) != 0;
}

}  // namespace noisefloor::cli
