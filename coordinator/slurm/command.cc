#include "coordinator/slurm/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace noisefloor {

namespace {

// A file that is closed at the end.
class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  ~File() { Close(); }
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void Close() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

struct Pipe {
  File read;
  File write;
};

absl::Status Failed(std::string_view what, int error) {
  return MakeError(absl::StatusCode::kUnavailable, fmt::format("{}: {}", what, strerror(error)));
}

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failed("pipe", errno);
  return Pipe{File(ends[0]), File(ends[1])};
}

absl::Duration Steady() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

std::string Found(const std::string& name, const std::vector<std::string>& environment) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string& entry : environment) {
    if (!entry.starts_with("PATH=")) continue;
    std::string_view rest = std::string_view(entry).substr(5);
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(':'), rest.size());
      const std::string path = std::string(rest.substr(0, end)) + "/" + name;
      if (access(path.c_str(), X_OK) == 0) return path;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return "";
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// A group of its own, no signal blocked, SIGPIPE as usual, no file but the three.
absl::StatusOr<pid_t> Start(const std::string& program, const Command& command, const Pipe& in,
                            const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.read.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.write.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.write.number(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const std::vector<char*> words = Pointers(command.words);
  const std::vector<char*> environment = Pointers(command.environment);
  pid_t process = -1;
  const int error =
      posix_spawn(&process, program.c_str(), &files, &attributes, words.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return Failed(program, error);
  return process;
}

// Its input, and what it says, until it has closed both and ended.
class Talk {
 public:
  Talk(const Command& command, File in, File out, File err)
      : command_(command), in_(std::move(in)), out_(std::move(out)), err_(std::move(err)) {
    for (const File* file : {&in_, &out_, &err_}) {
      fcntl(file->number(), F_SETFL, fcntl(file->number(), F_GETFL) | O_NONBLOCK);
    }
    if (command_.input.empty()) in_.Close();
  }

  absl::Status Go(CommandResult& result) {
    const absl::Duration until = Steady() + command_.deadline;
    while (out_.open() || err_.open()) {
      const absl::Duration left = until - Steady();
      if (left <= absl::ZeroDuration()) return Late();
      std::array<pollfd, 3> wait = {
          {{in_.number(), POLLOUT, 0}, {out_.number(), POLLIN, 0}, {err_.number(), POLLIN, 0}}};
      const auto patience = absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
      if (poll(wait.data(), wait.size(), static_cast<int>(std::min<int64_t>(patience, 60000))) <=
          0) {
        continue;
      }
      if (wait[0].revents != 0) Give();
      if (wait[1].revents != 0) NF_RETURN_IF_ERROR(Take(out_, result.out));
      if (wait[2].revents != 0) NF_RETURN_IF_ERROR(Take(err_, result.err));
    }
    return absl::OkStatus();
  }

  absl::Status Late() const {
    return MakeError(absl::StatusCode::kDeadlineExceeded,
                     fmt::format("{}: no answer within {}", command_.words[0],
                                 absl::FormatDuration(command_.deadline)));
  }

 private:
  void Give() {
    const ssize_t count =
        write(in_.number(), command_.input.data() + given_, command_.input.size() - given_);
    if (count > 0) given_ += static_cast<size_t>(count);
    const bool later = count < 0 && (errno == EAGAIN || errno == EINTR);
    // One that does not read it need not.
    if ((count <= 0 && !later) || given_ == command_.input.size()) in_.Close();
  }
  absl::Status Take(File& file, std::string& text) const {
    std::array<char, 65536> piece;
    const ssize_t count = read(file.number(), piece.data(), piece.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
    if (count <= 0) {
      file.Close();
      return absl::OkStatus();
    }
    text.append(piece.data(), static_cast<size_t>(count));
    if (text.size() <= command_.most_output) return absl::OkStatus();
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        fmt::format("{}: it says more than {} bytes", command_.words[0], command_.most_output));
  }

  const Command& command_;
  File in_;
  File out_;
  File err_;
  size_t given_ = 0;
};

// Whether it ended before the deadline; then its status.
bool Ended(pid_t process, absl::Duration until, int& status) {
  const File ended(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  while (true) {
    const pid_t found = waitpid(process, &status, WNOHANG);
    if (found == process) return true;
    if (found < 0 && errno != EINTR) return false;
    const absl::Duration left = until - Steady();
    if (left <= absl::ZeroDuration()) return false;
    pollfd wait = {ended.number(), POLLIN, 0};
    (void)poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
  }
}

void Kill(pid_t process) {
  kill(-process, SIGKILL);
  while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

absl::StatusOr<CommandResult> RunCommand(const Command& command) {
  const std::string program = Found(command.words[0], command.environment);
  if (program.empty()) {
    return MakeError(absl::StatusCode::kNotFound,
                     command.words[0] + ": no such program on the path");
  }
  NF_ASSIGN_OR_RETURN(Pipe in, MakePipe());
  NF_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  NF_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  const absl::Duration until = Steady() + command.deadline;
  NF_ASSIGN_OR_RETURN(const pid_t process, Start(program, command, in, out, err));
  in.read.Close();
  out.write.Close();
  err.write.Close();
  CommandResult result;
  Talk talk(command, std::move(in.write), std::move(out.read), std::move(err.read));
  absl::Status talked = talk.Go(result);
  int status = 0;
  if (talked.ok() && !Ended(process, until, status)) talked = talk.Late();
  if (!talked.ok()) {
    Kill(process);
    return talked;
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace noisefloor
