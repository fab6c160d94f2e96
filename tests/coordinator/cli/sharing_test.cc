// The commands that share a fleet, with a real coordinator.
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSharingSweep[] = R"(name: tiny
noise: [control, algo]
hardware: any
replicates: 2
)";

class SharingCommands : public ::testing::Test {
 protected:
  SharingCommands() : line_(Coordinator::Start) {
    std::ofstream(file_) << kSharingSweep;
    EXPECT_EQ(line_.Run({"submit", file_, "--priority=4", "--max-failures=2"}).code, kDone);
  }

  CommandLine line_;
  const std::string file_ = line_.home() + "/tiny.yaml";
};

TEST_F(SharingCommands, ASweepIsPausedResumedAndUpdated) {
  EXPECT_EQ(
      line_.Run({"pause", "s1"}).out,
      "s1 tiny: paused; priority 4; stops at 2 failed members; 4 members: 0 done, 4 waiting\n");
  const Printed status = line_.Run({"status", "s1"});
  EXPECT_THAT(status.out, AllOf(HasSubstr("paused; priority 4"), HasSubstr("resume s1")));
  EXPECT_THAT(line_.Run({"explain", "s1"}).out, HasSubstr("`resume s1` lets it go on"));
  EXPECT_THAT(line_.Run({"explain", "s1c0r1"}).out, HasSubstr("a person has paused its sweep"));
  EXPECT_EQ(line_.Run({"resume", "s1"}).code, kDone);
  const Printed updated =
      line_.Run({"update", "s1", "--priority=0", "--max-failures=0", "--notes=again", "--tag",
                 "paper=main", "--tag", "a=b=c", "--untag", "none", "--output=json"});
  ASSERT_EQ(updated.code, kDone) << updated.err;
  const auto json = nlohmann::json::parse(updated.out).at("sweep");
  EXPECT_EQ(json.at("priority"), 0);
  EXPECT_EQ(json.at("paused"), false);
  EXPECT_EQ(json.at("notes"), "again");
  EXPECT_EQ(json.at("tags"), nlohmann::json({{"a", "b=c"}, {"paper", "main"}}));
  EXPECT_EQ(line_.Run({"update", "s1", "--priority=1001"}).code, kUsage);
  EXPECT_THAT(line_.Run({"update", "s1", "--tag=novalue"}).err, HasSubstr("expected KEY=VALUE"));
  EXPECT_THAT(line_.Run({"update", "s1", "--tag=a=1", "--tag=a=2"}).err,
              HasSubstr("--tag=a=2: a is given twice"));
  EXPECT_THAT(line_.Run({"update", "s1", "--tag=a=1", "--untag=a"}).err,
              HasSubstr("--tag=a=1: --untag takes a away"));
}

TEST_F(SharingCommands, NotesAreTakenAwayByAnEmptyText) {
  ASSERT_EQ(line_.Run({"update", "s1", "--notes=--priority=5"}).code, kDone);
  const Printed updated = line_.Run({"update", "s1", "--notes=", "--priority=5", "--output=json"});
  ASSERT_EQ(updated.code, kDone) << updated.err;
  const auto json = nlohmann::json::parse(updated.out).at("sweep");
  EXPECT_EQ(json.at("notes"), "");
  EXPECT_EQ(json.at("priority"), 5);
}

TEST_F(SharingCommands, MembersAreChosenSortedAndLimited) {
  EXPECT_EQ(line_.Run({"cancel", "s1", "--plan=algo", "--cell=1"}).out,
            "s1: 2 members cancelled\n");
  EXPECT_EQ(line_.Run({"cancel", "--member", "s1c0r1", "s1"}).out, "s1: 1 member cancelled\n");
  const auto ids = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"members", "s1", "--output=json"});
    std::string found;
    const Printed printed = line_.Run(arguments);
    EXPECT_EQ(printed.code, kDone) << printed.err;
    const auto json = nlohmann::json::parse(printed.out);
    for (const auto& member : json.at("members")) {
      found += member.at("id").get<std::string>() + " ";
    }
    return found;
  };
  EXPECT_EQ(ids({"--state=cancelled"}), "s1c0r1 s1c1r0 s1c1r1 ");
  EXPECT_EQ(ids({"--state=cancelled,waiting", "--plan=control"}), "s1c0r0 s1c0r1 ");
  EXPECT_EQ(ids({"--limit=3"}), "s1c0r0 s1c0r1 s1c1r0 ");
  EXPECT_EQ(ids({"--sort=state", "--limit=2"}), "s1c0r0 s1c0r1 ");
  EXPECT_EQ(ids({"--worker=nobody"}), "");
  for (const char* command : {"cancel", "members"}) {
    EXPECT_THAT(line_.Run({command, "s1", "--axis=train.epochs=9"}).err,
                HasSubstr("s1 has no axis train.epochs"));
    EXPECT_THAT(line_.Run({command, "s1", "--plan=contrl"}).err,
                HasSubstr("s1 has no plan contrl; it has algo, control"));
    EXPECT_THAT(line_.Run({command, "s1", "--cell=99"}).err, HasSubstr("s1 has no cell 99"));
  }
  EXPECT_THAT(line_.Run({"cancel", "s1", "--axis=train.epochs"}).err,
              HasSubstr("--axis=train.epochs: expected PATH=VALUE, such as train.batch_size=64"));
  EXPECT_THAT(line_.Run({"members", "s1", "--cell=1", "--limit=1"}).out,
              AllOf(HasSubstr("s1c1r0"), Not(HasSubstr("s1c1r1")), Not(HasSubstr("s1c0r0"))));
  EXPECT_EQ(line_.Run({"retry", "s1", "--state=cancelled", "--plan=algo"}).out,
            "s1: 2 members wait again\n");
  EXPECT_THAT(line_.Run({"retry", "s1", "--plan=other"}).err,
              HasSubstr("s1 has no plan other; it has algo, control"));
  EXPECT_THAT(line_.Run({"cancel", "s1", "--member=s2c0r0"}).err,
              HasSubstr("--member=s2c0r0: expected a member of s1"));
}

TEST_F(SharingCommands, AnArchivedSweepIsListedWhenAskedFor) {
  EXPECT_THAT(line_.Run({"archive", "s1"}).err, HasSubstr("only a sweep that has ended"));
  EXPECT_EQ(line_.Run({"cancel", "s1"}).code, kDone);
  EXPECT_EQ(line_.Run({"archive", "s1"}).code, kDone);
  EXPECT_THAT(line_.Run({"status"}).out, Not(HasSubstr("tiny")));
  EXPECT_THAT(line_.Run({"status", "--archived"}).out, HasSubstr("tiny"));
  EXPECT_EQ(line_.Run({"unarchive", "s1"}).code, kDone);
  EXPECT_THAT(line_.Run({"status"}).out, HasSubstr("tiny"));
}

TEST_F(SharingCommands, SweepsAndOwnersHaveWeights) {
  EXPECT_THAT(line_.Run({"status", "s1"}).out, Not(HasSubstr("weight")));
  EXPECT_THAT(line_.Run({"update", "s1", "--weight=3"}).out, HasSubstr("priority 4; weight 3;"));
  EXPECT_THAT(line_.Run({"status", "s1"}).out, HasSubstr("weight 3"));
  const auto sweep = nlohmann::json::parse(line_.Run({"status", "s1", "--output=json"}).out);
  EXPECT_EQ(sweep.at("sweep").at("weight"), 3);

  const std::string other = line_.home() + "/other.yaml";
  std::ofstream(other) << "name: other\nnoise: [algo]\nhardware: any\nreplicates: 2\n";
  EXPECT_EQ(line_.Run({"submit", other, "--weight=5"}).code, kDone);
  EXPECT_THAT(line_.Run({"status", "s2"}).out, HasSubstr("weight 5"));
  EXPECT_EQ(line_.Run({"submit", other, "--weight=0"}).code, kUsage);

  EXPECT_EQ(line_.Run({"share", "gr\x1b[31mace", "--weight=3"}).out,
            "gr\\x1b[31mace: weight 3; 0 members running, 0 waiting\n");
  EXPECT_EQ(line_.Run({"share", "ada"}).code, kUsage);
  EXPECT_EQ(line_.Run({"share", "ada", "--weight=1001"}).code, kUsage);
  EXPECT_THAT(line_.Run({"share", "", "--weight=2"}).err, HasSubstr("owner: expected a name"));
  const auto shares = nlohmann::json::parse(line_.Run({"shares", "--output=json"}).out);
  ASSERT_EQ(shares.at("shares").size(), 2u) << shares;
  EXPECT_EQ(shares.at("shares")[0].at("waiting"), 6) << "of who submits here";
  EXPECT_EQ(shares.at("shares")[0].at("weight"), 1);
  EXPECT_EQ(shares.at("shares")[1].at("owner"), "gr\x1b[31mace");
  EXPECT_EQ(shares.at("shares")[1].at("weight"), 3);
  EXPECT_THAT(line_.Run({"shares"}).out, AllOf(HasSubstr("owner"), HasSubstr("gr\\x1b[31mace")));
  EXPECT_EQ(line_.Run({"cancel", "s1"}).code, kDone);
  EXPECT_EQ(line_.Run({"cancel", "s2"}).code, kDone);
  EXPECT_EQ(line_.Run({"share", "gr\x1b[31mace", "--weight=1"}).code, kDone);
  EXPECT_THAT(line_.Run({"shares"}).out, HasSubstr("nobody's members wait or run"));
}

TEST_F(SharingCommands, AWorkerThatIsNotThereIsNamed) {
  for (const char* command : {"drain", "undrain", "quarantine", "release"}) {
    const Printed printed = line_.Run({command, "node7"});
    EXPECT_EQ(printed.code, kRefused) << command;
    EXPECT_THAT(printed.err, HasSubstr("there is no worker node7")) << command;
  }
  EXPECT_THAT(line_.Run({"explain", "node7"}).err,
              AllOf(HasSubstr("there is no worker node7"), HasSubstr("such as s1 or s1c2r0")));
}

// Without the worker that would take what waits: there is none to start here.
TEST_F(SharingCommands, AnInferenceOfWhatIsNotDoneIsRefusedBeforeAnythingTrains) {
  const std::string refusal =
      "noisefloor infer: s1: none of the members asked for is done and has its weights\n";
  for (const std::string more : {"--cell=0", "--plan=algo", "--hardware=cpu-amd-sse"}) {
    const Printed printed = line_.Run({"infer", "s1", more});
    EXPECT_EQ(printed.code, kRefused);
    EXPECT_EQ(printed.err, refusal);
  }
  const auto serving = Coordinator::Start({.home = line_.home(), .listen = "127.0.0.1:0"});
  ASSERT_TRUE(serving.ok()) << serving.status();
  const std::string address = "--coordinator=" + (*serving)->address();
  EXPECT_EQ(line_.Run({"infer", "s1", "--hardware=cpu-amd-sse", address}).err, refusal)
      << "in the same words";
}

}  // namespace
}  // namespace noisefloor::cli
