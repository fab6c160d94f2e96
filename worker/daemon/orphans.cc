#include "worker/daemon/orphans.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "fmt/format.h"

#include "common/files/file_error.h"
#include "worker/daemon/leftovers.h"

namespace noisefloor {

namespace {

// Each round ends a generation; one that starts others faster than it is ended is left to the next
// attempt's end.
constexpr int kMostRounds = 20;
constexpr int kWaitMilliseconds = 1000;

// What /proc/PID/stat says, by the numbers of proc(5). The name, which may hold anything, stands in
// parentheses before the third. Empty: there is no such process.
std::vector<std::string> StatOf(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text, '\0');
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::vector<std::string> fields(3);  // So that each is at its number.
  std::istringstream rest(text.substr(name_end + 1));
  for (std::string field; rest >> field;) fields.push_back(std::move(field));
  constexpr size_t kFields = 53;
  fields.resize(std::max(fields.size(), kFields));
  return fields;
}

bool IsChild(int process) {
  const std::vector<std::string> stat = StatOf(process);
  return !stat.empty() && stat[4] == std::to_string(getpid());
}

// In the middle of an execve a process has no environment yet: the kernel does not say where it
// ends. One that has ended has none any more, and one that cleared it has an empty one.
bool IsBecomingAnother(int process) {
  std::ifstream environment(fmt::format("/proc/{}/environ", process));
  if (!environment || environment.get() != std::ifstream::traits_type::eof()) return false;
  const std::vector<std::string> stat = StatOf(process);
  return !stat.empty() && stat[3] != "Z" && stat[51] == "0";
}

// Or may: it is looked at again when the next attempt ends.
bool ComesFromOneOf(int process, const std::set<std::string>& living) {
  const auto carries = [process](const std::string& trainer) {
    return CarriesVariable(process, kTrainerVariable, trainer);
  };
  if (living.empty()) return false;
  // Before and after: what was not yet begun at the first look may be over at the second.
  return std::ranges::any_of(living, carries) || IsBecomingAnother(process) ||
         std::ranges::any_of(living, carries);
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
      if (!IsChild(process) || ours.contains(process)) continue;
      if (ComesFromOneOf(process, living)) continue;
      if (EndAndReap(process)) ended.push_back(process);
    }
    if (ended.size() == before) break;
  }
  return ended;
}

}  // namespace noisefloor
