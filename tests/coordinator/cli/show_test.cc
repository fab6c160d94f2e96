// The sweep file back: byte for byte, or with every default filled in and still the same sweep.
#include <cstdlib>
#include <filesystem>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/trainer_protocol/fields.h"
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
