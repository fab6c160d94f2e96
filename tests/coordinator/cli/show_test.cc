// The sweep file back: byte for byte, or with every default filled in and still the same sweep.
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/trainer_protocol/fields.h"
#include "coordinator/cli/duration.h"
#include "coordinator/cli/output.h"
#include "coordinator/rpc/convert.h"
#include "coordinator/sweep/resolved_file.h"
#include "coordinator/sweep_file/sweep_file.h"
#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;

// Every stack has our settings here.
absl::StatusOr<SettingsSchemaRef> AnySettings(const std::string&) { return OwnSchema(); }

// What a sweep file means; its classes are those of the file or, for `all`, these two.
sweep::Sweep Meaning(const std::string& text) {
  const absl::StatusOr<sweep_file::SweepFile> file =
      sweep_file::ParseSweep(text, "s.yaml", AnySettings);
  EXPECT_TRUE(file.ok()) << Message(file.status()) << "\n" << text;
  if (!file.ok()) return {};
  std::vector<sweep::Problem> problems;
  const sweep::SweepRequest request = SweepRequestFrom(file->sweep, problems);
  EXPECT_TRUE(problems.empty());
  auto resolved =
      sweep::Resolve(request, {.classes = {"cpu-intel-avx2", "cpu-intel-sse"},
                               .stacks = {{"torch-2.11-cpu", OwnSchema()}, {"1.0", OwnSchema()}}});
  if (const auto* found = std::get_if<std::vector<sweep::Problem>>(&resolved)) {
    ADD_FAILURE() << found->front().field << ": " << found->front().message << "\n" << text;
    return {};
  }
  return std::get<sweep::Sweep>(resolved);
}

void ExpectSame(const std::string& text) {
  const sweep::Sweep sweep = Meaning(text);
  const std::string resolved = sweep::ResolvedFile(sweep);
  const sweep::Sweep again = Meaning(resolved);

  EXPECT_EQ(sweep::CanonicalText(again), sweep::CanonicalText(sweep)) << resolved;
  EXPECT_EQ(again.notes, sweep.notes);
  EXPECT_EQ(again.tags, sweep.tags);
  EXPECT_EQ(sweep::ResolvedFile(again), resolved);
}

TEST(Status, SaysHowManyEndInAnHourAndWhetherMembersAreLacking) {
  CannedAnswers answers;
  answers.sweep.set_id(3);
  answers.sweep.set_failed(1);
  answers.sweep.set_waiting(1);
  answers.sweep.set_members_per_hour(0.33);
  CommandLine going(answers);
  const Printed slow = going.Run({"status", "s3"});
  EXPECT_EQ(slow.code, kDone) << slow.err;
  EXPECT_THAT(slow.out, HasSubstr("0.3 members an hour end at present"));
  answers.sweep.set_members_per_hour(12.6);
  EXPECT_THAT(CommandLine(answers).Run({"status", "s3"}).out, HasSubstr("\n13 members an hour"));
  answers.sweep.set_waiting(0);
  EXPECT_EQ(CommandLine(answers).Run({"status", "s3"}).code, kFailedMembers);
}

TEST(Status, SaysHowFarItIsWhenItEndsAndWhatItUses) {
  CannedAnswers answers;
  answers.sweep.set_id(3);
  answers.sweep.set_cells(2);
  answers.sweep.set_done(1);
  answers.sweep.set_waiting(1);
  answers.sweep.set_retries(1);
  answers.sweep.set_progress(1.5);
  answers.sweep.set_mean_member_seconds(90);
  answers.sweep.set_expected_seconds_left(7260);
  answers.sweep.set_weight(2);
  answers.sweep.set_gpu_hours(10);
  answers.sweep.set_gpu_hours_used(2.5);
  const std::string going = CommandLine(answers).Run({"status", "s3"}).out;
  EXPECT_THAT(going, HasSubstr("\n2 members: 1 done, 1 waiting in 2 cells; 1 retry\n75 %, "));
  EXPECT_THAT(going, HasSubstr(" ago, about 2 h 01 m left\n"));
  EXPECT_THAT(going, HasSubstr("\na member trains 1 m 30 s on average\n"));
  EXPECT_THAT(going, HasSubstr("\nweight 2; 2.5 of 10 GPU hours\n"));
  answers.sweep.set_paused(true);
  EXPECT_THAT(CommandLine(answers).Run({"status", "s3"}).out, HasSubstr(" ago, paused\n"));
}

TEST(SummaryJson, HasEachFigureUnderItsName) {
  v1::SweepSummary sweep;
  sweep.set_id(1);
  sweep.set_name("tiny");
  sweep.set_submitted_unix_seconds(2);
  sweep.set_cells(3);
  sweep.set_waiting(4);
  sweep.set_leased(5);
  sweep.set_done(6);
  sweep.set_diverged(7);
  sweep.set_failed(8);
  sweep.set_cancelled(9);
  sweep.set_retries(10);
  sweep.set_progress(11.5);
  sweep.set_mean_member_seconds(12.5);
  sweep.set_owner("ada");
  sweep.set_priority(-13);
  sweep.set_weight(14);
  sweep.set_paused(true);
  sweep.set_max_failures(15);
  sweep.set_gpu_hours(16.5);
  sweep.set_gpu_hours_used(17.5);
  sweep.set_members_per_hour(18.5);
  sweep.set_expected_seconds_left(19.5);
  sweep.set_specification_sha256("5bec");
  (*sweep.mutable_limits())["cpu"] = 20;
  sweep.add_hardware("cpu");
  const std::pair<const char*, Json> wanted[] = {{"id", "s1"},
                                                 {"name", "tiny"},
                                                 {"submitted_unix_seconds", 2},
                                                 {"cells", 3},
                                                 {"retries", 10},
                                                 {"progress", 11.5},
                                                 {"ended", false},
                                                 {"undecided", false},
                                                 {"mean_member_seconds", 12.5},
                                                 {"specification_sha256", "5bec"},
                                                 {"owner", "ada"},
                                                 {"priority", -13},
                                                 {"weight", 14},
                                                 {"paused", true},
                                                 {"max_failures", 15},
                                                 {"archived", false},
                                                 {"gpu_hours", 16.5},
                                                 {"gpu_hours_used", 17.5},
                                                 {"members_per_hour", 18.5},
                                                 {"expected_seconds_left", 19.5}};
  const Json json = SummaryJson(sweep);
  for (const auto& [name, value] : wanted) EXPECT_EQ(json.at(name), value) << name;
  EXPECT_EQ(json.at("members").dump(),
            R"({"total":39,"waiting":4,"leased":5,"done":6,"diverged":7,"failed":8,)"
            R"("cancelled":9})");
  EXPECT_EQ(json.at("limits").dump(), R"({"cpu":20})");
  EXPECT_EQ(json.at("hardware").dump(), R"(["cpu"])");
  sweep.Clear();
  sweep.set_archived(true);
  sweep.set_undecided(true);
  const Json other = SummaryJson(sweep);
  EXPECT_EQ(other.at("archived"), true);
  EXPECT_EQ(other.at("paused"), false);
  EXPECT_EQ(other.at("undecided"), true);
  EXPECT_EQ(other.at("ended"), false) << "more may be decided";
  EXPECT_EQ(other.at("weight"), 1) << "an older coordinator says none";
}

TEST(SecondsOf, AreANumberAndItsUnit) {
  const auto seconds = [](std::string_view text) { return SecondsOf("--t", text).value_or(-1); };
  EXPECT_EQ(seconds("2d"), 172800);
  EXPECT_EQ(seconds("3h"), 10800);
  EXPECT_EQ(seconds("4m"), 240);
  EXPECT_EQ(seconds("5s"), 5);
  EXPECT_EQ(seconds("0s"), 0);
  EXPECT_EQ(seconds("36500d"), 3153600000) << "a hundred years";
  for (const char* wrong : {"", "d", "5", "-1s", "1.5h", "1w", "1 h", "36501d",
                            "9223372036854775807h", "99999999999999999999s"}) {
    EXPECT_EQ(seconds(wrong), -1) << wrong;
  }
  EXPECT_EQ(Message(SecondsOf("--t", "1w").status()), "--t=1w: expected a time such as 30d or 12h");
}

TEST(DurationText, HasTheTwoLargestUnits) {
  EXPECT_EQ(DurationText(9.94), "9.9 s");
  EXPECT_EQ(DurationText(59.4), "59 s");
  EXPECT_EQ(DurationText(59.6), "1 m 00 s");
  EXPECT_EQ(DurationText(3599), "59 m 59 s");
  EXPECT_EQ(DurationText(3700), "1 h 01 m");
  EXPECT_EQ(DurationText(90000), "25 h 00 m");
}

TEST(ResolvedFile, OfEveryShippedSweepIsTheSameSweep) {
  const char* root = std::getenv("NOISEFLOOR_SOURCE");
  ASSERT_NE(root, nullptr);
  int sweeps = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(root) + "/deploy/sweeps")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto text = ReadFile(entry.path().string(), 1 << 20);
    ASSERT_TRUE(text.ok());
    ExpectSame(*text);
    ++sweeps;
  }
  EXPECT_GE(sweeps, 4);
}

TEST(ResolvedFile, KeepsWhatIsHardToWrite) {
  ExpectSame(R"(name: a
seed: 18446744073709551615
notes: "two\nlines, a \\ and a \" and a \t, ünicode: # not a comment"
tags: {"a: b": "- c", empty: "", "true": "null"}
model: {name: mlp, batch_norm: true, dropout: 0.1}
data: {identity: "", train_examples: 2048}
train:
  optimizer: {learning_rate: 0.30000000000000004, momentum: 0.5, nesterov: true}
  schedule: {name: step, milestones: [1], factor: 1e-30}
sources: {poke.parameter: "dense1.weight", threads.choices: [1, 2]}
axes:
  model.hidden: [64, 32]
  zip:
    - {train.batch_size: [64, 128], train.optimizer.learning_rate: [1e30, 1]}
    - {model.init: [glorot_uniform, he_normal]}
    - {train.schedule.milestones: [[1], [1, 2]]}
noise:
  - control
  - {name: "free, of: {all}", base: algo, threads: free, blocks: 2}
  - {name: "null", init: free, replicates: 7}
  - {name: same}
  - {name: algo+impl, blocks: 3, replicates: 2}
hardware: ["any", "null"]
stacks: [torch-2.11-cpu, "1.0"]
replicates: 3
reference_accuracy: 0.8125
)");
}

TEST(ResolvedFile, NamesTheClassesThatAllMeantAndLeavesAnyOpen) {
  const std::string all = sweep::ResolvedFile(Meaning("name: a\nnoise: [algo]\n"));
  EXPECT_THAT(all, HasSubstr("hardware: [\"cpu-intel-avx2\", \"cpu-intel-sse\"]\n"));
  EXPECT_THAT(all, HasSubstr("train:\n  epochs: 2\n"));
  EXPECT_THAT(all, HasSubstr("  optimizer:\n    name: \"sgd\"\n"));
  EXPECT_THAT(all, HasSubstr("noise:\n  - {name: \"algo\", blocks: 1, replicates: 1}\n"));
  ExpectSame("name: a\nnoise: [algo]\nhardware: any\n");
}

TEST(Show, PrintsTheFileByteForByte) {
  CannedAnswers answers;
  answers.file = "# mine\r\nname:   a\n\n\n";
  CommandLine line(answers);

  const Printed printed = line.Run({"show", "s1"});

  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_EQ(printed.out, answers.file);
  EXPECT_EQ(printed.err, "");
  EXPECT_EQ(line.Run({"show", "s1", "--resolved"}).out, answers.resolved_file);
}

TEST(Show, OfASweepWithoutAFilePrintsWhatItMeansAndSaysSo) {
  CannedAnswers answers;
  answers.file = "";
  CommandLine line(answers);

  const Printed printed = line.Run({"show", "s1"});

  EXPECT_EQ(printed.out, answers.resolved_file);
  EXPECT_EQ(printed.err, "s1 was submitted without a file; this one means the same\n");
}

}  // namespace
}  // namespace noisefloor::cli
