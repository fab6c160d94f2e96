// A program is run, read to its end, and never outlives the call.
#include "coordinator/slurm/command.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using ::testing::HasSubstr;

Command Shell(const std::string& script) {
  return {.words = {"sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
}

int OpenFiles() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST(CommandTest, GivesWhatItSaysAndHowItEnds) {
  Command command = Shell("cat; echo \"$1 $X\" >&2; exit 7");
  command.words.insert(command.words.end(), {"name", "a b"});
  command.input = "in\n";
  command.environment.emplace_back("X=y");
  const auto result = RunCommand(command);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_EQ(result->out, "in\n");
  EXPECT_EQ(result->err, "a b y\n");
}

TEST(CommandTest, HasNoEnvironmentButWhatItIsGiven) {
  setenv("NOISEFLOOR_SECRET", "hush", 1);
  EXPECT_EQ(RunCommand(Shell("env | grep -c NOISEFLOOR_SECRET"))->out, "0\n");
}

TEST(CommandTest, ASignalIsAnEnd) {
  EXPECT_EQ(RunCommand(Shell("kill -9 $$"))->exit_code, 128 + SIGKILL);
}

TEST(CommandTest, ItsSignalsAreAsUsual) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, nullptr), 0);
  signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(RunCommand(Shell("kill -TERM $$; sleep 100"))->exit_code, 128 + SIGTERM);
  EXPECT_EQ(RunCommand(Shell("kill -PIPE $$; sleep 100"))->exit_code, 128 + SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
}

TEST(CommandTest, MuchGoesInAndOut) {
  Command command = Shell("cat");
  command.input.assign(3 << 20, 'x');
  const auto result = RunCommand(command);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, command.input);
}

TEST(CommandTest, WhatIsNotReadNeedNotBe) {
  Command command = Shell("exec <&-; echo done");
  command.input.assign(3 << 20, 'x');
  signal(SIGPIPE, SIG_IGN);
  const auto result = RunCommand(command);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, "done\n");
}

TEST(CommandTest, WhoSaysTooMuchIsEnded) {
  Command command = Shell("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done");
  command.most_output = 1 << 20;
  EXPECT_EQ(RunCommand(command).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(CommandTest, AsMuchAsItMaySayIsTaken) {
  Command command = Shell("printf 12345678; printf abcdefgh >&2");
  command.most_output = 8;
  const auto result = RunCommand(command);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, "12345678");
  EXPECT_EQ(result->err, "abcdefgh");
  command.words.back() = "printf abcdefghi >&2";
  EXPECT_EQ(RunCommand(command).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(CommandTest, AProgramIsTheFirstOfItsNameOnThePathThatCanBeRun) {
  std::string pattern = testing::TempDir() + "nf-path-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  const auto put = [&](const std::string& name, mode_t mode) {
    std::filesystem::create_directories(folder + "/" + name);
    std::ofstream(folder + "/" + name + "/who") << "#!/bin/sh\necho " << name << "\n";
    chmod((folder + "/" + name + "/who").c_str(), mode);
  };
  put("plain", 0644);
  put("first", 0755);
  put("second", 0755);
  Command command = {.words = {"who"}, .environment = {"HOME=/", ""}};
  command.environment[1] =
      "PATH=/no/such:" + folder + "/plain:" + folder + "/first:" + folder + "/second";
  EXPECT_EQ(RunCommand(command)->out, "first\n");
  command.environment[1] = "PATH=/no/such:" + folder + "/second";
  EXPECT_EQ(RunCommand(command)->out, "second\n") << "the last one";
  command.words = {folder + "/second/who"};
  command.environment[1] = "PATH=" + folder + "/first";
  EXPECT_EQ(RunCommand(command)->out, "second\n") << "whatever the path says";
  std::filesystem::remove_all(folder);
}

TEST(CommandTest, WhoDoesNotAnswerIsEndedWithAllThatItStarted) {
  const std::string path = testing::TempDir() + "nf-command-" + std::to_string(getpid());
  for (const char* script :
       {"echo $$ >FILE; sleep 1000 & sleep 1000", "echo $$ >FILE; exec >&- 2>&-; sleep 1000"}) {
    std::string text = script;
    text.replace(text.find("FILE"), 4, path);
    Command command = Shell(text);
    command.deadline = absl::Milliseconds(300);
    const auto result = RunCommand(command);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("sh: no answer within 300ms"));
    pid_t group = 0;
    std::ifstream(path) >> group;
    ASSERT_GT(group, 0);
    // Whoever is left of the group is being ended: nobody waits for it but its parent.
    EXPECT_TRUE(kill(group, 0) != 0) << group;
    unlink(path.c_str());
  }
}

TEST(CommandTest, AProgramThatIsNotThereIsSaid) {
  const auto result = RunCommand({.words = {"no-such-program"}, .environment = {"PATH=/bin::/x"}});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(result.status().message(), "no-such-program: no such program on the path");
}

TEST(CommandTest, NoFileStaysOpen) {
  const int before = OpenFiles();
  for (int i = 0; i < 20; ++i) (void)RunCommand(Shell("echo a; echo b >&2"));
  Command late = Shell("sleep 100");
  late.deadline = absl::Milliseconds(10);
  (void)RunCommand(late);
  EXPECT_EQ(OpenFiles(), before);
  const int ours = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::string mine = "/proc/self/fd/" + std::to_string(ours);
  EXPECT_EQ(RunCommand(Shell("[ -e " + mine + " ] && echo there; echo end"))->out, "end\n");
  close(ours);
}

}  // namespace
}  // namespace noisefloor
