// Exit 0 says that the whole output has arrived: every command, with a disk that is full.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/cli/command_line.h"
#include "tests/coordinator/cli/finished_member.h"
#include "tests/coordinator/inputs/tiny_export.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;

constexpr char kNotWhole[] =
    "noisefloor: standard output: cannot write: No space left on device; what was printed is not "
    "whole\n";

constexpr char kWholeSweep[] = R"(name: tiny
noise: [control]
hardware: any
)";

struct Case {
  std::vector<std::string> arguments;
  bool canned = false;  // Of a coordinator with answers, since none of its own would print any.
};

// The address of a coordinator whose workers have trained a member again.
std::string ReplayedElsewhere() {
  static const auto* const coordinator = new CannedCoordinator(
      {.members = {Finished("s1c0r0", Small()), Replayed("s2c0r0", Finished("s1c0r0", Small()))},
       .replays = 2},
      /*listens=*/true);
  return coordinator->address();
}

// A folder that export could have written.
std::string Exported() {
  static const auto* const scratch = new Scratch();
  static const std::string folder = inputs::WriteTinyExport(
      *scratch, {.answers = {{0, 1, 0, 1, 0, 1}, {0, 1, 1, 1, 0, 0}, {1, 1, 0, 1, 0, 1}}});
  return folder;
}

// A folder of runs that others trained.
std::string Runs() {
  static const auto* const scratch = new Scratch();
  (void)scratch->Put("runs.csv", "run,predictions,top1\na,,0.5\nb,,0.75\n");
  return scratch->folder();
}

// How each command is made to print.
std::map<std::string, Case> CasesIn(const std::string& folder, const std::string& backup) {
  const std::string file = folder + "/tiny.yaml";
  return {{"run", {{"run", file}}},
          {"serve", {{"serve", "--listen=127.0.0.1:0"}}},
          {"submit", {{"submit", file}}},
          {"plan", {{"plan", file}}},
          {"settings", {{"settings"}}},
          {"show", {{"show", "s1"}}},
          {"status", {{"status"}}},
          {"watch", {{"watch", "s1"}}},
          {"members", {{"members"}}},
          {"workers", {{"workers"}}},
          {"explain", {{"explain", "s1c0r0"}}},
          {"logs", {{"logs", "s1c0r0"}, true}},
          {"cancel", {{"cancel", "s1"}}},
          {"retry", {{"retry", "s1"}}},
          {"pause", {{"pause", "s1"}}},
          {"resume", {{"resume", "s1"}}},
          {"update", {{"update", "s1", "--priority=3"}}},
          {"extend", {{"extend", "s1", "--replicates=9"}}},
          {"delete", {{"delete", "s1", "--yes"}}},
          {"archive", {{"archive", "s1"}}},
          {"unarchive", {{"unarchive", "s1"}}},
          {"shares", {{"shares"}}},
          {"share", {{"share", "ada", "--weight=3"}}},
          {"drain", {{"drain", "box"}, true}},
          {"undrain", {{"undrain", "box"}, true}},
          {"quarantine", {{"quarantine", "box"}, true}},
          {"release", {{"release", "box"}, true}},
          {"report", {{"report", "s1"}}},
          {"compare", {{"compare", Exported(), Exported()}}},
          {"analyze", {{"analyze", Runs()}}},
          {"merge", {{"merge", Exported()}}},
          {"replay", {{"replay", "s1c0r0", "--coordinator=" + ReplayedElsewhere()}}},
          {"infer", {{"infer", "s1", "--coordinator=" + ReplayedElsewhere()}}},
          {"export", {{"export", "s1", "--to=" + folder + "/to"}}},
          {"fleet", {{"fleet", "status"}}},
          {"access", {{"access", "whoami"}}},
          {"sql", {{"sql"}}},
          {"backup", {{"backup", backup}}},
          {"restore", {{"restore", backup, "--check"}}},
          {"gc", {{"gc", "--dry-run"}}},
          {"doctor", {{"doctor"}}},
          {"data", {{"data", "list"}}},
          {"stacks", {{"stacks", "list"}}},
          {"conform", {{"conform", "--", "train.py"}}},  // Of a Python that says what it is asked.
          {"completion", {{"completion", "bash"}}},
          {"version", {{"version"}}}};
}

// A home with one cancelled sweep, so that nothing waits for a worker. A server is told to stop
// when it has started.
std::unique_ptr<CommandLine> HomeWithOneSweep(bool serves) {
  auto line = std::make_unique<CommandLine>([serves](CoordinatorOptions options) {
    auto started = Coordinator::Start(options);
    if (serves && options.listen == "127.0.0.1:0" && started.ok()) kill(getpid(), SIGTERM);
    return started;
  });
  const std::string file = line->home() + "/tiny.yaml";
  std::ofstream(file) << kWholeSweep;
  EXPECT_EQ(line->Run({"submit", file}).code, kDone);
  EXPECT_EQ(line->Run({"cancel", "s1"}).code, kDone);
  return line;
}

CannedAnswers OneMember() {
  return {.members = {Finished("s1c0r0", Small())},
          .artifacts = {{"s1c0r0 log", std::string(1 << 17, 'x')}}};
}

class WholeOutput : public ::testing::TestWithParam<std::string> {};

TEST_P(WholeOutput, OnAFullDiskIsNotSaidToBeThere) {
  CommandLine canned(OneMember());
  const auto home = HomeWithOneSweep(GetParam() == "serve");
  const TempHome elsewhere;
  const std::string backup = elsewhere.path() + "/backup";
  if (GetParam() == "restore") {
    EXPECT_EQ(home->Run({"backup", backup}).code, kDone);
  }
  setenv("NOISEFLOOR_PYTHON", "/bin/echo", 1);
  const auto cases = CasesIn(home->home(), backup);
  ASSERT_TRUE(cases.contains(GetParam())) << "say here how " << GetParam() << " is made to print";
  const Case& chosen = cases.at(GetParam());
  const Printed printed = (chosen.canned ? canned : *home).RunInto("/dev/full", chosen.arguments);
  EXPECT_NE(printed.code, kDone);
  EXPECT_THAT(printed.err, ::testing::EndsWith(kNotWhole));
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const auto& command : AllCommands()) names.emplace_back(command->Name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryCommand, WholeOutput, ::testing::ValuesIn(AllNames()),
                         [](const auto& test) { return test.param; });

TEST(WholeOutput, JsonAndHelpAreNoException) {
  const auto home = HomeWithOneSweep(false);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"--version"},
                                                    {"status", "--output=json"},
                                                    {"members", "--output=json"},
                                                    {"report", "--form=csv"},
                                                    {"gc", "--caches"},
                                                    {"gc", "--caches", "--output=json"},
                                                    {"doctor", "--output=json"},
                                                    {"watch", "s1", "--output=json"}}) {
    const Printed printed = home->RunInto("/dev/full", arguments);
    EXPECT_NE(printed.code, kDone) << arguments[0];
    EXPECT_THAT(printed.err, ::testing::EndsWith(kNotWhole)) << arguments[0];
  }
}

TEST(WholeOutput, OfAClosedFileIsNamed) {
  CommandLine line;
  OutputFile closed(-1);
  const Printed printed = line.RunInto(closed, {"version"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("standard output: cannot write: Bad file descriptor"));
}

TEST(WholeOutput, AReaderThatHasHadEnoughIsNoMistake) {
  ASSERT_NE(signal(SIGPIPE, SIG_IGN), SIG_ERR);  // As main does.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  OutputFile pipe(ends[1]);
  CommandLine line;
  const Printed printed = line.RunInto(pipe, {"completion", "bash"});
  EXPECT_EQ(printed.code, kReaderLeft);
  EXPECT_EQ(printed.err, "");
}

TEST(WholeOutput, WhatFitsIsThere) {
  CommandLine line;
  const std::string path = line.home() + "/out";
  std::ofstream(path) << "";
  const Printed into = line.RunInto(path, {"completion", "bash"});
  EXPECT_EQ(into.code, kDone) << into.err;
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text, line.Run({"completion", "bash"}).out);
}

}  // namespace
}  // namespace noisefloor::cli
