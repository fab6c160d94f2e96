// A real noisefloor-worker with the fake trainer, talking to a MiniCoordinator.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/sha256.h"
#include "common/trainer_protocol/json.h"
#include "tests/support/mini_coordinator.h"
#include "worker/daemon/leftovers.h"
#include "worker/daemon/spawn.h"

namespace noisefloor {

using Case = v1::SessionRequest::MessageCase;

// A process of the daemon; killed at the end of the test when it still runs.
class DaemonProcess {
 public:
  // What it logs goes to the file `log`, if one is named.
  explicit DaemonProcess(std::vector<std::string> arguments, const std::string& log = "") {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int file = log.empty() ? -1 : creat(log.c_str(), 0600);
    SpawnRequest request;
    request.arguments = std::move(arguments);
    request.environment = InheritedEnvironment();
    request.input = request.output = null;
    request.error = file < 0 ? 2 : file;
    const auto child = Spawn(request);
    close(null);
    if (file >= 0) close(file);
    EXPECT_TRUE(child.ok()) << child.status();
    if (child.ok()) child_ = *child;
  }
  ~DaemonProcess() {
    if (child_) (void)(Signal(SIGKILL), Wait());
  }

  bool Signal(int number) { return child_ && kill(child_->pid, number) == 0; }
  // The exit code; -1 after two minutes or when it was ended by a signal.
  int Wait() {
    if (!child_) return -1;
    pollfd wait = {child_->pidfd, POLLIN, 0};
    if (poll(&wait, 1, 120000) != 1) return -1;
    const Reaped end = Reap(*child_);
    close(child_->pidfd);
    child_.reset();
    return end.signalled ? -1 : end.code;
  }

 private:
  std::optional<Child> child_;
};

class DaemonTest : public testing::Test {
 protected:
  DaemonTest() {
    std::string pattern = testing::TempDir() + "nf-worker-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ + "/data/fashion-mnist-sample");
  }
  ~DaemonTest() override {
    daemon_.reset();
    ExpectNobodyIsLeft();
    std::filesystem::remove_all(folder_);
  }

  std::string State() const { return folder_ + "/state"; }

  // What carries the daemon's mark ends by itself: it dies with the daemon.
  void ExpectNobodyIsLeft() const {
    const std::string state = std::filesystem::weakly_canonical(State()).string();
    for (const int process : FindLeftovers(state)) {
      const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
      if (pidfd < 0) continue;
      pollfd wait = {pidfd, POLLIN, 0};
      EXPECT_EQ(poll(&wait, 1, 60000), 1) << "process " << process << " was left behind";
      close(pidfd);
    }
    EXPECT_TRUE(EndLeftovers(state).undying.empty());
  }

  void StartDaemon(std::vector<std::string> more = {}) {
    const bool elsewhere = !more.empty() && more[0].starts_with("--coordinator=");
    std::vector<std::string> arguments = {
        WORKER,
        elsewhere ? "--no-standby" : "--coordinator=" + coordinator_.address(),
        "--name=box",
        "--state=" + State(),
        "--slots=1",
        "--grace=0.3",
        "--data-root=" + folder_ + "/data",
        "--log-level=" + (log_.empty() ? "error" : log_level_),
    };
    if (!trainer_.empty()) arguments.push_back("--trainer=fake=" + trainer_);
    arguments.insert(arguments.end(), more.begin(), more.end());
    daemon_ = std::make_unique<DaemonProcess>(std::move(arguments), log_);
  }
  v1::Register Registered() {
    const auto message = coordinator_.Wait(Case::kRegister);
    EXPECT_TRUE(message.has_value()) << "no registration came";
    if (!message) return {};
    if (message->register_().inventory().offers_size() > 0) {
      class_ = message->register_().inventory().offers(0).hardware_class();
    }
    return message->register_();
  }

  v1::StartMember Member(uint64_t lease, const std::string& behaviour = "",
                         const std::string& stack = "fake") const {
    Specification specification;
    specification.sources.poke_parameter = behaviour;
    specification.hardware_class = class_;
    specification.stack = stack;
    v1::StartMember start;
    start.set_lease_id(lease);
    start.set_member("s1c0r" + std::to_string(lease));
    start.set_attempt(1);
    start.set_specification(SpecificationToJson(specification));
    start.set_specification_sha256(Sha256Hex(start.specification()));
    return start;
  }
  // The same member with a changed specification.
  static v1::StartMember With(v1::StartMember start,
                              const std::function<void(Specification&)>& change) {
    Specification specification = SpecificationFromJson(start.specification()).value();
    change(specification);
    start.set_specification(SpecificationToJson(specification));
    start.set_specification_sha256(Sha256Hex(start.specification()));
    return start;
  }
  void Start(const v1::StartMember& start) {
    v1::SessionResponse message;
    *message.mutable_start() = start;
    ASSERT_TRUE(coordinator_.Send(message));
  }
  void Stop(uint64_t lease) {
    v1::SessionResponse message;
    message.mutable_stop()->set_lease_id(lease);
    message.mutable_stop()->set_reason("cancelled");
    ASSERT_TRUE(coordinator_.Send(message));
  }
  v1::AttemptFinished Finished() {
    const auto message = coordinator_.Wait(Case::kFinished);
    EXPECT_TRUE(message.has_value()) << "no end came";
    return message ? message->finished() : v1::AttemptFinished();
  }
  // Waits for a heartbeat that holds no lease.
  bool BecomesIdle() {
    for (int i = 0; i < 1000; ++i) {
      const auto beat = coordinator_.NextHeartbeat();
      if (!beat) return false;
      if (beat->held_size() == 0) return true;
    }
    return false;
  }
  std::vector<std::string> Spooled() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(State() + "/spool")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  std::string MakeGate() const {
    const std::string path = folder_ + "/gate";
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  // Returns once the trainer waits at the gate, and lets it through.
  static void OpenGate(const std::string& path) {
    const int gate = open(path.c_str(), O_WRONLY);
    EXPECT_GE(gate, 0);
    close(gate);
  }

  std::string folder_;
  std::string class_ = "cpu-amd-sse";
  std::string trainer_ = FAKE_TRAINER;  // Empty: none is given.
  std::string log_;  // Where the daemon's warnings go; empty: its errors go to the test's own.
  std::string log_level_ = "warning";
  MiniCoordinator coordinator_;
  std::unique_ptr<DaemonProcess> daemon_;
};

}  // namespace noisefloor
