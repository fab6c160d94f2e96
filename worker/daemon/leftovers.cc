#include "worker/daemon/leftovers.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fmt/format.h"

namespace noisefloor {

namespace {

constexpr int kWaitMilliseconds = 30000;

// Whether it has gone.
bool End(int process, const std::string& state_directory) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (pidfd < 0) return true;
  // The descriptor names this very process; look again now that its number cannot be reused.
  bool gone = true;
  if (CarriesVariable(process, kStateVariable, state_directory)) {
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
    pollfd wait = {pidfd, POLLIN, 0};
    gone = poll(&wait, 1, kWaitMilliseconds) == 1;
  }
  close(pidfd);
  return gone;
}

}  // namespace

std::vector<int> AllProcesses() {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    int process = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (wrong == std::errc() && end == name.data() + name.size()) found.push_back(process);
  }
  return found;
}

bool CarriesVariable(int process, const std::string& name, const std::string& value) {
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  // Entries end with a zero byte; one in front makes the first like the others.
  const std::string wanted = fmt::format("{}{}={}{}", '\0', name, value, '\0');
  return (std::string(1, '\0') + text.str()).find(wanted) != std::string::npos;
}

std::vector<int> FindLeftovers(const std::string& state_directory) {
  std::vector<int> found = AllProcesses();
  std::erase_if(found, [&](int process) {
    return process == getpid() || !CarriesVariable(process, kStateVariable, state_directory);
  });
  return found;
}

Leftovers EndLeftovers(const std::string& state_directory) {
  Leftovers left;
  for (const int process : FindLeftovers(state_directory)) {
    (End(process, state_directory) ? left.ended : left.undying).push_back(process);
  }
  return left;
}

}  // namespace noisefloor
