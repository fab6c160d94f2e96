// A coordinator hands over to another one at another address, with TLS and tokens: workers, and
// people who watch, find it with nothing typed.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/integration/process.h"

namespace noisefloor::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr absl::Duration kPatience = absl::Minutes(2);

std::string TextOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class HandoverProcessTest : public testing::Test {
 protected:
  HandoverProcessTest() {
    for (const std::string name : {"user", "shared"}) {
      std::filesystem::create_directory(At(name));
    }
  }

  std::string At(const std::string& name) const { return folder_.path() + "/" + name; }

  // In a world where nothing but $HOME says anything.
  Process Start(const std::string& command, const std::string& log) const {
    auto started = Process::Start(
        {"/bin/sh", "-c",
         "cd " + folder_.path() + " && exec env -u NOISEFLOOR_ACCESS -u NOISEFLOOR_COORDINATOR " +
             "-u NOISEFLOOR_HOME HOME=" + At("user") + " " + command},
        At(log));
    EXPECT_TRUE(started.ok()) << started.status();
    return *std::move(started);
  }
  // To its end: its code and what it printed.
  std::pair<int, std::string> Run(const std::string& command) const {
    Process process = Start(std::string(NOISEFLOOR) + " " + command, "commands.log");
    std::string out;
    while (true) {
      const auto line = process.ReadLine(kPatience);
      if (!line.ok()) break;
      out += *line + "\n";
    }
    const auto code = process.Wait(kPatience);
    EXPECT_TRUE(code.ok()) << code.status();
    return {code.value_or(-1), out};
  }
  Process Serve(const std::string& home) const {
    Process serve = Start(std::string(NOISEFLOOR) + " serve --handover=shared --home=" + home +
                              " --listen=127.0.0.1:0",
                          home + ".log");
    const auto line = serve.ReadLine(kPatience);
    EXPECT_TRUE(line.ok()) << line.status() << TextOf(At(home + ".log"));
    EXPECT_THAT(*line, HasSubstr(" with TLS and tokens"));
    return serve;
  }
  Process Worker(const std::string& name) const {
    return Start(std::string(WORKER) + " --trainer=noop --name=" + name + " --declare=" + name +
                     " --state=state-" + name,
                 name + ".log");
  }
  void WaitUntilSaid(const std::string& log, const std::string& text) const {
    const SystemClock clock;
    const absl::Duration give_up = clock.Steady() + kPatience;
    while (TextOf(At(log)).find(text) == std::string::npos && clock.Steady() < give_up) {
      absl::SleepFor(absl::Milliseconds(20));
    }
    EXPECT_THAT(TextOf(At(log)), HasSubstr(text));
  }
  void Submit(const std::string& name, const std::string& hardware) const {
    std::ofstream(At("sweep.yaml")) << "name: " << name << "\nstack: noop\nhardware: [" << hardware
                                    << "]\nnoise: [control]\nreplicates: 2\n";
    EXPECT_EQ(Run("submit sweep.yaml").first, 0) << TextOf(At("commands.log"));
  }

  TempHome folder_;
};

TEST_F(HandoverProcessTest, WorkersAndWatchersFindTheNextOneWithNothingTyped) {
  ASSERT_EQ(Run("access init --address=127.0.0.1:7077 --home=first").first, 0);
  Process first = Serve("first");
  Process early = Worker("early-1");
  WaitUntilSaid("first.log", "worker_connected");
  Submit("before", "early-1");
  EXPECT_EQ(Run("watch s1").first, 0);
  Submit("between", "late-1");
  Process watch = Start(std::string(NOISEFLOOR) + " watch s2", "watch.log");
  ASSERT_TRUE(watch.ReadLine(kPatience).ok());

  Process second = Serve("second");

  EXPECT_EQ(first.Wait(kPatience).value_or(-1), 0) << TextOf(At("first.log"));
  WaitUntilSaid("early-1.log", "coordinator_moved");
  WaitUntilSaid("second.log", "worker_connected");
  Submit("after", "early-1");
  EXPECT_THAT(Run("watch s3").second, HasSubstr("s3 has ended: 2 members: 2 done"));
  Process late = Worker("late-1");
  EXPECT_EQ(watch.Wait(kPatience).value_or(-1), 0) << TextOf(At("watch.log"));
  // Nobody is served by what was left.
  EXPECT_EQ(Run("status --home=first").first, 1);
  EXPECT_THAT(TextOf(At("commands.log")),
              AllOf(HasSubstr("first: was handed over in /"), HasSubstr("term 1")));
  second.Signal(SIGUSR1);
  EXPECT_EQ(second.Wait(kPatience).value_or(-1), 0) << TextOf(At("second.log"));
  for (const std::string log : {"first.log", "second.log", "early-1.log", "commands.log"}) {
    EXPECT_THAT(TextOf(At(log)), Not(HasSubstr("nfl_"))) << log;
  }
}

TEST_F(HandoverProcessTest, OneThatCannotServeGivesTheDataBack) {
  ASSERT_EQ(Run("access init --address=127.0.0.1:7077 --home=first").first, 0);
  Process first = Serve("first");
  Process other = Start(std::string(NOISEFLOOR) + " serve --home=other --listen=127.0.0.1:0", "o");
  const std::string line = other.ReadLine(kPatience).value_or("");
  const std::string address = line.substr(line.find("127.0.0.1:"));
  const std::string taken = address.substr(0, address.find_first_of(" ,"));
  // What can be seen at once is seen before anybody is asked for the data.
  EXPECT_EQ(Run("serve --handover=shared --home=second --metrics=x").first, 1);
  EXPECT_EQ(Run("status --home=first").first, 0);
  EXPECT_EQ(Run("serve --handover=shared --home=second --listen=" + taken).first, 1);
  EXPECT_THAT(TextOf(At("commands.log")), HasSubstr("handed_over"));
  EXPECT_EQ(first.Wait(kPatience).value_or(-1), 0) << TextOf(At("first.log"));
  const Process third = Serve("third");
  EXPECT_THAT(TextOf(At("third.log")), HasSubstr("term=3"));
}

TEST_F(HandoverProcessTest, ANewerProgramTakesTheSameHomeOver) {
  ASSERT_EQ(Run("access init --address=127.0.0.1:7077 --home=same").first, 0);
  Process first = Serve("same");
  Process early = Worker("early-1");
  WaitUntilSaid("same.log", "worker_connected");
  const Process second = Serve("same");
  EXPECT_EQ(first.Wait(kPatience).value_or(-1), 0) << TextOf(At("same.log"));
  Submit("after", "early-1");
  EXPECT_EQ(Run("watch s1").first, 0);
  EXPECT_THAT(TextOf(At("shared/term-2/claim.json")), HasSubstr("\"process\""));
}

}  // namespace
}  // namespace noisefloor::test
