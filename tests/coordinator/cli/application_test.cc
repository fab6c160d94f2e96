#include "coordinator/cli/application.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;

// A loopback port that nobody listens on while the object lives.
class DeafPort {
 public:
  DeafPort() : file_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(file_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~DeafPort() { close(file_); }
  int number() const { return port_; }

 private:
  int file_;
  int port_ = 0;
};

TEST(ExitCodes, HelpIsDone) {
  CommandLine line;
  const Printed printed = line.Run({"--help"});
  EXPECT_EQ(printed.code, kDone);
  for (const auto& command : AllCommands()) {
    EXPECT_THAT(printed.out, HasSubstr(std::string(command->Name())));
  }
  EXPECT_THAT(printed.out, HasSubstr("3 unreachable"));
}

TEST(ExitCodes, EveryCommandHasHelpWithExamples) {
  for (const auto& command : AllCommands()) {
    CommandLine line;
    const Printed printed = line.Run({std::string(command->Name()), "--help"});
    EXPECT_EQ(printed.code, kDone) << command->Name();
    EXPECT_THAT(printed.out, HasSubstr("noisefloor " + std::string(command->Name())));
  }
}

TEST(ExitCodes, MistakesOfUsageAreTwo) {
  const std::vector<std::vector<std::string>> mistakes = {
      {},
      {"fly"},
      {"members", "--swep=s1"},
      {"members", "--sweep=s1", "--sweep=s2"},
      {"members", "--output=xml"},
      {"members", "one", "two"},
      {"run"},
      {"export", "s1"},
      {"data"},
      {"completion", "fish"},
      {"run", "sweep.yaml", "--slots=0"},
  };
  for (const auto& arguments : mistakes) {
    CommandLine line;
    const Printed printed = line.Run(arguments);
    EXPECT_EQ(printed.code, kUsage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(printed.err, HasSubstr("noisefloor: ")) << ::testing::PrintToString(arguments);
    EXPECT_EQ(printed.out, "");
  }
}

TEST(ExitCodes, AnUnknownCommandNamesTheNearest) {
  CommandLine line;
  EXPECT_EQ(line.Run({"statsu"}).err,
            "noisefloor: unknown command statsu; did you mean status?\nTry `noisefloor --help`.\n");
  EXPECT_EQ(line.Run({"zzzzzz"}).err,
            "noisefloor: unknown command zzzzzz\nTry `noisefloor --help`.\n");
}

TEST(ExitCodes, WhatIsRefusedIsOne) {
  CommandLine line;
  const Printed id = line.Run({"explain", "c1"});
  EXPECT_EQ(id.code, kRefused);
  EXPECT_EQ(id.err, "noisefloor explain: member c1: expected an id such as s1c2r0\n");
  const Printed home = line.Run({"members", "--home=" + line.home() + "/none"});
  EXPECT_EQ(home.code, kRefused);
  EXPECT_THAT(home.err, HasSubstr("no data directory " + line.home() + "/none"));
  const Printed both = line.Run({"run", "x.yaml", "--coordinator=127.0.0.1:1"});
  EXPECT_EQ(both.code, kRefused);
}

TEST(ExitCodes, ABrokenSweepFileIsOneAndNamedByItsPlace) {
  CommandLine line;
  const std::string path = line.home() + "/f.yaml";
  std::ofstream(path) << "name: x\nnoise: [control]\nreplicate: 2\n";
  const Printed printed = line.Run({"plan", path});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_EQ(printed.err, "noisefloor plan: " + path +
                             ":3:1: replicate: unknown key; did you mean replicates?\n");
}

TEST(ExitCodes, ACoordinatorThatCannotBeReachedIsThree) {
  const DeafPort port;
  CommandLine line;
  const std::string address = "127.0.0.1:" + std::to_string(port.number());
  const Printed printed = line.Run({"members", "--coordinator=" + address});
  EXPECT_EQ(printed.code, kUnreachable) << printed.err;
  EXPECT_THAT(printed.err, HasSubstr(address));
}

TEST(ExitCodes, FollowTheStatus) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), kDone);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), kUnreachable);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), kUnreachable);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), kRefused);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), kRefused);
}

TEST(Version, NeedsNoCoordinatorAndSpeaksJson) {
  CommandLine line;
  const Printed printed = line.Run({"version", "--output=json"});
  EXPECT_EQ(printed.code, kDone);
  EXPECT_THAT(printed.out, HasSubstr("\"program\""));
}

}  // namespace
}  // namespace noisefloor::cli
