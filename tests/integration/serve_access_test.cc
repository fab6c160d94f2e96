// TLS and tokens between real processes: one command sets them up, and then nothing is typed.
#include <signal.h>

#include <filesystem>
#include <fstream>
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

constexpr char kSweep[] = R"(name: tiny
model: {name: mlp}
data: {name: fashion-mnist-sample}
train:
  epochs: 1
  batch_size: 64
  optimizer: {name: sgd, learning_rate: 0.1}
noise: [control]
hardware: any
replicates: 4
)";

std::string TextOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class AccessProcessTest : public testing::Test {
 protected:
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
    Process process = Start(command, "commands.log");
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
  // A coordinator on a free port, which the access files are told.
  Process Serve(const std::string& program) {
    Process serve = Start(program + " serve --home=home --listen=127.0.0.1:0", "serve.log");
    const auto line = serve.ReadLine(kPatience);
    EXPECT_TRUE(line.ok()) << line.status() << TextOf(At("serve.log"));
    constexpr std::string_view kSays = " listens on ";
    const size_t begin = line->find(kSays) + kSays.size();
    const std::string address = line->substr(begin, line->find(' ', begin) - begin);
    EXPECT_THAT(*line, HasSubstr(" with TLS and tokens"));
    for (const std::string name : {"admin", "submitter", "worker"}) {
      const std::string path = At("user/.config/noisefloor/access/" + name + ".access");
      std::string text = TextOf(path);
      const size_t at = text.find("coordinator ");
      text.replace(at, text.find('\n', at) - at, "coordinator " + address);
      std::ofstream(path) << text;
    }
    return serve;
  }

  TempHome folder_;
};

TEST_F(AccessProcessTest, ASweepIsTrainedWithNothingTypedAndNoTokenInAnyLog) {
  const std::string program = NOISEFLOOR;
  ASSERT_EQ(Run("mkdir -p user").first, 0);
  const auto [made, text] = Run(program + " access init --address=127.0.0.1:7077 --home=home");
  ASSERT_EQ(made, 0) << TextOf(At("commands.log"));
  Process serve = Serve(program);
  std::ofstream(At("tiny.yaml")) << kSweep;
  Process worker = Start(std::string(WORKER) + " --trainer=noop", "worker.log");

  ASSERT_EQ(Run(program + " submit tiny.yaml").first, 0) << TextOf(At("commands.log"));
  const auto [watched, lines] = Run(program + " watch s1");
  EXPECT_EQ(watched, 0) << TextOf(At("commands.log")) << TextOf(At("worker.log"));
  EXPECT_THAT(lines, HasSubstr("s1 has ended: 4 members: 4 done"));
  EXPECT_THAT(TextOf(At("serve.log")), HasSubstr("caller=worker"));

  EXPECT_EQ(Run(program + " access revoke worker").first, 0);
  const auto code = worker.Wait(kPatience);
  ASSERT_TRUE(code.ok()) << "a worker whose token was revoked does not go on";
  EXPECT_EQ(*code, 1);
  EXPECT_THAT(TextOf(At("worker.log")), HasSubstr("token 3 of worker was revoked"));
  serve.Signal(SIGTERM);
  EXPECT_EQ(serve.Wait(kPatience).value_or(-1), 0);
  for (const std::string log : {"serve.log", "worker.log", "commands.log"}) {
    EXPECT_THAT(TextOf(At(log)), Not(HasSubstr("nfl_"))) << log;
  }
}

TEST_F(AccessProcessTest, AWorkerTakesTheNextTokenWithoutARestart) {
  const std::string program = NOISEFLOOR;
  ASSERT_EQ(Run("mkdir -p user").first, 0);
  ASSERT_EQ(Run(program + " access init --address=127.0.0.1:7077 --home=home").first, 0);
  Process serve = Serve(program);
  Process worker = Start(std::string(WORKER) + " --trainer=noop", "worker.log");
  const auto sessions = [&] {
    size_t count = 0;
    const std::string log = TextOf(At("serve.log"));
    for (size_t at = 0; (at = log.find("worker_connected", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const auto wait_for_session = [&](size_t number) {
    const SystemClock clock;
    const absl::Time give_up = clock.Now() + kPatience;
    while (sessions() < number && clock.Now() < give_up) absl::SleepFor(absl::Milliseconds(50));
    EXPECT_EQ(sessions(), number) << TextOf(At("worker.log"));
  };
  wait_for_session(1);
  const std::string file = At("user/.config/noisefloor/access/worker.access");
  const std::string before = TextOf(file);
  ASSERT_EQ(Run(program + " access add worker --home=home --to=" + At("next")).first, 0);
  std::string next = TextOf(At("next"));
  const auto line_of = [](const std::string& text) {
    const size_t at = text.find("token ");
    return text.substr(at, text.find('\n', at) - at);
  };
  std::string replaced = before;
  replaced.replace(replaced.find(line_of(before)), line_of(before).size(), line_of(next));
  std::ofstream(file) << replaced;

  EXPECT_EQ(Run(program + " access revoke worker --token=3").first, 0);

  wait_for_session(2);
  EXPECT_FALSE(worker.Ended());
}

}  // namespace
}  // namespace noisefloor::test
