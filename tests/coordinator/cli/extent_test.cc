// The commands that make a sweep larger and that remove it, with a real coordinator.
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string SweepFile(int replicates, const std::string& name = "tiny") {
  return "name: " + name + "\nnoise: [control, algo]\nhardware: [cpu-intel-avx2]\nreplicates: " +
         std::to_string(replicates) + "\n";
}

class ExtentCommands : public ::testing::Test {
 protected:
  ExtentCommands() : line_(Coordinator::Start) {
    Write(SweepFile(2));
    EXPECT_EQ(line_.Run({"submit", file_}).code, kDone);
  }
  void Write(const std::string& text) const { std::ofstream(file_) << text; }

  CommandLine line_;
  const std::string file_ = line_.home() + "/tiny.yaml";
};

TEST_F(ExtentCommands, ASweepIsExtendedAndSaysSo) {
  const Printed dry = line_.Run({"extend", "s1", "--replicates=5", "--plan=algo", "--dry-run"});
  EXPECT_EQ(
      dry.out,
      "s1 tiny: 3 members would be added, 0 new cells; it has 4 members: 0 done, 4 waiting\n");
  const Printed extended = line_.Run({"extend", "s1", "--replicates=5", "--plan=algo"});
  EXPECT_EQ(extended.code, kDone) << extended.err;
  EXPECT_EQ(extended.out,
            "s1 tiny: 3 members added, 0 new cells; now 7 members: 0 done, 7 waiting\n");
  EXPECT_EQ(line_.Run({"extend", "s1", "--replicates=5", "--plan=algo"}).out,
            "s1 tiny has all of that already: 7 members: 0 done, 7 waiting\n");
  const Printed json = line_.Run(
      {"extend", "s1", "--blocks=2", "--hardware=nvidia-a100,nvidia-h200", "--output=json"});
  ASSERT_EQ(json.code, kDone) << json.err;
  const auto answer = nlohmann::json::parse(json.out);
  EXPECT_EQ(answer.at("members"), 35);
  EXPECT_EQ(answer.at("cells"), 10);
  EXPECT_EQ(answer.at("sweep").at("hardware"),
            nlohmann::json({"cpu-intel-avx2", "nvidia-a100", "nvidia-h200"}));

  const Printed shown = line_.Run({"show", "s1"});
  EXPECT_EQ(shown.out, SweepFile(2));
  EXPECT_THAT(shown.err, HasSubstr("s1 was extended since"));
  EXPECT_THAT(line_.Run({"show", "s1", "--resolved"}).out,
              AllOf(HasSubstr("# Extended since it was submitted."),
                    HasSubstr(R"(hardware: ["cpu-intel-avx2", "nvidia-a100", "nvidia-h200"])"),
                    HasSubstr(R"({name: "algo", blocks: 2, replicates: 5})")));
  EXPECT_THAT(line_.Run({"status", "s1"}).out, HasSubstr("on cpu-intel-avx2, nvidia-a100"));
  EXPECT_THAT(line_.Run({"sql", "SELECT kind, text FROM v_event"}).out,
              AllOf(HasSubstr("sweep_extended"),
                    HasSubstr("s1 extended by 35 members, 10 new cells: 42 members in 12 cells")));
  // What its resolved file says is the same sweep.
  Write(line_.Run({"show", "s1", "--resolved"}).out);
  EXPECT_THAT(line_.Run({"submit", file_, "--resume"}).out, HasSubstr("there already: s1"));
}

TEST_F(ExtentCommands, WhatCannotBeIsRefusedByName) {
  EXPECT_THAT(line_.Run({"extend", "s1"}).err, HasSubstr("expected --replicates, --blocks or"));
  EXPECT_THAT(line_.Run({"extend", "s1", "--plan=algo"}).err, HasSubstr("--plan: says of which"));
  EXPECT_THAT(line_.Run({"extend", "s1", "--replicates=1"}).err,
              HasSubstr("plan control has 2 replicates, and a sweep gets no smaller"));
  EXPECT_THAT(line_.Run({"extend", "s9", "--replicates=3"}).err, HasSubstr("s9: no such sweep"));
  EXPECT_EQ(line_.Run({"extend", "s1", "--replicates=0"}).code, kUsage);
  EXPECT_THAT(line_.Run({"extend", "s1", "--blocks=3", "--plan=al\x1b"}).err,
              Not(HasSubstr("\x1b")));
}

TEST_F(ExtentCommands, ALargerFileOfTheSameNameIsToldTheExtension) {
  Write(SweepFile(7));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"submit", file_}, {"submit", file_, "--resume"}}) {
    const Printed refused = line_.Run(arguments);
    EXPECT_EQ(refused.code, kRefused);
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr("s1 tiny is the same training"),
                      HasSubstr("`extend s1 --replicates=7`"), HasSubstr("another name")));
  }
  EXPECT_EQ(line_.Run({"extend", "s1", "--replicates=7"}).code, kDone);
  EXPECT_THAT(line_.Run({"submit", file_, "--resume"}).out, HasSubstr("there already: s1"));
  Write(SweepFile(3));
  EXPECT_THAT(line_.Run({"submit", file_, "--resume"}).out, HasSubstr("there already: s1"));
  EXPECT_THAT(line_.Run({"submit", file_}).err, HasSubstr("s1 tiny has all of this and more"));
  Write(SweepFile(9, "other"));
  EXPECT_THAT(line_.Run({"submit", file_}).out, HasSubstr("submitted s2"));
}

TEST_F(ExtentCommands, ASweepIsDeletedForGood) {
  EXPECT_THAT(line_.Run({"delete", "s1", "--yes"}).err, HasSubstr("`cancel s1` ends it"));
  EXPECT_EQ(line_.Run({"cancel", "s1"}).code, kDone);
  EXPECT_THAT(line_.Run({"delete", "s1"}).err, HasSubstr("delete s1 --yes"));
  line_.Type("n\n");
  const Printed kept = line_.Run({"delete", "s1"});
  EXPECT_EQ(kept.code, kRefused);
  EXPECT_THAT(kept.err, AllOf(HasSubstr("delete s1 tiny with 4 members"),
                              HasSubstr("for good? [y/N]"), HasSubstr("nothing was deleted")));
  line_.Type("y\n");
  EXPECT_EQ(line_.Run({"delete", "s1"}).out, "s1 deleted, with 4 members\n");

  EXPECT_THAT(line_.Run({"status"}).out, HasSubstr("no sweeps yet"));
  for (const char* command : {"status", "watch", "report", "show", "members", "cancel"}) {
    const Printed printed = line_.Run({command, "s1"});
    EXPECT_EQ(printed.code, kRefused) << command;
    EXPECT_THAT(printed.err, HasSubstr("s1")) << command;
  }
  EXPECT_THAT(line_.Run({"status", "s1"}).err, HasSubstr("s1 was deleted"));
  EXPECT_THAT(line_.Run({"sql", "SELECT * FROM v_sweep", "--csv"}).out, Not(HasSubstr("tiny")));
  EXPECT_THAT(line_.Run({"submit", file_}).out, HasSubstr("submitted s2")) << "never s1 again";
}

TEST_F(ExtentCommands, LimitsAreSetToldAndTakenAway) {
  const Printed updated = line_.Run({"update", "s1", "--limit", "cpu-intel-avx2=3"});
  EXPECT_EQ(updated.out, "s1 tiny: at most 3 on cpu-intel-avx2; 4 members: 0 done, 4 waiting\n")
      << updated.err;
  EXPECT_THAT(line_.Run({"status", "s1"}).out, HasSubstr("at most 3 on cpu-intel-avx2"));
  EXPECT_EQ(line_.Run({"update", "s1", "--limit=cpu-intel-avx2=0"}).out,
            "s1 tiny: priority 0; 4 members: 0 done, 4 waiting\n");
  EXPECT_THAT(line_.Run({"update", "s1", "--limit=nvidia-h200=1"}).err,
              HasSubstr("s1 has no hardware class nvidia-h200; it has cpu-intel-avx2"));
  for (const char* wrong : {"--limit=4", "--limit=a=b", "--limit==4", "--limit=a=-1"}) {
    EXPECT_THAT(line_.Run({"update", "s1", wrong}).err, HasSubstr("expected CLASS=N")) << wrong;
  }
  Write(SweepFile(1, "other"));
  EXPECT_THAT(line_.Run({"submit", file_, "--limit=cpu-intel-avx2=0"}).err,
              HasSubstr("N a number from 1"));
  EXPECT_THAT(line_.Run({"submit", file_, "--limit=tpu=1"}).err,
              HasSubstr("the sweep has no hardware class tpu; it has cpu-intel-avx2"));
  EXPECT_EQ(line_.Run({"submit", file_, "--limit=cpu-intel-avx2=2"}).code, kDone);
  const auto json = nlohmann::json::parse(line_.Run({"status", "s2", "--output=json"}).out);
  EXPECT_EQ(json.at("sweep").at("limits"), nlohmann::json({{"cpu-intel-avx2", 2}}));
}

}  // namespace
}  // namespace noisefloor::cli
