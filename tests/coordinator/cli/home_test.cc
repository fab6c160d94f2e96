// Commands on data directories, with real coordinators: what they make, whom they ask, what they
// refuse.
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/cli/read_only_home.h"
#include "tests/coordinator/cli/command_line.h"
#include "tests/support/full_disk.h"
#include "tests/support/loopback_port.h"

namespace noisefloor::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

constexpr char kHomeSweep[] = R"(name: tiny
model: {name: mlp}
data: {name: fashion-mnist-sample}
train:
  epochs: 1
  batch_size: 64
  optimizer: {name: sgd, learning_rate: 0.1}
noise: [control]
hardware: any
stack: torch-2.11-cu130
replicates: 1
)";

class HomeTest : public ::testing::Test {
 protected:
  HomeTest() : line_(Coordinator::Start), home_(line_.home() + "/study") {
    std::ofstream(file_) << kHomeSweep;
  }

  // With the options that a command needs to work on `home`.
  Printed Run(std::vector<std::string> arguments, const std::string& home) {
    arguments.push_back("--home=" + home);
    return line_.Run(arguments);
  }
  Printed Run(std::vector<std::string> arguments) { return Run(std::move(arguments), home_); }

  std::unique_ptr<Coordinator> Hold(const std::string& home) {
    auto started = Coordinator::Start({.home = home, .listen = "127.0.0.1:0"});
    EXPECT_TRUE(started.ok()) << started.status();
    return started.ok() ? *std::move(started) : nullptr;
  }

  CommandLine line_;
  const std::string home_;
  const std::string file_ = line_.home() + "/tiny.yaml";
};

TEST_F(HomeTest, ACommandThatReadsMakesNothingInAFolderThatIsNone) {
  fs::create_directories(home_);
  const std::vector<std::vector<std::string>> commands = {
      {"status"},
      {"watch"},
      {"members"},
      {"workers"},
      {"explain", "s1c0r0"},
      {"logs", "s1c0r0"},
      {"cancel", "s1"},
      {"retry", "s1"},
      {"report"},
      {"replay", "s1c0r0"},
      {"sql", "SELECT 1"},
      {"export", "s1", "--to=" + line_.home() + "/to"}};
  for (const auto& command : commands) {
    const Printed printed = Run(command);
    EXPECT_EQ(printed.code, kRefused) << command[0];
    EXPECT_THAT(printed.err, HasSubstr(home_ + " is no data directory; name one with --home"));
    EXPECT_TRUE(fs::is_empty(home_)) << command[0];
  }
  EXPECT_EQ(Run({"plan", file_}).code, kDone);
  EXPECT_TRUE(fs::is_empty(home_)) << "plan";
}

TEST_F(HomeTest, CommandsAskTheCoordinatorThatHoldsTheHome) {
  auto holder = Hold(home_);
  ASSERT_NE(holder, nullptr);
  const Printed submitted = Run({"submit", file_});
  EXPECT_EQ(submitted.code, kDone) << submitted.err;
  EXPECT_EQ(submitted.out, "submitted s1: 1 member on any hardware class\n");
  EXPECT_EQ(submitted.err, "no worker is connected; `noisefloor-worker --coordinator=" +
                               holder->address() + "` starts one\n");
  EXPECT_THAT(Run({"status", "s1"}).out, HasSubstr("1 member: 0 done, 1 waiting in 1 cell;"));
  EXPECT_THAT(Run({"explain", "s1c0r0"}).out, HasSubstr("s1c0r0 waits"));
  EXPECT_EQ(Run({"cancel", "s1"}).out, "s1: 1 member cancelled\n");
  const Printed watched = Run({"watch", "s1"});
  EXPECT_EQ(watched.code, kFailedMembers) << "what is cancelled is not done";
  EXPECT_EQ(watched.out,
            "0/1 members    0 %  1 cancelled\ns1 has ended: 1 member: 0 done, 1 cancelled\n");
  EXPECT_EQ(watched.err, "`noisefloor retry s1 --home=" + home_ + "` lets them wait again\n");
  holder->Stop();
  holder.reset();
  EXPECT_THAT(Run({"members", "s1"}).out, HasSubstr("cancelled"));
  EXPECT_EQ(Run({"retry", "s1"}).out, "s1: 1 member waits again\n");
}

TEST_F(HomeTest, SqlTellsTheSeedsThatMembersTellBesideACoordinatorAndAlone) {
  auto holder = Hold(home_);
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const std::string sql = "SELECT source, seed FROM v_seed WHERE member = 's1c0r0'";
  const std::string listed = Run({"members", "s1", "--output=json"}).out;
  const auto seeds = nlohmann::json::parse(listed)["members"][0]["seeds"];
  ASSERT_EQ(seeds.size(), 9u);
  for (const bool alone : {false, true}) {
    if (alone) holder.reset();
    const Printed printed = Run({"sql", sql, "--output=json"});
    ASSERT_EQ(printed.code, kDone) << printed.err;
    const auto answer = nlohmann::json::parse(printed.out);
    EXPECT_EQ(answer["columns"], nlohmann::json({"source", "seed"}));
    std::map<std::string, std::string> told;
    for (const auto& row : answer["rows"]) told[row[0]] = row[1];
    EXPECT_EQ(nlohmann::json(told), seeds);
  }
}

TEST_F(HomeTest, SqlPrintsTablesAndCsv) {
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const std::string sql = "SELECT name, NULL AS none, x'0aff' AS raw, 0.25 AS \"a,b\" FROM v_sweep";
  EXPECT_EQ(Run({"sql", sql}).out, "name  none  raw    a,b\ntiny     -  0aff  0.25\n");
  EXPECT_EQ(Run({"sql", "--csv", sql}).out, "name,none,raw,\"a,b\"\ntiny,,0aff,0.25\n");
  EXPECT_EQ(Run({"sql", "--csv", "SELECT '=1' AS a, -1 AS b, 9e999 AS c"}).out,
            "a,b,c\n'=1,-1,inf\n");
  EXPECT_THAT(Run({"sql"}).out, AllOf(HasSubstr("\nv_accuracy "), HasSubstr("\nv_seed ")));
}

TEST_F(HomeTest, SqlSaysWhatIsWrong) {
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const auto refusal = [this](std::vector<std::string> arguments) {
    const Printed printed = Run(std::move(arguments));
    EXPECT_EQ(printed.code, kRefused);
    EXPECT_EQ(printed.out, "");
    return printed.err;
  };
  EXPECT_EQ(refusal({"sql", "SELECT 1 FROM"}), "noisefloor sql: incomplete input\n");
  EXPECT_EQ(refusal({"sql", "DELETE FROM sweep"}),
            "noisefloor sql: only reads: expected SELECT, WITH, VALUES or EXPLAIN\n");
  EXPECT_EQ(refusal({"sql", "--csv", "--output=json", "SELECT 1"}),
            "noisefloor sql: --csv and --output=json: expected one\n");
  EXPECT_EQ(refusal({"sql", "--coordinator=127.0.0.1:1", "SELECT 1"}),
            "noisefloor sql: reads a data directory where it lies, not over a network: give "
            "--home\n");
}

TEST_F(HomeTest, AFullDiskIsSaidWhereAPersonLooks) {
  const auto holder = Hold(home_);
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const std::vector<std::vector<std::string>> commands = {
      {"status"}, {"status", "s1"}, {"status", "--output=json"}, {"workers"}, {"plan", file_}};
  constexpr char kSays[] = "the coordinator cannot write: writing to the store: ";
  {
    const test::FullDisk full(home_);
    const Printed refused = Run({"submit", file_});
    EXPECT_EQ(refused.code, kRefused);
    EXPECT_THAT(refused.err, HasSubstr("this was not done, and nothing can be kept at present"));
    for (const auto& command : commands) {
      const Printed printed = Run(command);
      EXPECT_EQ(printed.code, kDone) << printed.err;
      EXPECT_THAT(printed.err, HasSubstr(kSays)) << command[0];
      EXPECT_THAT(printed.out, Not(HasSubstr(kSays))) << command[0];
    }
  }
  while (Run({"status"}).err.find(kSays) != std::string::npos) {
  }
  for (const auto& command : commands) {
    EXPECT_THAT(Run(command).err, Not(HasSubstr(kSays))) << command[0];
  }
  EXPECT_THAT(Run({"status"}).out, Not(HasSubstr("s2"))) << "what was refused is not kept later";
}

TEST_F(HomeTest, AHomeThatHasLostItsDatabaseIsNamed) {
  fs::create_directories(home_ + "/blobs/ab");
  std::ofstream(home_ + "/blobs/ab/cd") << "weights";
  const std::vector<std::vector<std::string>> commands = {{"status"}, {"submit", file_}};
  for (const auto& command : commands) {
    const Printed printed = Run(command);
    EXPECT_EQ(printed.code, kRefused) << command[0];
    EXPECT_THAT(printed.err, HasSubstr("noisefloor.db: missing, though files of attempts"));
  }
}

// What a coordinator that was killed had kept last lies in the log of changes alone.
TEST_F(HomeTest, ACopyToReadHasWhatACoordinatorThatWasKilledKeptLast) {
  const std::string killed = line_.home() + "/killed";
  const std::string copy = line_.home() + "/copy";
  fs::create_directories(killed + "/blobs");
  fs::create_directory(copy);
  const auto holder = Hold(home_);
  ASSERT_NE(holder, nullptr);
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  for (const std::string name : {"noisefloor.step", "noisefloor.db", "noisefloor.db-wal"}) {
    if (fs::exists(home_ + "/" + name)) fs::copy_file(home_ + "/" + name, killed + "/" + name);
  }
  ASSERT_GT(fs::file_size(killed + "/noisefloor.db-wal"), 0u);

  const absl::Status copied = CopyToRead(killed, copy);

  ASSERT_TRUE(copied.ok()) << copied;
  EXPECT_THAT(Run({"status"}, copy).out, HasSubstr("tiny"));
}

TEST_F(HomeTest, RunAndServeRefuseAHomeThatIsHeld) {
  const auto holder = Hold(home_);
  ASSERT_NE(holder, nullptr);
  const std::vector<std::vector<std::string>> commands = {{"run", file_},
                                                          {"serve", "--listen=127.0.0.1:0"}};
  for (const auto& command : commands) {
    const Printed printed = Run(command);
    EXPECT_EQ(printed.code, kRefused) << command[0];
    EXPECT_THAT(printed.err, HasSubstr("in use by the coordinator at " + holder->address()));
  }
  EXPECT_THAT(
      Run({"run", file_}).err,
      HasSubstr("; `noisefloor submit " + file_ + " --home=" + home_ +
                "` queues the sweep there, `noisefloor watch --home=" + home_ + "` follows it\n"));
}

TEST_F(HomeTest, AnEmptyServerIsTaughtWhatItTakes) {
  const auto holder = Hold(home_);
  ASSERT_NE(holder, nullptr);
  const std::string server = "--coordinator=" + holder->address();
  EXPECT_EQ(line_.Run({"status", server}).out,
            "no sweeps yet; `noisefloor submit SWEEP.yaml " + server + "` makes one\n");
  EXPECT_EQ(line_.Run({"submit", file_, server}).code, kDone);
}

TEST_F(HomeTest, AnEmptyHomeIsTaughtToRun) {
  Hold(home_).reset();
  EXPECT_EQ(Run({"status"}).out,
            "no sweeps yet; `noisefloor run SWEEP.yaml --home=" + home_ + "` makes one\n");
}

TEST_F(HomeTest, PlanRefusesTheHardwareThatRunWould) {
  for (const std::string hardware : {"[nvidia-none]", "[nvidia-none, nvidia-nil]"}) {
    const std::string path = line_.home() + "/far.yaml";
    std::ofstream(path) << "name: far\nnoise: [control]\nhardware: " << hardware << "\n";
    const Printed plan = Run({"plan", path});
    const Printed run = Run({"run", path});
    EXPECT_EQ(plan.code, run.code) << hardware;
    EXPECT_EQ(plan.code, kRefused);
    EXPECT_THAT(plan.err,
                HasSubstr("planned for `noisefloor run` on this machine, which has cpu-"));
    const std::string why = run.err.substr(run.err.find("this machine has no "));
    EXPECT_THAT(plan.err, ::testing::EndsWith("`run` would refuse this: " + why));
  }
}

TEST_F(HomeTest, PlanSaysWhereItCannotCountTheSteps) {
  const auto plan = [this](const std::string& data, const std::string& epochs) {
    const std::string path = line_.home() + "/counted.yaml";
    std::ofstream(path) << "name: counted\nmodel: {name: mlp}\ndata: {" << data
                        << "}\ntrain: {epochs: " << epochs
                        << ", batch_size: 64}\nnoise: [control]\nhardware: any\nreplicates: 1\n";
    const Printed printed = Run({"plan", path});
    return printed.out + printed.err;
  };
  EXPECT_THAT(plan("name: birds, image_size: 32", "1"),
              HasSubstr("1 cell, 1 member, steps not known before its images are read\n"));
  EXPECT_THAT(plan("name: birds, image_size: 32, train_examples: 640", "1"),
              HasSubstr("1 cell, 1 member, 10 optimiser steps\n"));
  EXPECT_THAT(plan("name: fashion-mnist-sample", "0"), HasSubstr(" 0 optimiser steps\n"));
}

TEST_F(HomeTest, ASweepThatWaitsForNobodySaysSoWhereOneLooks) {
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const std::string nobody = "nothing runs on " + home_ +
                             "; `noisefloor run SWEEP.yaml --home=" + home_ + "` goes on with it\n";
  EXPECT_EQ(Run({"status"}).err, nobody);
  EXPECT_EQ(Run({"status", "s1"}).err, nobody);
  EXPECT_THAT(Run({"explain", "s1c0r0"}).out, ::testing::EndsWith(nobody));
  const auto holder = Hold(home_);
  EXPECT_EQ(Run({"status"}).err, "no worker is connected; `noisefloor-worker --coordinator=" +
                                     holder->address() + "` starts one\n");
}

TEST_F(HomeTest, StatusTellsHowFarAndHowLong) {
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const Printed all = Run({"status"});
  EXPECT_THAT(all.out, StartsWith("sweep  submitted (UTC)      members  done  waiting  progress  "
                                  "elapsed  left     name\n"));
  EXPECT_THAT(all.out, ::testing::EndsWith(" s    unknown  tiny\n"));
  EXPECT_THAT(Run({"status", "s1"}).out,
              ::testing::ContainsRegex("\n0 %, submitted [0-9.]+ s ago, time left unknown\n"));
}

TEST_F(HomeTest, APortInUseIsRefusedInWords) {
  const auto holder = Hold(home_);
  ASSERT_NE(holder, nullptr);
  const Printed printed =
      Run({"serve", "--listen=" + holder->address()}, line_.home() + "/another");
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_EQ(printed.err, "noisefloor serve: cannot listen on " + holder->address() +
                             ": another program has the port; choose another one\n");
}

// Commands whose coordinator cannot be started, for `address` holds the home.
Printed StatusOfAHomeHeldBy(const std::string& address) {
  CommandLine line([&](CoordinatorOptions) -> absl::StatusOr<std::unique_ptr<Coordinator>> {
    absl::Status held = absl::FailedPreconditionError("h: in use by the coordinator at A");
    held.SetPayload(kHolderAddress, absl::Cord(address));
    return held;
  });
  return line.Run({"status"});
}

TEST_F(HomeTest, AHolderThatDoesNotAnswerIsNamed) {
  const test::LoopbackPort port;
  const Printed printed = StatusOfAHomeHeldBy(port.address());
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, AllOf(StartsWith("noisefloor status: h: in use by the coordinator at A"),
                                 HasSubstr("; add --coordinator=ADDR")));
}

TEST_F(HomeTest, ACoordinatorOfAnotherHomeIsNotAsked) {
  const auto other = Hold(home_);
  ASSERT_NE(other, nullptr);
  const Printed printed = StatusOfAHomeHeldBy(other->address());
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("; add --coordinator=ADDR"));
}

TEST_F(HomeTest, WhatIsSubmittedWhereNothingRunsSaysSo) {
  const Printed printed = Run({"submit", file_});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_EQ(printed.err, "nothing runs it here: `noisefloor run " + file_ + " --home=" + home_ +
                             "` or `noisefloor serve --home=" + home_ + "` does\n");
}

TEST_F(HomeTest, AMemberThatIsNotThereIsRefused) {
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  EXPECT_EQ(Run({"explain", "s1c0r0"}).code, kDone);
  const Printed printed = Run({"explain", "s1c9r9"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_EQ(printed.out, "");
  EXPECT_THAT(printed.err, HasSubstr("s1c9r9"));
}

TEST_F(HomeTest, AReportMakesTheFolderItGoesTo) {
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const std::string to = home_ + "/new/folder/study.csv";
  const Printed printed = Run({"report", "--to=" + to});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  EXPECT_TRUE(std::filesystem::exists(to));
}

TEST_F(HomeTest, EveryJsonDocumentHasAVersion) {
  const std::vector<std::vector<std::string>> commands = {
      {"submit", file_},     {"plan", file_},   {"status"},
      {"status", "s1"},      {"members", "s1"}, {"workers"},
      {"cancel", "s1"},      {"watch", "s1"},   {"retry", "s1"},
      {"explain", "s1c0r0"}, {"report"},        {"export", "s1", "--to=" + home_ + "/to"},
      {"version"},           {"data", "list"}};
  for (std::vector<std::string> command : commands) {
    command.push_back("--output=json");
    const Printed printed = Run(command);
    // It was cancelled the line before.
    ASSERT_EQ(printed.code, command[0] == "watch" ? kFailedMembers : kDone)
        << command[0] << printed.err;
    const auto json = nlohmann::json::parse(printed.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << command[0] << printed.out;
    const char* key = command[0] == "report" ? "study_version" : "version";
    EXPECT_TRUE(json.contains(key)) << command[0];
  }
}

}  // namespace
}  // namespace noisefloor::cli
