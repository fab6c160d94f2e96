#include "worker/trainer/torch/fork_server.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/trainer_protocol/fork_json.h"

namespace noisefloor::trainer {

namespace {

constexpr int kFirstFree = 64;  // Where descriptors are put aside while 0 to 3 are replaced.
constexpr size_t kMostCores = size_t{64} << 10;

std::string Failure(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

struct Order {
  ForkRequest request;
  std::array<int, kForkDescriptors> files = {-1, -1, -1, -1};  // Input, output, events, answer.
  int answer() const { return files[3]; }
  void Close() const {
    for (const int file : files) {
      if (file >= 0) close(file);
    }
  }
};

// On a pipe, whose reader may have gone, or the socket.
void Answer(int file, const ForkAnswer& answer) {
  const std::string line = ForkAnswerToJson(answer) + "\n";
  (void)!write(file, line.data(), line.size());
}

void Refuse(int file, std::string why) {
  Answer(file, {.kind = ForkAnswer::Kind::kRefused, .refusal = std::move(why)});
}

// The descriptors that came with a packet.
void TakeDescriptors(msghdr& packet, Order& order) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&packet); part != nullptr; part = CMSG_NXTHDR(&packet, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    if (part->cmsg_len != CMSG_LEN(sizeof order.files)) continue;
    std::memcpy(order.files.data(), CMSG_DATA(part), sizeof order.files);
  }
}

// Nothing at the end of the conversation.
absl::StatusOr<std::optional<Order>> Receive(int socket) {
  std::array<char, kMostForkBytes> text;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof Order::files)> control;
  iovec place = {text.data(), text.size()};
  msghdr packet = {};
  packet.msg_iov = &place;
  packet.msg_iovlen = 1;
  packet.msg_control = control.data();
  packet.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return MakeError(absl::StatusCode::kUnavailable, Failure("recvmsg"));
  if (size == 0) return std::nullopt;
  Order order;
  TakeDescriptors(packet, order);
  auto request = ForkRequestFromJson(std::string_view(text.data(), static_cast<size_t>(size)));
  if (!request.ok() || order.answer() < 0) {
    order.Close();
    return Annotate(request.ok() ? InvalidInput("no descriptors came with it") : request.status(),
                    "a request to fork");
  }
  order.request = *std::move(request);
  return order;
}

// True once this process is a child of `parent`: `between`, which forked it, has ended. Whoever
// else it is passed on to has not asked for it.
bool WaitForParent(pid_t parent, pid_t between) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, between, 0));
  if (handle >= 0) {
    // While it is our parent the number is its own; else it names somebody else, or nobody.
    pollfd wait = {handle, POLLIN, 0};
    if (getppid() == between) poll(&wait, 1, /*no limit*/ -1);
    close(handle);
  }
  return getppid() == parent;
}

std::string PinTo(const std::vector<int>& cores) {
  if (cores.empty()) return "";
  std::vector<cpu_set_t> set(kMostCores / 8 / sizeof(cpu_set_t));
  const size_t bytes = set.size() * sizeof(cpu_set_t);
  for (const int core : cores) CPU_SET_S(static_cast<size_t>(core), bytes, set.data());
  return sched_setaffinity(0, bytes, set.data()) == 0 ? "" : Failure("sched_setaffinity");
}

// Descriptors 0 to 3 become the member's own, all others of the conversation are closed. The
// answer's moves, and is returned.
int PlaceDescriptors(const Order& order, int socket) {
  std::array<int, kForkDescriptors> aside = {};
  for (size_t i = 0; i < aside.size(); ++i) {
    aside[i] = fcntl(order.files[i], F_DUPFD_CLOEXEC, kFirstFree);
    NF_CHECK(aside[i] >= 0);
  }
  order.Close();
  if (socket > STDERR_FILENO + 1) close(socket);
  const auto [input, output, events, answer] = aside;
  NF_CHECK(dup2(input, 0) == 0 && dup2(output, 1) == 1 && dup2(output, 2) == 2 &&
           dup2(events, 3) == 3);
  for (const int file : {input, output, events}) close(file);
  return answer;
}

// What a worker's Spawn does for a process that it starts (worker/daemon/spawn.cc).
void BecomeMember(const Order& order, int socket, pid_t between) {
  const auto parent = static_cast<pid_t>(order.request.parent);
  setpgid(0, 0);
  const bool has_parent = WaitForParent(parent, between);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!has_parent || getppid() != parent) {
    Refuse(order.answer(), "process " + std::to_string(parent) + " is not its parent");
    _exit(127);
  }
  if (const std::string wrong = PinTo(order.request.cores); !wrong.empty()) {
    Refuse(order.answer(), wrong);
    _exit(127);
  }
  for (const auto& [name, value] : order.request.variables) {
    setenv(name.c_str(), value.c_str(), /*replace=*/1);
  }
  const int answer = PlaceDescriptors(order, socket);
  Answer(answer, {.kind = ForkAnswer::Kind::kStarted});
  close(answer);
}

// In the process between. Returns in the member's.
void ForkMember(const Order& order) {
  const pid_t member = fork();
  if (member == 0) return;
  if (member < 0) {
    Refuse(order.answer(), Failure("fork"));
  } else {
    Answer(order.answer(), {.kind = ForkAnswer::Kind::kForked, .process = member});
  }
  _exit(0);
}

// True in the member's process.
bool Serve(const Order& order, int socket) {
  if (const int threads = CountThreads(); threads != 1) {
    Refuse(order.answer(), "it has " + std::to_string(threads) + " threads; expected 1");
    return false;
  }
  const pid_t between = fork();
  if (between == 0) {
    const pid_t self = getpid();
    ForkMember(order);
    BecomeMember(order, socket, self);
    return true;
  }
  if (between < 0) {
    Refuse(order.answer(), Failure("fork"));
    return false;
  }
  while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return false;
}

}  // namespace

int CountThreads() {
  DIR* const tasks = opendir("/proc/self/task");
  NF_CHECK(tasks != nullptr);
  int count = 0;
  for (const dirent* entry = readdir(tasks); entry != nullptr; entry = readdir(tasks)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(tasks);
  return count;
}

absl::StatusOr<bool> ServeForks(int socket) {
  Answer(socket, {.kind = ForkAnswer::Kind::kReady});
  while (true) {
    NF_ASSIGN_OR_RETURN(const std::optional<Order> order, Receive(socket));
    if (!order) return false;
    if (Serve(*order, socket)) return true;
    order->Close();
  }
}

}  // namespace noisefloor::trainer
