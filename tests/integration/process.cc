#include "tests/integration/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "common/files/file_error.h"
#include "worker/daemon/leftovers.h"

namespace noisefloor::test {

namespace {

bool IsReadable(int file, absl::Duration timeout) {
  pollfd wait = {file, POLLIN, 0};
  const auto ms = static_cast<int>(absl::ToInt64Milliseconds(timeout));
  int ready = 0;
  do {
    ready = poll(&wait, 1, ms);
  } while (ready < 0 && errno == EINTR);
  return ready == 1;
}

}  // namespace

absl::StatusOr<Process> Process::Start(std::vector<std::string> arguments,
                                       const std::string& log_path) {
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) return FileError("a pipe", "make", errno);
  const int log = open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  SpawnRequest request;
  request.arguments = std::move(arguments);
  request.environment = InheritedEnvironment();
  request.input = null;
  request.output = output[1];
  request.error = log;
  const auto child = Spawn(request);
  for (const int file : {output[1], log, null}) close(file);
  if (child.ok()) return Process(*child, output[0]);
  close(output[0]);
  return child.status();
}

Process::~Process() { End(); }

Process::Process(Process&& other) noexcept
    : child_(std::exchange(other.child_, Child())),
      output_(std::exchange(other.output_, -1)),
      read_(std::move(other.read_)) {}

Process& Process::operator=(Process&& other) noexcept {
  End();
  child_ = std::exchange(other.child_, Child());
  output_ = std::exchange(other.output_, -1);
  read_ = std::move(other.read_);
  return *this;
}

void Process::End() {
  if (Signal(SIGKILL)) (void)Wait(absl::Minutes(1));
  CloseOutput();
}

void Process::CloseOutput() {
  if (output_ >= 0) close(std::exchange(output_, -1));
}

absl::StatusOr<std::string> Process::ReadLine(absl::Duration timeout) {
  while (true) {
    if (const size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    if (!IsReadable(output_, timeout)) {
      return MakeError(absl::StatusCode::kDeadlineExceeded, "no line came");
    }
    char piece[4096];
    const ssize_t got = read(output_, piece, sizeof piece);
    if (got <= 0) return MakeError(absl::StatusCode::kUnavailable, "it closed its output");
    read_.append(piece, static_cast<size_t>(got));
  }
}

bool Process::Signal(int number) const { return child_.pid > 0 && kill(child_.pid, number) == 0; }

absl::StatusOr<int> Process::Wait(absl::Duration timeout) {
  if (!IsReadable(child_.pidfd, timeout)) {
    return MakeError(absl::StatusCode::kDeadlineExceeded, "it has not ended");
  }
  const Reaped end = Reap(child_);
  close(child_.pidfd);
  child_ = Child();
  return end.signalled ? -end.code : end.code;
}

bool Process::EndsWithin(absl::Duration timeout) const {
  return child_.pid < 0 || IsReadable(child_.pidfd, timeout);
}

bool SignalMarked(const std::string& state_directory, int process, int number) {
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (handle < 0) return false;
  const std::vector<int> marked = FindLeftovers(state_directory);
  const bool is_ours = std::ranges::find(marked, process) != marked.end();
  const bool sent = is_ours && syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0) == 0;
  close(handle);
  return sent;
}

std::string EndOfFile(const std::string& path, size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  return text.substr(text.size() > bytes ? text.size() - bytes : 0);
}

}  // namespace noisefloor::test
