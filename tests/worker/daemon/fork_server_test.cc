// Trainers that are forked by a server: like started ones to the worker, and none is lost or left
// behind, whichever process is killed. The server's side is the real trainer's code.
#include "worker/daemon/fork_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/mailbox.h"
#include "common/files/atomic_file.h"
#include "worker/daemon/leftovers.h"
#include "worker/daemon/orphans.h"
#include "worker/daemon/trainer_process.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;

std::string Line(const std::string& path, const std::string& beginning) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(beginning)) return line.substr(beginning.size());
  }
  return "";
}
std::string Status(pid_t process, const std::string& name) {
  return Line("/proc/" + std::to_string(process) + "/status", name + ":\t");
}
size_t CountFiles(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.exists();
  return count;
}

// What a process has open, without what is the reader's.
std::vector<int> OpenDescriptors(pid_t process) {
  std::vector<int> open;
  const std::string folder = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    open.push_back(std::stoi(entry.path().filename()));
  }
  std::ranges::sort(open);
  return open;
}

class ForkServerTest : public testing::Test {
 protected:
  ForkServerTest() : news_(1 << 16) {
    std::string pattern = testing::TempDir() + "nf-forks-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ + "/work");
    environment_ = InheritedEnvironment();
    environment_[kStateVariable] = folder_;
    environment_["NOISEFLOOR_FAKE_FORKS"] = "serve";
  }
  ~ForkServerTest() override {
    processes_.clear();
    server_.reset();
    for (const int process : FindLeftovers(folder_)) ExpectEnds(process);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child that nobody has waited for";
    std::filesystem::remove_all(folder_);
  }

  static void ExpectEnds(pid_t process) {
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (pidfd < 0) return;
    pollfd wait = {pidfd, POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 60000), 1) << "process " << process << " was left behind";
    close(pidfd);
  }

  void StartServer(const std::string& how = "serve", absl::Duration limit = absl::Minutes(2)) {
    environment_["NOISEFLOOR_FAKE_FORKS"] = how;
    auto server = ForkServer::Start({FAKE_TRAINER}, environment_, {}, limit);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  // What Ready says in the end.
  absl::Status Load() {
    absl::Status status = server_->Ready();
    while (absl::IsUnavailable(status)) {
      poll(nullptr, 0, 1);
      status = server_->Ready();
    }
    return status;
  }
  // A forked trainer that waits for its request; its number here.
  absl::StatusOr<size_t> Fork(const std::vector<int>& cores = {}) {
    TrainerCommand command;
    command.words = {FAKE_TRAINER};
    command.cores = cores;
    command.server = server_.get();
    command.environment = environment_;
    command.environment[kTrainerVariable] = std::to_string(processes_.size());
    const size_t number = processes_.size();
    auto process = TrainerProcess::Start(command, [this, number](TrainerNews news) {
      (void)news_.Post({number, std::move(news)});
    });
    if (!process.ok()) return process.status();
    processes_.push_back(*std::move(process));
    return number;
  }
  void Give(size_t number, const std::string& behaviour) {
    TrainerRequest request;
    request.member = "s1c0r" + std::to_string(number);
    request.specification.sources.poke_parameter = behaviour;
    request.specification.train.epochs = 4;
    request.work_directory = folder_ + "/work";
    ASSERT_TRUE(processes_.at(number)->Give(RequestToJson(request), Log(number)).ok());
  }
  std::string Log(size_t number) const { return folder_ + "/log" + std::to_string(number); }
  // Waits for the trainer's next event of this kind; false at its end.
  template <typename Event>
  bool WaitFor(size_t number) {
    while (const auto news = Next(number)) {
      const auto* line = std::get_if<TrainerLine>(&*news);
      if (line != nullptr && std::holds_alternative<Event>(line->event)) return true;
      if (std::holds_alternative<ProcessExit>(*news)) return false;
    }
    return false;
  }
  std::optional<ProcessExit> WaitForExit(size_t number) {
    while (const auto news = Next(number)) {
      if (const auto* exit = std::get_if<ProcessExit>(&*news)) return *exit;
    }
    return std::nullopt;
  }
  // The process of the only trainer there is.
  pid_t TrainerPid() const {
    for (const int process : FindLeftovers(folder_)) {
      if (process != server_->process()) return process;
    }
    return -1;
  }

  std::string folder_;
  std::map<std::string, std::string> environment_;
  Mailbox<std::pair<size_t, TrainerNews>> news_;
  std::vector<std::pair<size_t, TrainerNews>> waiting_;
  std::unique_ptr<ForkServer> server_;
  std::vector<std::unique_ptr<TrainerProcess>> processes_;

 private:
  std::optional<TrainerNews> Next(size_t number) {
    while (true) {
      for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
        if (it->first != number) continue;
        TrainerNews news = std::move(it->second);
        waiting_.erase(it);
        processes_.at(number)->Consumed();
        return news;
      }
      auto more = news_.TakeAll(absl::Minutes(2));
      if (more.empty()) return std::nullopt;
      for (auto& one : more) waiting_.push_back(std::move(one));
    }
  }
};

TEST_F(ForkServerTest, AForkedTrainerIsLikeAStartedOne) {
  StartServer();
  ASSERT_TRUE(Load().ok());
  const auto number = Fork({0});
  ASSERT_TRUE(number.ok()) << number.status();
  Give(*number, "wait");
  ASSERT_TRUE(WaitFor<HelloEvent>(*number));
  const pid_t pid = TrainerPid();
  ASSERT_GT(pid, 0);

  EXPECT_EQ(Status(pid, "PPid"), std::to_string(getpid()));
  EXPECT_EQ(getpgid(pid), pid);
  EXPECT_EQ(Status(pid, "Cpus_allowed_list"), "0");
  EXPECT_EQ(Status(pid, "SigBlk"), "0000000000000000");
  EXPECT_EQ(OpenDescriptors(pid), (std::vector{0, 1, 2, 3}));
  processes_[*number]->Terminate();
  const auto exit = WaitForExit(*number);
  ASSERT_TRUE(exit.has_value());
  EXPECT_FALSE(exit->signalled);
  EXPECT_EQ(exit->code, ExitCodeOf(CauseClass::kInterrupted));
  EXPECT_THAT(ReadFile(Log(*number), 1 << 20).value(), HasSubstr("trains s1c0r0"));
}

TEST_F(ForkServerTest, EveryEndOfATrainerIsToldAsItWas) {
  StartServer();
  ASSERT_TRUE(Load().ok());
  const auto end = [&](const std::string& behaviour) {
    const auto number = Fork();
    EXPECT_TRUE(number.ok()) << number.status();
    Give(*number, behaviour);
    return WaitForExit(*number).value_or(ProcessExit{true, 0});
  };
  EXPECT_EQ(end("exit_oom").code, ExitCodeOf(CauseClass::kOutOfMemory));
  EXPECT_EQ(end("wrong_exit").code, 15);
  const ProcessExit aborted = end("abort");
  EXPECT_TRUE(aborted.signalled);
  EXPECT_EQ(aborted.code, SIGABRT);
}

TEST_F(ForkServerTest, ATrainerIsToldToStopAndKilledAsEver) {
  StartServer();
  ASSERT_TRUE(Load().ok());
  for (const bool kills : {false, true}) {
    const auto number = Fork();
    ASSERT_TRUE(number.ok()) << number.status();
    Give(*number, kills ? "hang" : "wait");
    ASSERT_TRUE(WaitFor<HelloEvent>(*number));
    if (kills) processes_[*number]->Kill();
    if (!kills) processes_[*number]->Terminate();
    const auto exit = WaitForExit(*number);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->signalled, kills);
    EXPECT_EQ(exit->code, kills ? SIGKILL : ExitCodeOf(CauseClass::kInterrupted));
  }
  EXPECT_TRUE(server_->Ready().ok());
}

TEST_F(ForkServerTest, MembersOutliveTheirServer) {
  StartServer();
  ASSERT_TRUE(Load().ok());
  const auto waits = Fork();
  const auto trains = Fork();
  ASSERT_TRUE(waits.ok() && trains.ok());
  Give(*trains, "wait");
  ASSERT_TRUE(WaitFor<HelloEvent>(*trains));
  kill(server_->process(), SIGKILL);
  ExpectEnds(server_->process());
  EXPECT_EQ(Message(Load()), std::string(FAKE_TRAINER) + " --serve-forks: it has ended");
  EXPECT_EQ(Fork().status().code(), absl::StatusCode::kFailedPrecondition);
  server_.reset();

  Give(*waits, "");
  EXPECT_EQ(WaitForExit(*waits)->code, 0);
  processes_[*trains]->Terminate();
  EXPECT_EQ(WaitForExit(*trains)->code, ExitCodeOf(CauseClass::kInterrupted));
}

TEST_F(ForkServerTest, AServerThatIsKilledBeforeItsAnswerIsFoundOut) {
  StartServer();
  ASSERT_TRUE(Load().ok());
  // Its end is not seen yet: a stopped process dies without another word.
  kill(server_->process(), SIGSTOP);
  const pid_t killer = fork();
  if (killer == 0) {
    // Waits until the request lies in the socket, which the server does not read.
    while (Status(getppid(), "State").find('S') == std::string::npos) sched_yield();
    kill(server_->process(), SIGKILL);
    _exit(0);
  }
  const absl::Status status = Fork().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("it ended without a word"));
  EXPECT_EQ(waitpid(killer, nullptr, 0), killer);
}

TEST_F(ForkServerTest, AServerThatDoesNotAnswerIsGivenUp) {
  StartServer("serve", absl::Milliseconds(50));
  ASSERT_TRUE(Load().ok());
  kill(server_->process(), SIGSTOP);
  EXPECT_THAT(Message(Fork().status()), HasSubstr("it gave no answer within 50ms"));
  EXPECT_EQ(server_->Ready().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ForkServerTest, AServerWithAnotherThreadRefusesByName) {
  StartServer("thread");
  ASSERT_TRUE(Load().ok());
  const absl::Status status = Fork().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(status),
            std::string(FAKE_TRAINER) + " --serve-forks: it refused: it has 2 threads; expected 1");
}

TEST_F(ForkServerTest, WhatCannotBecomeAMemberSaysWhyAndLeavesNothing) {
  StartServer();
  ASSERT_TRUE(Load().ok());
  const absl::Status status = Fork({60000}).status();  // No machine of ours has this core.
  EXPECT_THAT(Message(status), HasSubstr("it refused: sched_setaffinity: Invalid argument"));
}

TEST_F(ForkServerTest, AParentThatDoesNotAdoptIsRefused) {
  StartServer();
  ASSERT_TRUE(Load().ok());
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  EXPECT_THAT(Message(Fork().status()),
              HasSubstr("process " + std::to_string(getpid()) + " is not its parent"));
}

TEST_F(ForkServerTest, AServerThatIsNotReadyHasNothingToGive) {
  for (const char* how : {"mute", "ends"}) {
    StartServer(how);
    EXPECT_FALSE(Fork().ok()) << how;
  }
  EXPECT_EQ(Message(Load()), std::string(FAKE_TRAINER) + " --serve-forks: it has ended");
}

TEST_F(ForkServerTest, FiftyMembersLeaveTheServerAsItWas) {
  StartServer();
  ASSERT_TRUE(Load().ok());
  const std::string server = "/proc/" + std::to_string(server_->process());
  const auto train = [&] {
    const auto number = Fork();
    ASSERT_TRUE(number.ok()) << number.status();
    Give(*number, "");
    EXPECT_EQ(WaitForExit(*number)->code, 0);
  };
  train();
  const size_t files = CountFiles(server + "/fd");
  const size_t ours = CountFiles("/proc/self/fd");
  const std::string memory = Status(server_->process(), "VmData");
  for (int i = 0; i < 50; ++i) {
    train();
    processes_.back().reset();
  }
  EXPECT_EQ(CountFiles(server + "/fd"), files);
  EXPECT_EQ(CountFiles("/proc/self/fd"), ours);
#ifndef __SANITIZE_ADDRESS__  // Which keeps what was freed for a while.
  EXPECT_EQ(Status(server_->process(), "VmData"), memory);
#endif
  EXPECT_EQ(Line(server + "/task/" + std::to_string(server_->process()) + "/children", ""), "");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), 0) << "one that has ended was not waited for";
}

// The worker in this story is a process of its own, which is killed.
TEST_F(ForkServerTest, NothingOutlivesTheWorker) {
  std::array<int, 2> ready;
  ASSERT_EQ(pipe2(ready.data(), O_CLOEXEC), 0);
  const pid_t worker = fork();
  if (worker == 0) {
    StartServer();
    const bool forked = Load().ok() && Fork().ok();
    if (forked) Give(0, "hang");
    const bool hangs = forked && WaitFor<HelloEvent>(0);
    (void)!write(ready[1], hangs ? "y" : "n", 1);
    while (true) pause();
  }
  char word = 0;
  ASSERT_EQ(read(ready[0], &word, 1), 1);
  ASSERT_EQ(word, 'y');
  const std::vector<int> left = FindLeftovers(folder_);
  EXPECT_EQ(left.size(), 2u) << "the server and a trainer";

  kill(worker, SIGKILL);
  EXPECT_EQ(waitpid(worker, nullptr, 0), worker);

  for (const int process : left) {
    ExpectEnds(process);
    kill(process, SIGKILL);  // One that has not would be waited for without end.
  }
  for (const int file : ready) close(file);
  // This test adopts what a worker that dies leaves to it.
  while (waitpid(-1, nullptr, 0) > 0) {
  }
}

}  // namespace
}  // namespace noisefloor
