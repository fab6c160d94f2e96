#include "worker/daemon/orphans.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "fmt/format.h"

#include "common/files/file_error.h"
#include "worker/daemon/leftovers.h"

namespace noisefloor {

namespace {

// Each round ends a generation; one that starts others faster than it is ended is left to the next
// attempt's end.
constexpr int kMostRounds = 20;
constexpr int kWaitMilliseconds = 1000;

// The parent's number stands behind the name, which may hold anything, in parentheses.
int ParentOf(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text, '\0');
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return -1;
  std::istringstream rest(text.substr(name_end + 1));
  std::string state;
  int parent = -1;
  rest >> state >> parent;
  return parent;
}

bool ComesFromOneOf(int process, const std::set<std::string>& living) {
  for (const std::string& trainer : living) {
    if (CarriesVariable(process, kTrainerVariable, trainer)) return true;
  }
  return false;
}

// False when it does not go in time; it is reaped another time.
bool EndAndReap(int process) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (pidfd < 0) return false;
  kill(process, SIGKILL);  // A child of ours: its number stays its own until it is reaped.
  pollfd wait = {pidfd, POLLIN, 0};
  const bool ended = poll(&wait, 1, kWaitMilliseconds) == 1;
  if (ended) waitpid(process, nullptr, WNOHANG);
  close(pidfd);
  return ended;
}

}  // namespace

absl::Status AdoptOrphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) return absl::OkStatus();
  return FileError("this process", "become the parent of orphans", errno);
}

std::vector<int> EndOrphans(const std::set<int>& ours, const std::set<std::string>& living) {
  std::vector<int> ended;
  for (int round = 0; round < kMostRounds; ++round) {
    const size_t before = ended.size();
    for (const int process : AllProcesses()) {
      if (ParentOf(process) != getpid() || ours.contains(process)) continue;
      if (ComesFromOneOf(process, living)) continue;
      if (EndAndReap(process)) ended.push_back(process);
    }
    if (ended.size() == before) break;
  }
  return ended;
}

}  // namespace noisefloor
