#include "worker/daemon/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "common/files/file_error.h"

extern char** environ;

namespace noisefloor {

namespace {

constexpr int kErrorPipe = 4;  // In the child.
constexpr int kMaxCores = 64 * 1024;

// Everything the child needs, made before the fork: after it, in a process with threads, only
// async-signal-safe calls are allowed.
struct Prepared {
  std::vector<char*> arguments;
  std::vector<std::string> variables;
  std::vector<char*> environment;
  std::vector<cpu_set_t> cores;
  int fds[4];
  int error_pipe;
  pid_t parent;
};

[[noreturn]] void FailInChild(int pipe) {
  const int error = errno;
  (void)!write(pipe, &error, sizeof(error));
  _exit(127);
}

// Descriptors move above the fixed ones first, so that none is overwritten before it is copied.
void PlaceDescriptors(Prepared& p) {
  // Closed by exec also where close_range is not there (before Linux 5.9) or not allowed.
  p.error_pipe = fcntl(p.error_pipe, F_DUPFD_CLOEXEC, 64);
  for (int& fd : p.fds) {
    if (fd >= 0 && (fd = fcntl(fd, F_DUPFD_CLOEXEC, 64)) < 0) FailInChild(p.error_pipe);
  }
  for (int i = 0; i < 4; ++i) {
    if (p.fds[i] >= 0 && dup2(p.fds[i], i) < 0) FailInChild(p.error_pipe);
  }
  if (dup3(p.error_pipe, kErrorPipe, O_CLOEXEC) < 0) FailInChild(p.error_pipe);
  if (p.fds[3] < 0) close(3);
  syscall(SYS_close_range, kErrorPipe + 1, ~0u, 0);
}

[[noreturn]] void RunChild(Prepared& p) {
  PlaceDescriptors(p);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != p.parent) _exit(127);  // The parent ended before it could be watched.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (!p.cores.empty() &&
      sched_setaffinity(0, p.cores.size() * sizeof(cpu_set_t), p.cores.data()) != 0) {
    FailInChild(kErrorPipe);
  }
  execve(p.arguments[0], p.arguments.data(), p.environment.data());
  FailInChild(kErrorPipe);
}

Prepared Prepare(const SpawnRequest& request, int error_pipe) {
  Prepared p{};
  for (const std::string& argument : request.arguments) {
    p.arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  p.arguments.push_back(nullptr);
  for (const auto& [key, value] : request.environment) p.variables.push_back(key + "=" + value);
  for (std::string& variable : p.variables) p.environment.push_back(variable.data());
  p.environment.push_back(nullptr);
  if (!request.cores.empty()) p.cores.resize(kMaxCores / 8 / sizeof(cpu_set_t));
  for (const int core : request.cores) {
    CPU_SET_S(core, p.cores.size() * sizeof(cpu_set_t), p.cores.data());
  }
  p.fds[0] = request.input;
  p.fds[1] = request.output;
  p.fds[2] = request.error;
  p.fds[3] = request.events;
  p.error_pipe = error_pipe;
  p.parent = getpid();
  return p;
}

}  // namespace

absl::StatusOr<Child> Spawn(const SpawnRequest& request) {
  const std::string& program = request.arguments.at(0);
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return FileError(program, "make a pipe for", errno);
  Prepared prepared = Prepare(request, pipe[1]);
  const pid_t pid = fork();
  if (pid == 0) RunChild(prepared);
  const int fork_error = errno;
  close(pipe[1]);
  int error = pid < 0 ? fork_error : 0;
  if (pid > 0 && read(pipe[0], &error, sizeof(error)) != sizeof(error)) error = 0;
  close(pipe[0]);
  if (pid > 0 && error != 0) waitpid(pid, nullptr, 0);
  if (error != 0) return FileError(program, "start", error);
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd >= 0) return Child{pid, pidfd};
  const int pidfd_error = errno;
  kill(-pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return FileError(program, "watch", pidfd_error);
}

Reaped Reap(const Child& child) {
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

namespace {

// What trainers get of the worker's own variables: where programs and libraries lie, and which
// devices of other makers a scheduler gave to this worker (NVIDIA's are told by slot).
bool IsInherited(std::string_view name) {
  constexpr std::array<std::string_view, 14> kNames = {"PATH",
                                                       "HOME",
                                                       "USER",
                                                       "TMPDIR",
                                                       "PYTHONPATH",
                                                       "LD_LIBRARY_PATH",
                                                       "VIRTUAL_ENV",
                                                       "CONDA_PREFIX",
                                                       "ASAN_OPTIONS",
                                                       "UBSAN_OPTIONS",
                                                       "ROCR_VISIBLE_DEVICES",
                                                       "HIP_VISIBLE_DEVICES",
                                                       "GPU_DEVICE_ORDINAL",
                                                       "ZE_AFFINITY_MASK"};
  constexpr std::array<std::string_view, 5> kBegins = {"NOISEFLOOR_", "NVIDIA_", "TPU_", "HABANA_",
                                                       "ASCEND_"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kBegins, [&](auto begin) { return name.starts_with(begin); });
}

}  // namespace

std::map<std::string, std::string> InheritedEnvironment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (IsInherited(name)) result[std::string(name)] = std::string(text.substr(equals + 1));
  }
  result["LC_ALL"] = "C";
  result["PYTHONHASHSEED"] = "0";  // Else the order of its sets is another in each process.
  return result;
}

}  // namespace noisefloor
