// What must fit together of precision, optimiser and schedule, with the exact words.
#include "common/trainer_protocol/check_arithmetic.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/factors.h"
#include "common/trainer_protocol/fields.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;

using Changes = std::vector<std::pair<std::string, SettingValue>>;

std::vector<std::string> ProblemsOf(const Changes& changes, const std::string& hardware = "") {
  Specification specification;
  specification.hardware_class = hardware;
  for (const auto& [path, value] : changes) {
    EXPECT_EQ(Message(SetField(specification, path, value)), "");
  }
  std::vector<std::string> texts;
  std::vector<FieldProblem> problems;
  CheckArithmetic(specification, problems);
  EXPECT_EQ(CheckTogether(specification).size(), problems.size()) << "it is a part of that";
  for (const FieldProblem& problem : problems) {
    texts.push_back(problem.path + ": " + problem.message);
  }
  return texts;
}

std::pair<std::string, SettingValue> Text(const std::string& path, const std::string& value) {
  return {"train." + path, value};
}
std::pair<std::string, SettingValue> Number(const std::string& path, double value) {
  return {"train." + path, value};
}

TEST(CheckArithmeticTest, EveryOptimiserScheduleAndPrecisionCanBeAskedFor) {
  for (const std::string name : {"sgd", "adam", "adamw"}) {
    EXPECT_THAT(ProblemsOf({Text("optimizer.name", name)}), ElementsAre()) << name;
  }
  for (const std::string name : {"adam", "adamw"}) {
    EXPECT_THAT(ProblemsOf({Text("optimizer.name", name), Text("optimizer.formula", "keras"),
                            Number("optimizer.beta1", 0.5), Number("optimizer.beta2", 0.5),
                            Number("optimizer.epsilon", 0.5), Number("optimizer.weight_decay", 1),
                            Text("optimizer.decayed", "matrices")}),
                ElementsAre());
  }
  for (const std::string name : {"constant", "cosine", "staircase", "polynomial", "triangular"}) {
    EXPECT_THAT(ProblemsOf({Text("schedule.name", name)}), ElementsAre()) << name;
  }
  const auto schedule = [](const std::string& name, Changes read) {
    read.push_back(Text("schedule.name", name));
    return ProblemsOf(read);
  };
  const Changes milestones = {{"train.schedule.milestones", std::vector<int64_t>{1, 2}},
                              Number("schedule.factor", 0.5)};
  EXPECT_THAT(schedule("step", milestones), ElementsAre());
  EXPECT_THAT(schedule("staircase", {Number("schedule.factor", 0.5),
                                     {"train.schedule.every_epochs", int64_t{3}}}),
              ElementsAre());
  EXPECT_THAT(schedule("polynomial", {{"train.schedule.power", int64_t{2}},
                                      Number("schedule.end", 0.5),
                                      Number("schedule.warmup_epochs", 1)}),
              ElementsAre());
  EXPECT_THAT(schedule("triangular", {Number("schedule.start", 0.5), Number("schedule.peak", 0.5),
                                      Number("schedule.end", 0.5)}),
              ElementsAre());
  EXPECT_THAT(ProblemsOf({Number("optimizer.momentum", 0.9), Text("optimizer.formula", "keras")}),
              ElementsAre());
  EXPECT_THAT(ProblemsOf({Text("schedule.name", "list"),
                          Text("schedule.factors", "1 0.1"),
                          {"train.schedule.milestones", std::vector<int64_t>{1}}}),
              ElementsAre());
  for (const std::string name : {"fp32", "tf32", "bf16", "fp16", "fp64"}) {
    EXPECT_THAT(ProblemsOf({Text("precision", name)}, "nvidia-h200"), ElementsAre()) << name;
  }
}

TEST(CheckArithmeticTest, AnOptimiserRefusesWhatItDoesNotRead) {
  EXPECT_THAT(
      ProblemsOf({Number("optimizer.beta1", 0.5), Number("optimizer.beta2", 0.5),
                  Number("optimizer.epsilon", 0.5), Text("optimizer.formula", "keras"),
                  Text("optimizer.decayed", "matrices")}),
      ElementsAre("train.optimizer.formula: sgd without momentum has one formula; expected torch, "
                  "the default",
                  "train.optimizer.decayed: train.optimizer.weight_decay is 0; expected all, the "
                  "default",
                  "train.optimizer.beta1: sgd has no mean gradient; expected 0.9, the default",
                  "train.optimizer.beta2: sgd has no mean square; expected 0.999, the default",
                  "train.optimizer.epsilon: sgd has no denominator; expected 1e-07, the default"));
  EXPECT_THAT(ProblemsOf({Text("optimizer.name", "adamw"), Number("optimizer.momentum", 0.9)}),
              ElementsAre("train.optimizer.momentum: adamw has no momentum setting; use beta1"));
}

TEST(CheckArithmeticTest, AScheduleRefusesWhatItDoesNotRead) {
  EXPECT_THAT(
      ProblemsOf({Number("schedule.factor", 0.5),
                  {"train.schedule.every_epochs", int64_t{3}},
                  {"train.schedule.power", int64_t{2}},
                  Number("schedule.start", 0.5),
                  Number("schedule.peak", 0.5),
                  Number("schedule.end", 0.5),
                  Text("schedule.factors", "1")}),
      ElementsAre("train.schedule.factors: only schedule list has factors, not constant",
                  "train.schedule.factor: constant has no factor; expected 0.1, the default",
                  "train.schedule.every_epochs: constant has no interval; expected 10, the default",
                  "train.schedule.power: constant has no power; expected 1, the default",
                  "train.schedule.start: constant has no share to start from; expected 0.2, the "
                  "default",
                  "train.schedule.peak: constant has no peak; expected 0.23, the default",
                  "train.schedule.end: constant has no share to end at; expected 0, the default"));
  EXPECT_THAT(
      ProblemsOf({Text("schedule.name", "triangular"), Number("schedule.warmup_epochs", 1)}),
      ElementsAre("train.schedule.warmup_epochs: triangular has a rise of its own; expected 0, the "
                  "default"));
}

// At an epoch that stands twice there would be two rates.
TEST(CheckArithmeticTest, NoMilestoneStandsTwice) {
  EXPECT_THAT(ProblemsOf({Text("schedule.name", "step"),
                          {"train.schedule.milestones", std::vector<int64_t>{2, 2}}}),
              ElementsAre("train.schedule.milestones: expected rising epochs"));
}

TEST(CheckArithmeticTest, AListHasOneFactorMoreThanMilestones) {
  const auto with = [](const std::string& factors) {
    return ProblemsOf({Text("schedule.name", "list"),
                       Text("schedule.factors", factors),
                       {"train.schedule.milestones", std::vector<int64_t>{1, 2}}});
  };
  EXPECT_THAT(with("1 0.5 0"), ElementsAre());
  EXPECT_THAT(with("1 0.5"),
              ElementsAre("train.schedule.factors: 2 given; expected 3: one from the start and one "
                          "from each of train.schedule.milestones"));
  EXPECT_THAT(with("1, 0.5, 0"),
              ElementsAre("train.schedule.factors: '1,'; expected numbers from 0 to 1000000 with "
                          "one space between two"));
}

TEST(FactorsTest, AreReadWholeOrNotAtAll) {
  EXPECT_THAT(ReadFactors("1 1e-3 0.25 1000000").value(), ElementsAre(1, 1e-3, 0.25, 1e6));
  EXPECT_THAT(ReadFactors("").value(), ElementsAre());
  for (const char* wrong : {" ", " 1", "1 ", "1  2", "-1", "-0", "+1", "inf", "nan", "0x1", "1e7",
                            "1e999", "1.5.2", "a"}) {
    EXPECT_FALSE(ReadFactors(wrong).ok()) << "'" << wrong << "'";
  }
}

TEST(CheckArithmeticTest, AnArithmeticIsRefusedWhereThereIsNone) {
  EXPECT_THAT(ProblemsOf({Text("precision", "tf32")}, "cpu-amd-avx512"),
              ElementsAre("train.precision: tf32 is an arithmetic of GPUs, cpu-amd-avx512 has "
                          "none; expected fp32, bf16, fp16 or fp64"));
  EXPECT_THAT(ProblemsOf({Text("precision", "bf16"),
                          Number("loss_scale.initial", 8),
                          {"train.loss_scale.growth_interval", int64_t{5}}}),
              ElementsAre("train.loss_scale.initial: bf16 has no loss scale; expected 65536, the "
                          "default",
                          "train.loss_scale.growth_interval: bf16 has no loss scale; expected "
                          "2000, the default"));
  EXPECT_THAT(ProblemsOf({Text("precision", "fp16"), Number("loss_scale.initial", 8)}),
              ElementsAre());
}

}  // namespace
}  // namespace noisefloor
