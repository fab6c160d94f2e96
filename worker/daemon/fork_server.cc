#include "worker/daemon/fork_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "fmt/format.h"

#include "common/files/file_error.h"
#include "common/trainer_protocol/fork_json.h"
#include "worker/daemon/orphans.h"

namespace noisefloor {

namespace {

// What comes on `file` until its end or a whole answer; nothing at its end.
absl::StatusOr<std::optional<ForkAnswer>> ReadAnswer(int file, absl::Duration limit,
                                                     std::string& text) {
  while (text.find('\n') == std::string::npos) {
    pollfd wait = {file, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(limit)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return MakeError(absl::StatusCode::kDeadlineExceeded,
                       "it gave no answer within " + absl::FormatDuration(limit));
    }
    std::array<char, 4096> buffer;
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  const size_t end = text.find('\n');
  auto answer = ForkAnswerFromJson(std::string_view(text).substr(0, end));
  text.erase(0, end + 1);
  if (!answer.ok()) return Annotate(answer.status(), "its answer");
  return *std::move(answer);
}

// Only a child of ours keeps its number until we have learnt of its end.
bool IsOurChild(pid_t pid) {
  siginfo_t about = {};
  return waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void EndChild(pid_t pid) {
  if (!IsOurChild(pid)) return;
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ForkServer>> ForkServer::Start(
    const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
    const std::vector<int>& cores, absl::Duration answer_limit) {
  NF_RETURN_IF_ERROR(AdoptOrphans());  // So its forks become children of ours.
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return FileError(command.at(0), "make a socket for", errno);
  }
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  SpawnRequest request;
  request.arguments = command;
  request.arguments.emplace_back("--serve-forks");
  request.environment = environment;
  request.environment["NOISEFLOOR_EVENTS"] = "3";
  request.cores = cores;
  request.input = ends[1];
  // Nobody reads what it says before it forks; 3 is taken, so that no library opens it.
  request.output = request.error = request.events = null;
  const absl::StatusOr<Child> child = Spawn(request);
  close(ends[1]);
  close(null);
  if (!child.ok()) {
    close(ends[0]);
    return child.status();
  }
  return std::unique_ptr<ForkServer>(new ForkServer(request, *child, ends[0], answer_limit));
}

ForkServer::~ForkServer() {
  close(socket_);
  kill(child_.pid, SIGKILL);  // Not its group: what it is just forking is not in another one yet.
  (void)Reap(child_);
  close(child_.pidfd);
}

absl::Status ForkServer::Lost(const std::string& why) {
  lost_ = MakeError(absl::StatusCode::kFailedPrecondition,
                    fmt::format("{} --serve-forks: {}", program_, why));
  return lost_;
}

absl::Status ForkServer::Ready() {
  if (!lost_.ok()) return lost_;
  std::array<pollfd, 2> look = {{{child_.pidfd, POLLIN, 0}, {socket_, POLLIN, 0}}};
  (void)poll(look.data(), look.size(), 0);
  if (look[1].revents != 0) {
    std::string text(kMostForkBytes, '\0');
    const ssize_t size = recv(socket_, text.data(), text.size(), MSG_DONTWAIT);
    if (size <= 0) return Lost("it has ended");
    text.resize(static_cast<size_t>(size));
    const auto said = ForkAnswerFromJson(text);
    if (!said.ok()) return Lost(Message(said.status()));
    if (said->kind != ForkAnswer::Kind::kReady) {
      refused_ = true;
      return Lost("it refused: " + said->refusal);
    }
    loaded_ = true;
  }
  if (look[0].revents != 0) return Lost("it has ended");
  if (loaded_) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnavailable, "it loads");
}

absl::Status ForkServer::SendRequest(const SpawnRequest& request, int answer) {
  ForkRequest fork = {getpid(), request.cores, {}};
  for (const auto& [name, value] : request.environment) {
    const auto it = environment_.find(name);
    if (it == environment_.end() || it->second != value) fork.variables[name] = value;
  }
  std::string text = ForkRequestToJson(fork);
  const std::array<int, kForkDescriptors> files = {request.input, request.output, request.events,
                                                   answer};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof files)> control = {};
  iovec place = {text.data(), text.size()};
  msghdr packet = {};
  packet.msg_iov = &place;
  packet.msg_iovlen = 1;
  packet.msg_control = control.data();
  packet.msg_controllen = control.size();
  cmsghdr* part = CMSG_FIRSTHDR(&packet);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof files);
  std::memcpy(CMSG_DATA(part), files.data(), sizeof files);
  if (sendmsg(socket_, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnavailable,
                   fmt::format("it takes no request: {}", strerror(errno)));
}

// The process that was forked and has said that it is as asked. Of any other nothing is left.
absl::StatusOr<pid_t> ForkServer::TakeAnswers(int answer) {
  std::string text;
  pid_t pid = -1;
  const auto fail = [&](const absl::Status& status) {
    if (pid > 0) EndChild(pid);
    return status;
  };
  while (true) {
    const auto said = ReadAnswer(answer, answer_limit_, text);
    if (!said.ok()) return fail(said.status());
    if (!*said) {
      return fail(MakeError(absl::StatusCode::kUnavailable,
                            pid > 0 ? "what it forked ended at once" : "it ended without a word"));
    }
    switch ((*said)->kind) {
      case ForkAnswer::Kind::kReady: break;
      case ForkAnswer::Kind::kForked: pid = static_cast<pid_t>((*said)->process); break;
      case ForkAnswer::Kind::kRefused: {
        refused_ = true;
        return fail(
            MakeError(absl::StatusCode::kFailedPrecondition, "it refused: " + (*said)->refusal));
      }
      case ForkAnswer::Kind::kStarted: {
        if (pid > 0 && IsOurChild(pid)) return pid;
        return fail(
            MakeError(absl::StatusCode::kFailedPrecondition, "what it forked is not our child"));
      }
    }
  }
}

absl::StatusOr<Child> ForkServer::Fork(const SpawnRequest& request) {
  NF_RETURN_IF_ERROR(Ready());
  std::array<int, 2> answer;
  if (pipe2(answer.data(), O_CLOEXEC) != 0) return FileError(program_, "make a pipe for", errno);
  const absl::Status sent = SendRequest(request, answer[1]);
  close(answer[1]);
  const absl::StatusOr<pid_t> pid = sent.ok() ? TakeAnswers(answer[0]) : sent;
  close(answer[0]);
  if (!pid.ok()) return Lost(Message(pid.status()));
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, *pid, 0));
  if (pidfd >= 0) return Child{*pid, pidfd};
  EndChild(*pid);
  return Lost("its fork cannot be watched");
}

}  // namespace noisefloor
