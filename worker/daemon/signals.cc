#include "worker/daemon/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/check.h"

namespace noisefloor {

namespace {

sigset_t StopSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

int OpenSignals() {
  const sigset_t set = StopSet();
  return signalfd(-1, &set, SFD_CLOEXEC);
}

}  // namespace

void BlockStopSignals() {
  const sigset_t set = StopSet();
  NF_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  signal(SIGPIPE, SIG_IGN);
}

bool WaitForStopSignal(absl::Duration time) {
  const sigset_t set = StopSet();
  const timespec limit = absl::ToTimespec(time);
  return sigtimedwait(&set, nullptr, &limit) > 0;
}

StopSignals::StopSignals(std::function<void()> stop)
    : stop_(std::move(stop)), signals_(OpenSignals()), quit_(eventfd(0, EFD_CLOEXEC)) {
  NF_CHECK(signals_ >= 0 && quit_ >= 0);
  thread_ = std::thread([this] { Wait(); });
}

StopSignals::~StopSignals() {
  const uint64_t one = 1;
  NF_CHECK(write(quit_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  close(signals_);
  close(quit_);
}

void StopSignals::Wait() {
  while (true) {
    pollfd wait[2] = {{signals_, POLLIN, 0}, {quit_, POLLIN, 0}};
    if (poll(wait, 2, -1) < 0) continue;
    if (wait[1].revents != 0) return;
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof(info)) == sizeof(info)) stop_();
  }
}

}  // namespace noisefloor
