// Axes, plans and classes set against each other: what is compared with what, and what is said.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/analysis/spread.h"
#include "coordinator/report/export.h"
#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kContrastExamples = 200;

// Right but for `errors` examples of the first half, which the seed draws.
std::vector<int16_t> AnswersOf(uint64_t seed, int64_t errors) {
  Draws draws(seed);
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kContrastExamples; ++x) answers.push_back(static_cast<int16_t>(x % 4));
  for (int64_t k = 0; k < errors; ++k) {
    int16_t& answer = answers[static_cast<size_t>(draws.Below(kContrastExamples / 2))];
    answer = static_cast<int16_t>((answer + 1) % 4);
  }
  return answers;
}

// Replicate r makes `errors` + r % 3 mistakes.
void AddReplicates(TinyStudy& tiny, int replicates, int64_t errors, uint64_t seed = 1) {
  for (int r = 0; r < replicates; ++r) {
    tiny.AddMember(AnswersOf(seed * 1000 + static_cast<uint64_t>(r), errors + r % 3));
  }
}

void AddAxis(TinyStudy& tiny, std::vector<AxisColumn> axis) {
  tiny.input.sweep.axes.push_back(std::move(axis));
}

const FigureContrast& FigureOf(const Contrast& contrast, const std::string& name) {
  return *std::ranges::find(contrast.figures, name, &FigureContrast::figure);
}

TEST(ContrastsTest, EveryValueOfAnAxisIsSetAgainstTheFirst) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.optimizer.learning_rate", {"0.1", "0.2", "0.4"}}});
  for (const char* rate : {"0.1", "0.2", "0.4"}) {
    tiny.AddCell("algo", Algo(), "cpu-a", 0, Rate(rate));
    AddReplicates(tiny, 6, std::string(rate) == "0.4" ? 40 : 10);
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.contrasts.size(), 2u);
  EXPECT_EQ(study.contrasts[0].subject, "learning_rate");
  EXPECT_EQ(study.contrasts[0].a, "0.1");
  EXPECT_EQ(study.contrasts[0].b, "0.2");
  const Contrast& large = study.contrasts[1];
  EXPECT_EQ(large.a, "0.1");
  EXPECT_EQ(large.b, "0.4");
  EXPECT_EQ(large.plan, "algo");
  EXPECT_EQ(large.draws, 6);
  EXPECT_TRUE(large.paired);
  EXPECT_THAT(large.cells_a, ElementsAre(0u));
  EXPECT_THAT(large.cells_b, ElementsAre(2u));
  EXPECT_DOUBLE_EQ(*FigureOf(large, "churn").estimate.value,
                   *study.cohorts[2].churn.value - *study.cohorts[0].churn.value);
  EXPECT_NEAR(*FigureOf(large, "accuracy").estimate.value,
              *study.cohorts[2].accuracy.value - *study.cohorts[0].accuracy.value, 1e-12);
  EXPECT_NEAR(*FigureOf(large, "accuracy_sd").estimate.value,
              *study.cohorts[2].accuracy_sd.value / *study.cohorts[0].accuracy_sd.value, 1e-12);
  EXPECT_TRUE(FigureOf(large, "churn").shown);
  EXPECT_TRUE(FigureOf(large, "accuracy").shown);
  EXPECT_THAT(large.text,
              AllOf(HasSubstr("learning_rate 0.4 against 0.1 (algo, cpu-a; n = 6 "
                              "draws): two trainings disagree on "),
                    HasSubstr(" more of the answers (p = "), HasSubstr("top-1 is lower by "),
                    HasSubstr("; a draw of the first has more top-1 with a probability of 0.00 % "
                              "[0.00, 39.03], which is not tested.")));
  EXPECT_EQ(*FigureOf(large, "accuracy_above").estimate.value, 0);
  EXPECT_EQ(FigureOf(large, "accuracy_above").estimate.n, 6);
  // Equal draws answered alike at 0.1 and 0.2.
  EXPECT_FALSE(FigureOf(study.contrasts[0], "churn").p.has_value());
  EXPECT_THAT(study.headlines, Contains(HasSubstr("learning_rate 0.4 against 0.1")));
}

TEST(ContrastsTest, AllTestsOfTheStudyAreCorrectedTogether) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.optimizer.learning_rate", {"0.1", "0.2", "0.4"}}});
  for (const char* rate : {"0.1", "0.2", "0.4"}) {
    for (const char* plan : {"algo", "other"}) {
      tiny.AddCell(plan, Algo(), "cpu-a", 0, Rate(rate));
      AddReplicates(tiny, 6, 10, static_cast<uint64_t>(rate[2] + plan[0]));
    }
  }

  const Study study = BuildStudy(tiny.input);

  // Two values against the first in each of two plans, and the plans against each other.
  EXPECT_EQ(study.contrasts.size(), 5u);
  double least = 1;
  int tests = 0;
  for (const Contrast& contrast : study.contrasts) {
    for (const FigureContrast& figure : contrast.figures) {
      if (figure.p) least = std::min(least, *figure.p);
      tests += figure.p.has_value();
      EXPECT_EQ(figure.p_holm.has_value(), figure.p.has_value());
      if (figure.p) {
        EXPECT_GE(*figure.p_holm, *figure.p);
      }
    }
  }
  ASSERT_EQ(tests, 10);  // Of churn and top-1; spreads are not tested.
  double least_holm = 1;
  for (const Contrast& contrast : study.contrasts) {
    for (const FigureContrast& figure : contrast.figures) {
      if (figure.p_holm) least_holm = std::min(least_holm, *figure.p_holm);
    }
  }
  EXPECT_DOUBLE_EQ(least_holm, std::min(1.0, tests * least));
}

TEST(ContrastsTest, SidesAreMeansOverWhatIsOtherwiseEqual) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.optimizer.learning_rate", {"0.1", "0.2"}}});
  for (const char* rate : {"0.1", "0.2"}) {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      tiny.AddCell("algo", Algo(), hardware, 0, Rate(rate));
      AddReplicates(tiny, 5, rate[2] == '1' ? 10 : 20, static_cast<uint64_t>(hardware[4]));
    }
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.contrasts.size(), 2u);
  const Contrast& axis = study.contrasts[0];
  EXPECT_EQ(axis.over, "the mean of 2 settings");
  EXPECT_THAT(axis.cells_a, ElementsAre(0u, 1u));
  EXPECT_THAT(axis.cells_b, ElementsAre(2u, 3u));
  const auto churn = [&](size_t cell) { return *study.cohorts[cell].churn.value; };
  EXPECT_NEAR(*FigureOf(axis, "churn").estimate.value,
              (churn(2) + churn(3)) / 2 - (churn(0) + churn(1)) / 2, 1e-12);
  const Contrast& hardware = study.contrasts[1];
  EXPECT_EQ(hardware.subject, "hardware");
  EXPECT_EQ(hardware.a, "cpu-a");
  EXPECT_NEAR(*FigureOf(hardware, "churn").estimate.value,
              (churn(1) + churn(3)) / 2 - (churn(0) + churn(2)) / 2, 1e-12);
}

TEST(ContrastsTest, ASettingThatDivergedDoesNotTakeTheOthersWithIt) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.optimizer.learning_rate", {"0.1", "0.2"}}});
  for (const char* rate : {"0.1", "0.2"}) {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      tiny.AddCell("algo", Algo(), hardware, 0, Rate(rate));
      AddReplicates(tiny, 5, rate[2] == '1' ? 10 : 20);
    }
  }
  for (MemberInput& member : tiny.input.members) {
    if (member.cell == 3) member.state = MemberState::kDiverged;
  }

  const Contrast axis = BuildStudy(tiny.input).contrasts[0];

  EXPECT_EQ(axis.draws, 5);
  EXPECT_EQ(axis.left_out, 1);  // Whose one side has no draw.
  EXPECT_EQ(axis.over, "cpu-a");
  EXPECT_THAT(axis.cells_b, ElementsAre(2u));
}

// Two draws of the first point must not thin out the six of the second.
TEST(ContrastsTest, TheSettingWithMostDrawsComesFirst) {
  TinyStudy tiny(kContrastExamples, 4);
  for (const char* epochs : {"1", "2"}) {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      tiny.AddCell("algo", Algo(), hardware, 0, {{"train.epochs", epochs}});
      AddReplicates(tiny, epochs[0] == '1' ? 2 : 6, 10, static_cast<uint64_t>(hardware[4]));
    }
  }
  const Study study = BuildStudy(tiny.input);
  const auto hardware = std::ranges::find(study.contrasts, "hardware", &Contrast::subject);
  ASSERT_NE(hardware, study.contrasts.end());
  EXPECT_EQ(hardware->draws, 6);
  EXPECT_EQ(hardware->left_out, 1);
  EXPECT_EQ(hardware->over, "epochs=2");
  EXPECT_THAT(hardware->cells_a, ElementsAre(2u));
}

TEST(ContrastsTest, ClassesAreComparedOnEachStackAndStacksOnEachClass) {
  TinyStudy tiny(kContrastExamples, 4);
  int64_t errors = 10;
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    for (const char* stack : {"ours", "theirs"}) {
      tiny.AddCell("algo", Algo(), hardware).stack = stack;
      AddReplicates(tiny, 4, errors, static_cast<uint64_t>(errors));
      errors *= 2;
    }
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.contrasts.size(), 2u);
  const auto top1 = [&](size_t cell) { return *study.cohorts[cell].accuracy.value; };
  const Contrast& hardware = study.contrasts[0];
  EXPECT_EQ(hardware.question, Question::kHardware);
  EXPECT_EQ(hardware.settings, 2);
  EXPECT_FALSE(hardware.stacks_differ);
  EXPECT_THAT(hardware.cells_a, ElementsAre(0u, 1u));
  EXPECT_THAT(hardware.cells_b, ElementsAre(2u, 3u));
  EXPECT_NEAR(*FigureOf(hardware, "accuracy").estimate.value,
              (top1(2) + top1(3)) / 2 - (top1(0) + top1(1)) / 2, 1e-12);
  const Contrast& stack = study.contrasts[1];
  EXPECT_EQ(stack.question, Question::kStack);
  EXPECT_EQ(stack.a, "ours");
  EXPECT_EQ(stack.settings, 2);
  EXPECT_THAT(stack.cells_a, ElementsAre(0u, 2u));
  EXPECT_THAT(stack.cells_b, ElementsAre(1u, 3u));
  EXPECT_NEAR(*FigureOf(stack, "accuracy").estimate.value,
              (top1(1) + top1(3)) / 2 - (top1(0) + top1(2)) / 2, 1e-12);
}

TEST(ContrastsTest, PlansWithTheSameDrawsArePaired) {
  TinyStudy tiny(kContrastExamples, 4);
  tiny.AddCell("algo", Algo(), "cpu-a");
  AddReplicates(tiny, 6, 10);
  States both = Algo();
  both[NoiseSource::kReduceOrder] = SourceState::kFree;
  tiny.AddCell("algo+impl", both, "cpu-a");
  AddReplicates(tiny, 4, 12);

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.contrasts.size(), 1u);
  EXPECT_EQ(study.contrasts[0].subject, "plan");
  EXPECT_TRUE(study.contrasts[0].paired);
  EXPECT_EQ(study.contrasts[0].draws, 4);  // That both have.
  EXPECT_EQ(study.contrasts[0].over, "cpu-a");
}

TEST(ContrastsTest, APlanOfBlocksAndOneOfReplicatesAreNotPaired) {
  TinyStudy tiny(kContrastExamples, 4);
  tiny.AddCell("algo", Algo(), "cpu-a");
  AddReplicates(tiny, 6, 30);
  for (const uint32_t block : {0u, 1u, 2u, 3u}) {
    tiny.AddCell("impl", Impl(), "cpu-a", block);
    AddReplicates(tiny, 2, 3 + block, block + 7);
  }

  const Contrast contrast = BuildStudy(tiny.input).contrasts.at(0);

  EXPECT_FALSE(contrast.paired);
  EXPECT_TRUE(contrast.over_blocks);
  EXPECT_EQ(contrast.draws, 4);
  EXPECT_THAT(contrast.text, HasSubstr("n = 4 blocks"));
  const FigureContrast& churn = FigureOf(contrast, "churn");
  EXPECT_LT(*churn.estimate.value, 0);
  EXPECT_TRUE(churn.shown) << *churn.p_holm;
  EXPECT_THAT(contrast.text,
              AllOf(HasSubstr(" fewer of the answers"), Not(HasSubstr("disagree on -"))));
}

TEST(ContrastsTest, WhereABlockIsADrawTheBlocksAreCompared) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.optimizer.learning_rate", {"0.1", "0.2"}}});
  for (const char* rate : {"0.1", "0.2"}) {
    for (const uint32_t block : {0u, 1u, 2u}) {
      tiny.AddCell("impl", Impl(), "cpu-a", block, Rate(rate));
      AddReplicates(tiny, 3, rate[2] == '1' ? 10 : 20, block + 1);
    }
  }

  const Study study = BuildStudy(tiny.input);

  const Contrast& contrast = study.contrasts.at(0);
  EXPECT_TRUE(contrast.paired);
  EXPECT_EQ(contrast.draws, 3);  // Blocks, not nine replicates.
  EXPECT_EQ(FigureOf(contrast, "churn").estimate.n, 3);
  double churn[] = {0, 0};
  double top1[] = {0, 0};
  double variance[] = {0, 0};
  for (size_t cell = 0; cell < 6; ++cell) {
    std::vector<double> of_block;
    for (size_t r = 0; r < 3; ++r) {
      of_block.push_back(tiny.input.members[3 * cell + r].final_metrics.at("top1"));
    }
    const size_t side = cell / 3;
    churn[side] += *study.cohorts[cell].churn.value / 3;
    top1[side] += analysis::MeanOf(of_block) / 3;
    variance[side] += std::pow(analysis::SdOf(of_block), 2) / 3;
  }
  EXPECT_NEAR(*FigureOf(contrast, "churn").estimate.value, churn[1] - churn[0], 1e-12);
  EXPECT_NEAR(*FigureOf(contrast, "accuracy").estimate.value, top1[1] - top1[0], 1e-12);
  EXPECT_NEAR(*FigureOf(contrast, "accuracy_sd").estimate.value,
              std::sqrt(variance[1] / variance[0]), 1e-9);
  EXPECT_EQ(FigureOf(contrast, "accuracy_sd").estimate.n, 3);
  EXPECT_THAT(contrast.held, ElementsAre("init", "data_order", "augment", "dropout"));
}

TEST(ContrastsTest, ColumnsThatWalkInStepAreOneAxis) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.optimizer.name", {"sgd", "adam"}},
                 {"train.optimizer.learning_rate", {"0.1", "0.001"}}});
  for (const char* rate : {"0.1", "0.001"}) {
    const bool is_sgd = std::string(rate) == "0.1";
    // A cell has its settings in another order.
    tiny.AddCell("algo", Algo(), "cpu-a", 0,
                 {Rate(rate)[0], {"train.optimizer.name", is_sgd ? "sgd" : "adam"}});
    AddReplicates(tiny, 4, is_sgd ? 10 : 20);
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.contrasts.size(), 1u);
  EXPECT_EQ(study.contrasts[0].subject, "name, learning_rate");
  EXPECT_EQ(study.contrasts[0].a, "sgd, 0.1");
  EXPECT_EQ(study.contrasts[0].b, "adam, 0.001");
}

TEST(ContrastsTest, AxesThatEndAlikeAreNamedInFull) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"model.name", {"lenet", "mlp"}}});
  AddAxis(tiny, {{"train.optimizer.name", {"sgd", "adam"}}});
  for (const char* model : {"lenet", "mlp"}) {
    for (const char* optimizer : {"sgd", "adam"}) {
      tiny.AddCell("algo", Algo(), "cpu-a", 0,
                   {{"model.name", model}, {"train.optimizer.name", optimizer}});
      AddReplicates(tiny, 3, 10, static_cast<uint64_t>(model[0] + optimizer[0]));
    }
  }
  const Study study = BuildStudy(tiny.input);
  ASSERT_EQ(study.contrasts.size(), 2u);
  EXPECT_EQ(study.contrasts[0].subject, "model.name");
  EXPECT_EQ(study.contrasts[1].subject, "train.optimizer.name");
}

// Each setting lacks another replicate: all of them together have none in common.
TEST(ContrastsTest, SettingsThatLackDrawsAreLeftOutAndSaid) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.epochs", {"1", "2", "3", "4", "5"}}});
  for (int point = 0; point < 5; ++point) {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      tiny.AddCell("algo", Algo(), hardware, 0, {{"train.epochs", std::to_string(point + 1)}});
      AddReplicates(tiny, 5, 10, static_cast<uint64_t>(10 * point + hardware[4]));
      tiny.input.members[tiny.input.members.size() - 5 + static_cast<size_t>(point)].state =
          MemberState::kDiverged;
    }
  }

  const Study study = BuildStudy(tiny.input);

  const auto hardware = std::ranges::find(study.contrasts, "hardware", &Contrast::subject);
  ASSERT_NE(hardware, study.contrasts.end());
  EXPECT_EQ(hardware->draws, 3);
  EXPECT_EQ(hardware->settings, 2);
  EXPECT_EQ(hardware->left_out, 3);
  EXPECT_THAT(hardware->text, HasSubstr("3 settings left out, without draws that the others have"));
}

TEST(ContrastsTest, PlansWithoutACommonDrawAreNotPaired) {
  TinyStudy tiny(kContrastExamples, 4);
  tiny.AddCell("init", StatesWithFree({NoiseSource::kInit}), "cpu-a");
  AddReplicates(tiny, 5, 10, 1);
  tiny.AddCell("order", StatesWithFree({NoiseSource::kDataOrder}), "cpu-a");
  AddReplicates(tiny, 5, 10, 2);
  const Contrast contrast = BuildStudy(tiny.input).contrasts.at(0);
  EXPECT_FALSE(contrast.paired);
  EXPECT_THAT(contrast.at_one_draw, Contains("data_order"));
  EXPECT_THAT(contrast.text, HasSubstr("(cpu-a; n = 5 draws at this one "));
}

TEST(ContrastsTest, BlocksOfBothSidesArePairedWhereBothHaveSome) {
  TinyStudy tiny(kContrastExamples, 4);
  for (const uint32_t block : {0u, 1u, 2u}) {
    tiny.AddCell("algo", Algo(), "cpu-a", block);
    AddReplicates(tiny, 3, 30, block + 1);
    tiny.AddCell("impl", Impl(), "cpu-a", block);
    AddReplicates(tiny, 3, 10, block + 5);
  }
  const Contrast contrast = BuildStudy(tiny.input).contrasts.at(0);
  EXPECT_TRUE(contrast.paired);
  EXPECT_TRUE(contrast.over_blocks);
  EXPECT_EQ(contrast.draws, 3);

  TinyStudy two(kContrastExamples, 4);  // Blocks: of so few nothing would be told.
  for (const uint32_t block : {0u, 1u}) {
    two.AddCell("algo", Algo(), "cpu-a", block);
    AddReplicates(two, 3, 30, block + 1);
    two.AddCell("impl", Impl(), "cpu-a", block);
    AddReplicates(two, 3, 10, block + 5);
  }
  EXPECT_FALSE(BuildStudy(two.input).contrasts.at(0).paired);
}

TEST(ContrastsTest, StacksThatDifferAsWellAreSaid) {
  TinyStudy tiny(kContrastExamples, 4);
  for (const char* hardware : {"cpu-a", "gpu-b"}) {
    tiny.AddCell("algo", Algo(), hardware).stack = std::string("stack-of-") + hardware;
    AddReplicates(tiny, 5, hardware[0] == 'c' ? 10 : 40);
  }
  const Study study = BuildStudy(tiny.input);
  EXPECT_TRUE(study.contrasts.at(0).stacks_differ);
  EXPECT_THAT(study.contrasts[0].text, HasSubstr("The stacks differ as well."));
  EXPECT_THAT(study.headlines, Contains(AllOf(HasSubstr("hardware gpu-b against cpu-a"),
                                              HasSubstr("The stacks differ as well."))));
}

// Churn needs predictions, top-1 does not.
TEST(ContrastsTest, AFigureWithFewerDrawsSaysSo) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.epochs", {"1", "2"}}});
  for (const char* epochs : {"1", "2"}) {
    tiny.AddCell("algo", Algo(), "cpu-a", 0, {{"train.epochs", epochs}});
    AddReplicates(tiny, 6, epochs[0] == '1' ? 10 : 40);
  }
  for (const size_t m : {1u, 2u}) tiny.input.members[m].predictions = {};
  const Contrast contrast = BuildStudy(tiny.input).contrasts.at(0);
  EXPECT_EQ(contrast.draws, 6);
  EXPECT_EQ(FigureOf(contrast, "churn").estimate.n, 4);
  EXPECT_THAT(contrast.text, HasSubstr(", n = 4)"));
}

TEST(ContrastsTest, UnderTrainedSidesAreShownAndNotTested) {
  TinyStudy tiny(kContrastExamples, 4);
  tiny.input.sweep.reference_accuracy = 0.9;
  AddAxis(tiny, {{"train.optimizer.learning_rate", {"0.1", "0.2"}}});
  for (const char* rate : {"0.1", "0.2"}) {
    tiny.AddCell("algo", Algo(), "cpu-a", 0, Rate(rate));
    AddReplicates(tiny, 6, rate[2] == '1' ? 5 : 60);
  }

  const Study study = BuildStudy(tiny.input);

  const Contrast& contrast = study.contrasts.at(0);
  EXPECT_TRUE(contrast.under_trained);
  EXPECT_TRUE(FigureOf(contrast, "churn").p.has_value());
  EXPECT_FALSE(FigureOf(contrast, "churn").p_holm.has_value());
  EXPECT_FALSE(FigureOf(contrast, "churn").shown);
  EXPECT_THAT(contrast.text, HasSubstr("a side is under-trained"));
  EXPECT_THAT(study.headlines, Not(Contains(HasSubstr("learning_rate 0.2 against 0.1"))));
}

TEST(ContrastsTest, ControlsAndMembersThatShareDrawsAreInNone) {
  TinyStudy tiny(kContrastExamples, 4);
  tiny.AddCell("control", Control(), "cpu-a");
  AddReplicates(tiny, 3, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  AddReplicates(tiny, 3, 10);
  EXPECT_THAT(BuildStudy(tiny.input).contrasts, IsEmpty());
}

TEST(ContrastsTest, NothingShownIsSaidToo) {
  const auto headlines = [](int replicates) {
    TinyStudy tiny(kContrastExamples, 4);
    AddAxis(tiny, {{"train.optimizer.learning_rate", {"0.1", "0.2"}}});
    for (const char* rate : {"0.1", "0.2"}) {
      tiny.AddCell("algo", Algo(), "cpu-a", 0, Rate(rate));
      AddReplicates(tiny, replicates, 10, static_cast<uint64_t>(rate[2]));
    }
    return BuildStudy(tiny.input).headlines;
  };
  EXPECT_THAT(headlines(9),
              Contains("learning_rate: no difference of churn or top-1 is shown in 1 contrast "
                       "(n = 9 or more)."));
  EXPECT_THAT(headlines(2),
              Contains("learning_rate: churn and top-1 cannot be tested with so few draws (1 "
                       "contrast)."));
}

TEST(ContrastsTest, TableJsonAndCsvShowTheSame) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.optimizer.learning_rate", {"0.1", "0.4"}}});
  for (const char* rate : {"0.1", "0.4"}) {
    tiny.AddCell("algo", Algo(), "cpu-a", 0, Rate(rate));
    AddReplicates(tiny, 6, rate[2] == '1' ? 10 : 40);
  }

  const Study study = BuildStudy(tiny.input);

  const FigureContrast& churn = FigureOf(study.contrasts.at(0), "churn");
  const auto json = nlohmann::json::parse(StudyToJson(study))["contrasts"][0];
  EXPECT_EQ(json["question"], "axis");
  EXPECT_EQ(json["figures"][0]["figure"], "churn");
  EXPECT_EQ(json["figures"][0]["estimate"]["value"], *churn.estimate.value);
  EXPECT_EQ(json["figures"][0]["p_holm"], *churn.p_holm);
  EXPECT_EQ(json["figures"][0]["shown"], true);
  EXPECT_THAT(StudyToCsv(study),
              AllOf(HasSubstr("contrast,0,\"algo, cpu-a\",learning_rate 0.4 against 0.1,churn,"),
                    HasSubstr("churn_p_holm,")));
  EXPECT_THAT(
      RenderTables(study, Screen{.columns = 200}),
      AllOf(HasSubstr("Contrasts: B - A"), HasSubstr("learning_rate: 0.1 / 0.4"), HasSubstr(" *")));
}

TEST(ContrastsTest, TheCsvHasBothPs) {
  TinyStudy tiny(kContrastExamples, 4);
  AddAxis(tiny, {{"train.optimizer.learning_rate", {"0.1", "0.4", "0.7"}}});
  int64_t wrong = 10;
  for (const char* rate : {"0.1", "0.4", "0.7"}) {
    tiny.AddCell("algo", Algo(), "cpu-a", 0, Rate(rate));
    AddReplicates(tiny, 6, wrong);
    wrong += 30;
  }
  const Study study = BuildStudy(tiny.input);
  const std::string csv = StudyToCsv(study);
  int corrected = 0;
  for (const Contrast& contrast : study.contrasts) {
    for (const FigureContrast& figure : contrast.figures) {
      if (!figure.p || !figure.p_holm || *figure.p == *figure.p_holm) continue;
      ++corrected;
      const std::string row =
          fmt::format("contrast,{},\"algo, cpu-a\",{} {} against {},{}", contrast.cells_a.front(),
                      contrast.subject, contrast.b, contrast.a, figure.figure);
      EXPECT_THAT(csv, AllOf(HasSubstr(fmt::format("{}_p,{},", row, *figure.p)),
                             HasSubstr(fmt::format("{}_p_holm,{},", row, *figure.p_holm))));
    }
  }
  EXPECT_GT(corrected, 0);
}

// Runs of other programs may have equal numbers and other draws.
TEST(ContrastPairsTest, EqualNumbersAreNoPairsWhereTheDrawsAreOthers) {
  for (const bool same : {true, false}) {
    TinyStudy tiny(120, 10);
    tiny.input.sweep.axes = {{{"train.optimizer.learning_rate", {"0.1", "0.2"}}}};
    Draws draws(3);
    for (const char* rate : {"0.1", "0.2"}) {
      tiny.AddCell("algo", Algo(), "cpu-a", 0, {{"train.optimizer.learning_rate", rate}});
      for (uint32_t r = 0; r < 6; ++r) {
        std::vector<int16_t> answers;
        for (int64_t x = 0; x < 120; ++x) {
          answers.push_back(static_cast<int16_t>((x + (draws.Uniform() < 0.2)) % 10));
        }
        const uint32_t shift = same || rate == std::string("0.1") ? 0 : 100;
        tiny.AddMember(answers).lanes = {{NoiseSource::kInit, {0, r + 1 + shift}}};
      }
    }
    const Study study = BuildStudy(tiny.input);
    ASSERT_EQ(study.contrasts.size(), 1u);
    EXPECT_EQ(study.contrasts[0].paired, same);
  }
}

}  // namespace
}  // namespace noisefloor::report
