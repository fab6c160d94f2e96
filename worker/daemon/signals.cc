#include "worker/daemon/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "common/base/check.h"

namespace noisefloor {

namespace {

bool IsIgnored(int number) {
  struct sigaction now = {};
  return sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

sigset_t StopSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGUSR1);
  if (!IsIgnored(SIGHUP)) sigaddset(&set, SIGHUP);
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

StopSignals::StopSignals(std::function<void(StopSignal)> stop)
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
  bool hung_up = false;
  while (true) {
    pollfd wait[2] = {{signals_, POLLIN, 0}, {quit_, POLLIN, 0}};
    if (poll(wait, 2, -1) < 0) continue;
    if (wait[1].revents != 0) return;
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof(info)) != sizeof(info)) continue;
    const bool hangup = info.ssi_signo == SIGHUP;
    if (hangup && std::exchange(hung_up, true)) continue;
    stop_(info.ssi_signo == SIGUSR1 ? StopSignal::kWarn : StopSignal::kStop);
  }
}

}  // namespace noisefloor
