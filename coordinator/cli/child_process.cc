#include "coordinator/cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>

#include "fmt/format.h"

#include "common/files/file_error.h"

namespace noisefloor::cli {

namespace {

// Pointers for execve; the strings stay with the caller.
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool MayPass(const std::string& name) {
  constexpr std::array<std::string_view, 6> kHarmless = {"PATH", "HOME",   "LD_LIBRARY_PATH",
                                                         "LANG", "TMPDIR", "NOISEFLOOR_CACHE"};
  return std::ranges::find(kHarmless, name) != kHarmless.end();
}

std::vector<std::string> Environment(const ChildSettings& settings) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (settings.variables.contains(name) || (settings.clean && !MayPass(name))) continue;
    all.push_back(text);
  }
  for (const auto& [name, value] : settings.variables)
    all.push_back(fmt::format("{}={}", name, value));
  return all;
}

// Between fork and exec.
void BecomeChild(const ChildSettings& settings, char** arguments, char** environment, int log) {
  // A group of its own: Ctrl-C in the terminal is for us to pass on.
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);  // Whatever it is to us.
  const int input = settings.input >= 0 ? settings.input : open("/dev/null", O_RDONLY);
  dup2(input, 0);
  dup2(log, 1);
  dup2(log, 2);
  if (settings.keep >= 0) fcntl(settings.keep, F_SETFD, 0);
  execve(settings.program.c_str(), arguments, environment);
}

}  // namespace

int ForkAndExec(const std::function<void()>& become, pid_t& process) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return errno;
  const pid_t parent = getpid();
  process = fork();
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    become();
    const int error = errno;
    (void)!write(report[1], &error, sizeof error);
    _exit(127);
  }
  int error = process < 0 ? errno : 0;
  close(report[1]);
  if (process > 0 && read(report[0], &error, sizeof error) <= 0) error = 0;
  close(report[0]);
  if (process > 0 && error != 0) waitpid(process, nullptr, 0);
  return error;
}

int WaitFor(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) != process) {
    if (errno != EINTR) return 0;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

absl::StatusOr<ChildProcess> ChildProcess::Start(const ChildSettings& settings) {
  std::vector<std::string> arguments = settings.arguments;
  arguments.insert(arguments.begin(), settings.program);
  std::vector<std::string> environment = Environment(settings);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const int log = open(settings.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return FileError(settings.log_path, "open", errno);
  const off_t log_begin = lseek(log, 0, SEEK_END);
  pid_t process = -1;
  const auto become = [&] {
    BecomeChild(settings, const_cast<char**>(argument_pointers.data()),
                const_cast<char**>(environment_pointers.data()), log);
  };
  const int error = ForkAndExec(become, process);
  close(log);
  if (error != 0) return FileError(settings.program, "start", error);
  return ChildProcess(process, static_cast<int>(syscall(SYS_pidfd_open, process, 0)),
                      settings.log_path, log_begin);
}

ChildProcess::~ChildProcess() {
  if (process_ > 0) {
    Signal(SIGKILL);
    (void)Wait();
  }
  if (ended_file_ >= 0) close(ended_file_);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      ended_file_(std::exchange(other.ended_file_, -1)),
      exit_code_(other.exit_code_),
      log_path_(std::move(other.log_path_)),
      log_begin_(other.log_begin_) {}

bool ChildProcess::Ended() const {
  pollfd file = {ended_file_, POLLIN, 0};
  return process_ < 0 || poll(&file, 1, 0) == 1;
}

void ChildProcess::Signal(int number) const {
  if (process_ > 0) kill(process_, number);
}

int ChildProcess::Wait() {
  if (process_ > 0) exit_code_ = WaitFor(std::exchange(process_, -1));
  return exit_code_;
}

void ChildProcess::Stop(absl::Duration grace, int hurry) {
  if (process_ < 0) return;
  Signal(SIGTERM);
  pollfd files[2] = {{ended_file_, POLLIN, 0}, {hurry, POLLIN, 0}};
  const int grace_ms = static_cast<int>(absl::ToInt64Milliseconds(grace));
  while (poll(files, 2, grace_ms) < 0 && errno == EINTR) {
  }
  if (files[0].revents == 0) Signal(SIGKILL);
  (void)Wait();
}

std::string ChildProcess::EndOfLog(size_t lines) const {
  std::ifstream file(log_path_);
  file.seekg(log_begin_);
  std::vector<std::string> last;
  for (std::string line; std::getline(file, line);) {
    last.push_back(line);
    if (last.size() > lines) last.erase(last.begin());
  }
  std::string text;
  for (const std::string& line : last) text += "  " + line + "\n";
  return text;
}

}  // namespace noisefloor::cli
