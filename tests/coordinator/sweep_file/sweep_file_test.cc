// What a sweep file means, and where the coordinator's mistakes are in it. Broken files have a
// test of their own.
#include "coordinator/sweep_file/sweep_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/noise_source.h"
#include "common/files/atomic_file.h"
#include "common/rpc/status.h"
#include "common/trainer_protocol/fields.h"

namespace noisefloor::sweep_file {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

v1::Sweep Read(const std::string& text) {
  const absl::StatusOr<SweepFile> file = ParseSweep(text, "s.yaml", OwnSettings);
  EXPECT_TRUE(file.ok()) << Message(file.status());
  return file.ok() ? file->sweep : v1::Sweep();
}

const v1::Value* Setting(const v1::Sweep& sweep, const std::string& path) {
  for (const v1::Setting& setting : sweep.training()) {
    if (setting.path() == path) return &setting.value();
  }
  return nullptr;
}

constexpr char kWhole[] = R"(# Everything at once.
name: whole.thing_1-x
seed: 18446744073709551615
model: {name: mlp, batch_norm: false, hidden: 64}
data:
  name: cifar10
train:
  epochs: 3
  optimizer:
    name: sgd
    learning_rate: 1e-3
    momentum: 0
  schedule: {name: step, milestones: [1, 2]}
evaluate: {predictions: none}
axes:
  train.optimizer.learning_rate: [0.1, 5., .5, +1]
  zip:
    train.batch_size: [64, 128]
    model.name: [mlp, small_cnn]
noise:
  - control
  - {name: init only, init: free}
  - {name: quiet algo, base: algo, augment: fixed, poke: off}
  - {name: same}
  - {name: impl, blocks: 3, replicates: 2}
  - {name: order only, data_order: free, replicates: 6}
hardware: [cpu-intel-avx2, cpu-intel-sse]
stack: torch-2.11-cu130
replicates: 10
blocks: 2
reference_accuracy: 0.85
notes: >
  two
  lines
tags: {team: vision, year: 2026}
)";

TEST(SweepFileTest, EveryKeyArrivesInTheSweep) {
  const v1::Sweep sweep = Read(kWhole);

  EXPECT_EQ(sweep.name(), "whole.thing_1-x");
  EXPECT_EQ(sweep.seed(), 18446744073709551615u);
  EXPECT_EQ(sweep.replicates(), 10u);
  EXPECT_EQ(sweep.blocks(), 2u);
  EXPECT_EQ(sweep.reference_accuracy(), 0.85);
  EXPECT_EQ(sweep.notes(), "two lines\n");
  EXPECT_EQ(sweep.tags().at("year"), "2026");
  EXPECT_THAT(sweep.stacks(), ElementsAre("torch-2.11-cu130"));
  EXPECT_EQ(sweep.hardware().kind(), v1::HardwareChoice::KIND_LIST);
  EXPECT_THAT(sweep.hardware().classes(), ElementsAre("cpu-intel-avx2", "cpu-intel-sse"));
}

TEST(SweepFileTest, UntilArrivesAndBringsAPilotWhereNoneIsStated) {
  const std::string_view until = "until: {figure: churn, half_width: 0.5%, most: 60}\n";
  const v1::Sweep sweep = Read(fmt::format("name: a\nnoise: [algo]\n{}", until));
  EXPECT_EQ(sweep.until().figure(), "churn");
  EXPECT_EQ(sweep.until().half_width(), 0.005);
  EXPECT_EQ(sweep.until().most(), 60u);
  EXPECT_EQ(sweep.replicates(), 10u);
  EXPECT_EQ(Read(fmt::format("name: a\nnoise: [algo]\nreplicates: 7\n{}", until)).replicates(), 7u);
  EXPECT_FALSE(Read(kWhole).has_until());
}

TEST(SweepFileTest, SettingsHaveTheKindOfTheTable) {
  const v1::Sweep sweep = Read(kWhole);

  ASSERT_NE(Setting(sweep, "train.optimizer.learning_rate"), nullptr);
  EXPECT_EQ(Setting(sweep, "train.optimizer.learning_rate")->number(), 1e-3);
  ASSERT_NE(Setting(sweep, "train.optimizer.momentum"), nullptr);
  EXPECT_EQ(Setting(sweep, "train.optimizer.momentum")->kind_case(), v1::Value::kNumber);
  ASSERT_NE(Setting(sweep, "train.epochs"), nullptr);
  EXPECT_EQ(Setting(sweep, "train.epochs")->integer(), 3);
  ASSERT_NE(Setting(sweep, "model.batch_norm"), nullptr);
  EXPECT_EQ(Setting(sweep, "model.batch_norm")->kind_case(), v1::Value::kBoolean);
  ASSERT_NE(Setting(sweep, "train.schedule.milestones"), nullptr);
  EXPECT_THAT(Setting(sweep, "train.schedule.milestones")->list().values(), ElementsAre(1, 2));
}

TEST(SweepFileTest, AxesAreAProductAndZipWalksInStep) {
  const v1::Sweep sweep = Read(kWhole);

  ASSERT_EQ(sweep.axes_size(), 2);
  ASSERT_EQ(sweep.axes(0).columns_size(), 1);
  EXPECT_EQ(sweep.axes(0).columns(0).values(1).number(), 5.0);
  EXPECT_EQ(sweep.axes(0).columns(0).values(3).number(), 1.0);
  ASSERT_EQ(sweep.axes(1).columns_size(), 2);
  EXPECT_EQ(sweep.axes(1).columns(0).path(), "train.batch_size");
  EXPECT_EQ(sweep.axes(1).columns(0).values(1).integer(), 128);
  EXPECT_EQ(sweep.axes(1).columns(1).values(1).text(), "small_cnn");
}

std::map<std::string, std::vector<uint32_t>> LevelsOf(const v1::NoisePlan& plan) {
  std::map<std::string, std::vector<uint32_t>> levels;
  for (const v1::SourceRule& rule : plan.rules()) {
    levels[rule.source()] = {rule.levels().begin(), rule.levels().end()};
    EXPECT_EQ(rule.state(), v1::SOURCE_STATE_FREE);
  }
  return levels;
}

TEST(SweepFileTest, ACrossingHasEveryCombinationOnceAndTheLastSourceWalksFastest) {
  const v1::Sweep sweep = Read(
      "name: a\nreplicates: 5\nnoise:\n"
      "  - {name: cube, cross: [init, data_order, augment], levels: 2, blocks: 6}\n"
      "  - {name: grid, cross: [data_order, init], levels: [2, 3], replicates: 12, base: impl}\n"
      "  - {name: latin, init: {levels: [0, 1, 2]}, data_order: {levels: [0, 0, 0, 1, 1, 1]}}\n");

  ASSERT_EQ(sweep.noise_size(), 3);
  EXPECT_EQ(sweep.noise(0).replicates(), 8u) << "all combinations, whatever the sweep says";
  EXPECT_EQ(sweep.noise(0).blocks(), 6u);
  EXPECT_THAT(LevelsOf(sweep.noise(0)),
              UnorderedElementsAre(Pair("init", ElementsAre(0, 0, 0, 0, 1, 1, 1, 1)),
                                   Pair("data_order", ElementsAre(0, 0, 1, 1)),
                                   Pair("augment", ElementsAre(0, 1))))
      << "as axes do";
  EXPECT_EQ(sweep.noise(1).replicates(), 12u);
  EXPECT_EQ(sweep.noise(1).base(), "impl");
  EXPECT_THAT(LevelsOf(sweep.noise(1)),
              UnorderedElementsAre(Pair("data_order", ElementsAre(0, 0, 0, 1, 1, 1)),
                                   Pair("init", ElementsAre(0, 1, 2))));
  EXPECT_EQ(sweep.noise(2).replicates(), 0u);
  EXPECT_THAT(LevelsOf(sweep.noise(2)),
              UnorderedElementsAre(Pair("init", ElementsAre(0, 1, 2)),
                                   Pair("data_order", ElementsAre(0, 0, 0, 1, 1, 1))));
}

// A base, every source changed alone, all but every source changed.
TEST(SweepFileTest, PickAndFreezeChangesOneSourceAndAllButOne) {
  const v1::Sweep sweep = Read(
      "name: a\nnoise:\n"
      "  - {name: pf, pick_freeze: [init, data_order, augment], blocks: 7}\n"
      "  - {name: twice, pick_freeze: [init, data_order, augment], repeats: 2, base: impl}\n");

  EXPECT_EQ(sweep.noise(0).replicates(), 7u);
  EXPECT_EQ(sweep.noise(0).blocks(), 7u);
  EXPECT_THAT(LevelsOf(sweep.noise(0)),
              UnorderedElementsAre(Pair("init", ElementsAre(0, 1, 0, 0, 0, 1, 1)),
                                   Pair("data_order", ElementsAre(0, 0, 1, 0, 1, 0, 1)),
                                   Pair("augment", ElementsAre(0, 0, 0, 1, 1, 1, 0))));
  EXPECT_EQ(sweep.noise(1).replicates(), 8u);
  EXPECT_THAT(LevelsOf(sweep.noise(1)),
              Contains(Pair("init", ElementsAre(0, 0, 1, 0, 0, 0, 1, 1))));
}

TEST(SweepFileTest, ADesignIsOnePlanMore) {
  const v1::Sweep alone =
      Read("name: a\ndesign: {cross: [init, data_order], levels: 2, blocks: 6}\n");
  ASSERT_EQ(alone.noise_size(), 1);
  EXPECT_EQ(alone.noise(0).name(), "design");
  EXPECT_EQ(alone.noise(0).replicates(), 4u);
  EXPECT_EQ(alone.noise(0).blocks(), 6u);
  const v1::Sweep beside = Read(
      "name: a\ndesign: {name: cube, cross: [init, data_order], levels: 2}\nnoise: [control]\n");
  ASSERT_EQ(beside.noise_size(), 2);
  EXPECT_EQ(beside.noise(0).name(), "control");
  EXPECT_EQ(beside.noise(1).name(), "cube");
}

TEST(SweepFileTest, NoisePlansKeepTheirBaseAndRules) {
  const v1::Sweep sweep = Read(kWhole);

  ASSERT_EQ(sweep.noise_size(), 6);
  EXPECT_EQ(sweep.noise(0).name(), "control");
  EXPECT_EQ(sweep.noise(0).rules_size(), 0);
  EXPECT_EQ(sweep.noise(1).rules(0).source(), "init");
  EXPECT_EQ(sweep.noise(1).rules(0).state(), v1::SOURCE_STATE_FREE);
  EXPECT_EQ(sweep.noise(2).base(), "algo");
  EXPECT_EQ(sweep.noise(2).rules(1).state(), v1::SOURCE_STATE_OFF);
  EXPECT_EQ(sweep.noise(3).base(), "control") << "or its name would be looked up";
}

TEST(SweepFileTest, APlanMaySayHowOftenItIsRepeated) {
  const v1::Sweep sweep = Read(kWhole);

  ASSERT_EQ(sweep.noise_size(), 6);
  EXPECT_EQ(sweep.noise(0).replicates(), 0u) << "the sweep's";
  EXPECT_EQ(sweep.noise(0).blocks(), 0u);
  EXPECT_EQ(sweep.noise(4).name(), "impl");
  EXPECT_TRUE(sweep.noise(4).base().empty()) << "still the built-in plan";
  EXPECT_EQ(sweep.noise(4).blocks(), 3u);
  EXPECT_EQ(sweep.noise(4).replicates(), 2u);
  EXPECT_EQ(sweep.noise(5).rules(0).source(), "data_order");
  EXPECT_EQ(sweep.noise(5).replicates(), 6u);
  EXPECT_EQ(sweep.noise(5).blocks(), 0u);
}

TEST(SweepFileTest, WhatIsLeftOutHasADefault) {
  const v1::Sweep sweep = Read("name: short\nnoise: [control]\n");

  EXPECT_EQ(sweep.seed(), 0u);
  EXPECT_EQ(sweep.replicates(), 1u);
  EXPECT_EQ(sweep.blocks(), 1u);
  EXPECT_EQ(sweep.hardware().kind(), v1::HardwareChoice::KIND_ALL);
  EXPECT_EQ(sweep.stacks_size(), 0);
  EXPECT_EQ(sweep.training_size(), 0);
  EXPECT_FALSE(sweep.has_reference_accuracy());
}

TEST(SweepFileTest, WhatIsAsLargeAsItMayBeIsTaken) {
  const v1::Sweep sweep = Read(
      "name: a\nreplicates: 100000\nblocks: 10000\nreference_accuracy: 1\n"
      "noise: [control, {name: own, init: {levels: [0, 99999]}}]\n"
      "tags: {empty: \"\", long: " +
      std::string(200, 'x') + "}\nnotes: " + std::string(10000, 'n') + "\n");

  EXPECT_EQ(sweep.replicates(), 100000u);
  EXPECT_EQ(sweep.blocks(), 10000u);
  EXPECT_EQ(sweep.reference_accuracy(), 1);
  ASSERT_EQ(sweep.noise_size(), 2);
  EXPECT_THAT(sweep.noise(1).rules(0).levels(), ElementsAre(0, 99999));
  EXPECT_EQ(sweep.tags().at("empty"), "");
  EXPECT_EQ(sweep.tags().at("long").size(), 200u);
  EXPECT_EQ(sweep.notes().size(), 10000u);
}

// Of one to four bytes each, with the lowest and the highest that such a letter begins with.
TEST(SweepFileTest, LettersOfAnyLanguageAreKept) {
  const std::string letters = "z \u00a9 \u00e4 \u07ff \u0e01 \u20ac \uffe6 \U0001f600 \U0010fffd";
  const std::string file = "name: a\nnoise: [control]\nnotes: " + letters;

  EXPECT_EQ(Read(file + "\n").notes(), letters);
  EXPECT_EQ(Read(file).notes(), letters) << "the last letter is the end of the file";
}

TEST(SweepFileTest, OneClassNeedsNoList) {
  const v1::Sweep sweep = Read("name: a\nnoise: [control]\nhardware: cpu-amd-avx2\n");

  EXPECT_EQ(sweep.hardware().kind(), v1::HardwareChoice::KIND_LIST);
  EXPECT_THAT(sweep.hardware().classes(), ElementsAre("cpu-amd-avx2"));
}

TEST(SweepFileTest, AllAndAnyAreWordsUnlessInAList) {
  EXPECT_EQ(Read("name: a\nnoise: [control]\nhardware: all\n").hardware().kind(),
            v1::HardwareChoice::KIND_ALL);
  EXPECT_EQ(Read("name: a\nnoise: [control]\nhardware: any\n").hardware().kind(),
            v1::HardwareChoice::KIND_ANY);
  EXPECT_EQ(
      Read("{\"name\": \"a\", \"noise\": [\"control\"], \"hardware\": \"any\"}").hardware().kind(),
      v1::HardwareChoice::KIND_ANY);
  EXPECT_THAT(Read("name: a\nnoise: [control]\nhardware: ['any']\n").hardware().classes(),
              ElementsAre("any"));
}

TEST(SweepFileTest, ADottedKeyIsTheSameAsNestedOnes) {
  const v1::Sweep sweep = Read("name: a\nnoise: [control]\ntrain: {optimizer.name: adam}\n");

  ASSERT_NE(Setting(sweep, "train.optimizer.name"), nullptr);
  EXPECT_EQ(Setting(sweep, "train.optimizer.name")->text(), "adam");
}

TEST(SweepFileTest, TheCoordinatorsMistakesGetTheirPlaces) {
  const absl::StatusOr<SweepFile> file = ParseSweep(kWhole, "s.yaml", OwnSettings);
  ASSERT_TRUE(file.ok());
  v1::BadSweep bad;
  const auto add = [&](const char* field, const char* description) {
    bad.add_violations()->set_field(field);
    bad.mutable_violations(bad.violations_size() - 1)->set_description(description);
  };
  add("hardware[1]", "no worker has cpu-intel-sse");
  add("axes.train.batch_size[1]", "128 is not divisible");
  add("noise[2].augment", "cannot");
  add("train.optimizer.epsilon", "not written in the file");
  add("blocks.deep[3].unknown", "inside something known");
  add("unheard.of", "nowhere");

  const absl::Status status = WithPlaces(BadSweepError(bad), *file);

  EXPECT_EQ(Message(status),
            "s.yaml:1:1: unheard.of: nowhere\n"
            "s.yaml:9:3: train.optimizer.epsilon: not written in the file\n"
            "s.yaml:18:28: axes.train.batch_size[1]: 128 is not divisible\n"
            "s.yaml:23:45: noise[2].augment: cannot\n"
            "s.yaml:27:28: hardware[1]: no worker has cpu-intel-sse\n"
            "s.yaml:30:9: blocks.deep[3].unknown: inside something known");
}

TEST(SweepFileTest, AnotherErrorOfTheCoordinatorStaysAsItIs) {
  const absl::Status status = MakeError(absl::StatusCode::kUnavailable, "gone");

  EXPECT_EQ(WithPlaces(status, SweepFile()), status);
}

TEST(SweepFileTest, AMissingFileIsNamed) {
  const auto file = ReadSweepFile("/nowhere/s.yaml", OwnSettings);

  EXPECT_EQ(file.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(file.status()), HasSubstr("/nowhere/s.yaml"));
}

TEST(SweepFileTest, TheExampleStudiesAreRead) {
  const char* root = std::getenv("NOISEFLOOR_SOURCE");
  ASSERT_NE(root, nullptr);
  int studies = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(root) + "/deploy/sweeps")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto file = ReadSweepFile(entry.path().string(), OwnSettings);
    EXPECT_TRUE(file.ok()) << Message(file.status());
    ++studies;
  }
  EXPECT_GE(studies, 4);
}

TEST(SweepFileTest, AMeasurementTimesAHundredStepsUnlessItSaysOtherwise) {
  const auto steps_of = [](const std::string& more) {
    const auto file =
        ParseSweep("name: a\nkind: measure\nnoise: [impl]\n" + more, "a.yaml", OwnSettings);
    EXPECT_TRUE(file.ok()) << Message(file.status());
    std::vector<int64_t> steps;
    for (const v1::Setting& setting : file->sweep.training()) {
      if (setting.path() == "measure.steps") steps.push_back(setting.value().integer());
    }
    return steps;
  };
  EXPECT_EQ(steps_of(""), std::vector<int64_t>{100});
  EXPECT_EQ(steps_of("measure: {steps: 7}\n"), std::vector<int64_t>{7});
  EXPECT_EQ(steps_of("measure: {warmup: 7}\n"), std::vector<int64_t>{100});
  EXPECT_TRUE(ParseSweep("name: a\nkind: train\nnoise: [impl]\n", "a.yaml", OwnSettings).ok());
}

// deploy/sweeps/README.md: what a person may read instead of the code.
class ReferenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("NOISEFLOOR_SOURCE");
    ASSERT_NE(root, nullptr) << "run through ctest, which sets NOISEFLOOR_SOURCE";
    const auto text = ReadFile(std::string(root) + "/deploy/sweeps/README.md", 1 << 20);
    ASSERT_TRUE(text.ok()) << Message(text.status());
    text_ = *text;
  }

  // What stands between backquotes at the beginning of a row.
  std::vector<std::string> FirstCells() const {
    std::vector<std::string> cells;
    const std::regex row(R"(\n\| `([^`]+)` \|)");
    for (std::sregex_iterator it(text_.begin(), text_.end(), row), end; it != end; ++it) {
      cells.push_back((*it)[1].str());
    }
    return cells;
  }

  std::string text_;
};

// "an integer from 0 to 100000", as a refusal says it.
std::string AcceptedBy(const Field& field) {
  Specification scratch;
  const bool boolean = field.rule.kind == SettingKind::kBool;
  const SettingValue wrong = boolean ? SettingValue(std::string("?")) : SettingValue(true);
  const std::string refusal = Message(SetField(scratch, field.rule.path, wrong));
  const std::string before = ": expected ";
  const size_t begin = refusal.find(before) + before.size();
  return refusal.substr(begin, refusal.rfind(", got ") - begin);
}

TEST_F(ReferenceTest, HasEverySettingWithItsLimitsDefaultAndHelp) {
  for (const Field& field : AllFields()) {
    const std::string value = ToText(field.get(Specification()));
    const std::string row =
        fmt::format("\n| `{}` | {} | {} | {}", field.rule.path, AcceptedBy(field),
                    value.empty() ? "empty" : "`" + value + "`", field.rule.help);

    EXPECT_NE(text_.find(row), std::string::npos) << "deploy/sweeps/README.md lacks" << row;
  }
}

TEST_F(ReferenceTest, HasNoSettingThatIsNotThere) {
  for (const std::string& cell : FirstCells()) {
    const bool is_path = std::regex_match(cell, std::regex(R"([a-z_]+\.[a-z0-9_.]+)"));
    if (!is_path) continue;
    EXPECT_NE(FindField(cell), nullptr) << cell;
  }
}

TEST_F(ReferenceTest, HasEveryNoiseSource) {
  for (const NoiseSource source : kAllNoiseSources) {
    const std::string row =
        fmt::format("\n| `{}` | {} |", Name(source), IsPhysical(source) ? "physical" : "seeded");
    EXPECT_NE(text_.find(row), std::string::npos) << row;
  }
}

TEST_F(ReferenceTest, ItsExampleIsReadAndLeavesNoKeyOut) {
  const std::string fence = "```yaml\n";
  const size_t begin = text_.find(fence) + fence.size();
  const v1::Sweep sweep = Read(text_.substr(begin, text_.find("```", begin) - begin));

  EXPECT_NE(sweep.seed(), 0u);
  EXPECT_THAT(sweep.notes(), Not(IsEmpty()));
  EXPECT_THAT(sweep.tags(), Not(IsEmpty()));
  EXPECT_EQ(sweep.axes_size(), 2) << "one of a setting, one zipped";
  EXPECT_EQ(sweep.axes(1).columns_size(), 2);
  EXPECT_EQ(sweep.hardware().kind(), v1::HardwareChoice::KIND_LIST);
  EXPECT_THAT(sweep.stacks(), Not(IsEmpty()));
  EXPECT_GT(sweep.replicates(), 1u);
  EXPECT_GT(sweep.blocks(), 1u);
  for (const char* section : {"model.", "data.", "augment.", "train.", "sources.", "evaluate."}) {
    EXPECT_TRUE(std::ranges::any_of(sweep.training(), [&](const v1::Setting& setting) {
      return setting.path().starts_with(section);
    })) << section;
  }
}

TEST_F(ReferenceTest, NamesTheExampleStudies) {
  const std::string folder = std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/deploy/sweeps";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_THAT(text_, HasSubstr("](" + name + ")"));
  }
}

}  // namespace
}  // namespace noisefloor::sweep_file
