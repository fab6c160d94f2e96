// Of how many draws each figure of a gate is, and what is said of those without an interval.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/report/gate_forms.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/gate_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Churn and the shift need predictions, top-1 does not.
TEST(GateDrawsTest, EachFigureSaysOfHowManyDrawsItIs) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 10, 0, 1);
  AddGateAlgo(b, 10, 0, 2);
  for (size_t m = 4; m < 10; ++m) b.input.members[m].predictions = {};

  const Gate gate = Compared(a, b);

  const auto draws_of = [&](const std::string& name) { return GateFigureOf(gate, name).draws_b; };
  EXPECT_TRUE(gate.settings.at(0).paired);
  EXPECT_EQ(draws_of("churn"), 4);
  EXPECT_EQ(draws_of("top1"), 10);
  EXPECT_EQ(draws_of("shift"), 4);
  EXPECT_EQ(GateFigureOf(gate, "shift").draws_a, 4);
  EXPECT_THAT(gate.findings, Contains(AllOf(HasSubstr("algo: churn is not decided"),
                                            HasSubstr("(paired, n = 4 draws); "))));
  EXPECT_THAT(gate.findings, Contains(AllOf(HasSubstr("algo: top-1 is not decided"),
                                            HasSubstr("(paired, n = 10 draws); "))));
  for (const std::string& form : {GateText(gate), GateJUnit(gate), GatePage(gate)}) {
    EXPECT_THAT(form, AllOf(HasSubstr("paired, n = 4 draws"), HasSubstr("paired, n = 10 draws")));
  }
  const auto json = nlohmann::json::parse(GateJson(gate));
  EXPECT_EQ(json["settings"][0]["draws_b"], 10);
  EXPECT_EQ(json["settings"][0]["figures"][0]["draws_a"], 4);
  EXPECT_EQ(json["settings"][0]["figures"][1]["draws_b"], 10);
}

TEST(GateDrawsTest, OfOtherSeedsEachSideHasItsOwn) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 10, 0, 1);
  AddGateAlgo(b, 8, 60, 2);
  b.input.sweep.seed = 1;
  for (size_t m = 5; m < 8; ++m) b.input.members[m].predictions = {};

  const Gate gate = Compared(a, b);

  EXPECT_EQ(GateFigureOf(gate, "shift").verdict, Verdict::kFail);
  EXPECT_THAT(gate.findings, Contains(AllOf(HasSubstr("the shift of the mean answer is "),
                                            HasSubstr("; n = 10 and 5 draws)"))));
  EXPECT_THAT(GateJUnit(gate), HasSubstr("n = 10 and 8 draws"));
}

// Each side has two members of the first block with predictions, and one of them in common.
TEST(GateDrawsTest, ABlockWithoutAShiftIsNotCounted) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    analysis::Draws draws(tiny == &a ? 1 : 2);
    for (uint32_t block = 0; block < 4; ++block) {
      tiny->AddCell("order", StatesWithFree({NoiseSource::kDataOrder}), "cpu-a", block);
      for (int r = 0; r < 3; ++r) tiny->AddMember(GateAnswers(draws, 0));
    }
    tiny->input.evaluations[0].identity = "same";
    tiny->input.members[tiny == &a ? 0 : 2].predictions = {};
  }

  const Gate gate = Compared(a, b);

  EXPECT_TRUE(gate.settings.at(0).over_blocks);
  EXPECT_EQ(GateFigureOf(gate, "churn").draws_a, 4);
  EXPECT_EQ(GateFigureOf(gate, "shift").difference.n, 3);
  EXPECT_EQ(GateFigureOf(gate, "shift").draws_a, 3);
  EXPECT_EQ(GateFigureOf(gate, "shift").draws_b, 3);
}

// Right but for the first ones.
std::vector<int16_t> WrongOnFirst(int64_t wrong) {
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kGateExamples; ++x) {
    answers.push_back(static_cast<int16_t>(x < wrong ? 1 - x % 2 : x % 2));
  }
  return answers;
}

// Runs at one draw of all seeds in each block: two of each side have predictions, and of these one
// has the number of one on the other side.
void AddRunsOfBlocks(TinyStudy& tiny, bool is_b, uint32_t blocks) {
  const int64_t wrong_on_a[] = {24, 40, 56};
  const int64_t wrong_on_b[] = {60, 72, 90};
  for (uint32_t block = 0; block < blocks; ++block) {
    tiny.AddCell("impl", Impl(), "cpu-a", block);
    const std::vector<int16_t> right = WrongOnFirst(0);
    const std::vector<int16_t> wrong = WrongOnFirst((is_b ? wrong_on_b : wrong_on_a)[block]);
    if (!is_b) tiny.AddMember(right).predictions = {};
    tiny.AddMember(right);
    tiny.AddMember(wrong);
    if (is_b) tiny.AddMember(right).predictions = {};
  }
  tiny.input.evaluations[0].identity = "same";
}

// Of members that have no draw in common every two meet. With a wrong of one of A, and b > a of one
// of B, 0, b, a and b - a of 400 differ across, b / 800 in the mean, and (a + b) / 800 inside: a
// shift of -a / 800.
TEST(GateDrawsTest, OverBlocksWithoutAFreeSeedEveryTwoMembersMeet) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddRunsOfBlocks(a, /*is_b=*/false, 3);
  AddRunsOfBlocks(b, /*is_b=*/true, 3);

  const Gate gate = Compared(a, b);

  EXPECT_TRUE(gate.settings.at(0).over_blocks);
  EXPECT_TRUE(gate.settings[0].paired) << "block by block";
  const GateFigure& shift = GateFigureOf(gate, "shift");
  EXPECT_EQ(shift.draws_a, 3);
  EXPECT_NEAR(*shift.difference.value, -0.05, 1e-12);
  // -0.03, -0.05 and -0.07: t = (0.01 + 0.05) / (0.02 / sqrt(3)), 27 squared, of two degrees.
  EXPECT_NEAR(shift.p_equivalent.value(), 0.5 * (1 - std::sqrt(27.0 / 29)), 1e-9);
  EXPECT_EQ(shift.verdict, Verdict::kPass) << "what lies below 0 is no shift";
}

TEST(GateDrawsTest, BlocksOfOtherSeedsTellOfChurnAndTop1AndNotOfAShift) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddRunsOfBlocks(a, /*is_b=*/false, 3);
  AddRunsOfBlocks(b, /*is_b=*/true, 3);
  b.input.sweep.seed = 9;

  const Gate gate = Compared(a, b);

  EXPECT_FALSE(gate.settings.at(0).paired);
  EXPECT_THAT(gate.settings[0].other_draws, IsEmpty()) << "each side has three";
  EXPECT_TRUE(GateFigureOf(gate, "churn").p_holm.has_value());
  EXPECT_TRUE(GateFigureOf(gate, "top1").p_holm.has_value());
  EXPECT_EQ(GateFigureOf(gate, "shift").note, "the blocks of A and B are other draws");
  EXPECT_FALSE(GateFigureOf(gate, "shift").difference.value.has_value());
}

TEST(GateDrawsTest, OneBlockOnOneSideIsOneDraw) {
  TinyStudy one(kGateExamples, 2);
  TinyStudy three(kGateExamples, 2);
  AddRunsOfBlocks(one, /*is_b=*/false, 1);
  AddRunsOfBlocks(three, /*is_b=*/true, 3);
  for (const Gate& gate : {Compared(one, three), Compared(three, one)}) {
    EXPECT_TRUE(gate.settings.at(0).over_blocks);
    EXPECT_EQ(GateFigureOf(gate, "top1").note, "needs three draws a side, there is 1");
  }
}

TEST(GateDrawsTest, WhereAllSeedsAreFreeReplicatesOfAllBlocksAreDraws) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    analysis::Draws draws(tiny == &a ? 1 : 2);
    for (const uint32_t block : {0u, 1u}) {
      tiny->AddCell("algo", Algo(), "cpu-a", block);
      for (int r = 0; r < 3; ++r) tiny->AddMember(GateAnswers(draws, 0));
    }
    tiny->input.evaluations[0].identity = "same";
  }
  const Gate gate = Compared(a, b);
  EXPECT_FALSE(gate.settings.at(0).over_blocks);
  for (const GateFigure& figure : gate.settings[0].figures) {
    EXPECT_EQ(figure.draws_a, 6) << figure.figure;
    EXPECT_EQ(figure.difference.n, 6) << figure.figure;
  }
}

// As many are right in every pair, of which two have other bits and are not known to answer alike.
TEST(GateDrawsTest, AnswersAreEqualWhereAllOfThemAreKnownToBe) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    tiny->AddCell("algo", Algo(), "cpu-a");
    for (int r = 0; r < 5; ++r) tiny->AddMember(WrongOnFirst(40));
    tiny->input.evaluations[0].identity = "same";
  }
  for (const size_t m : {3u, 4u}) {
    b.input.members[m].predictions = {};
    b.input.members[m].hashes.logits = "other";
  }
  const Gate other = Compared(a, b);
  EXPECT_EQ(GateFigureOf(other, "top1").difference.value, 0);
  EXPECT_EQ(GateFigureOf(other, "top1").verdict, Verdict::kInconclusive);
  EXPECT_EQ(GateFigureOf(other, "top1").note, "0 in every draw: there is no error to go by");

  // Equal bits are equal answers, though nobody kept these.
  for (size_t m = 0; m < 5; ++m) {
    b.input.members[m].predictions = {};
    b.input.members[m].hashes = a.input.members[m].hashes;
  }
  EXPECT_THAT(GateFigureOf(Compared(a, b), "top1").note,
              HasSubstr("equal answers in each of 5 draws"));
}

TEST(GateDrawsTest, AllFiguresAreCorrectedTogether) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    AddGateAlgo(*tiny, 10, tiny == &a ? 0 : 16, tiny == &a ? 1 : 2);
    analysis::Draws draws(tiny == &a ? 3 : 4);
    tiny->AddCell("other", Algo(), "cpu-a");
    for (int r = 0; r < 10; ++r) tiny->AddMember(GateAnswers(draws, tiny == &a ? 0 : 24));
  }
  const Gate gate = Compared(a, b);
  std::vector<double> p;
  std::vector<double> p_holm;
  for (const GateSetting& setting : gate.settings) {
    for (const GateFigure& figure : setting.figures) {
      p.push_back(figure.p_beyond.value());
      p_holm.push_back(figure.p_holm.value());
    }
  }
  std::ranges::sort(p);
  std::ranges::sort(p_holm);
  ASSERT_EQ(p.size(), 6u);
  ASSERT_LT(5 * p[1], 1);
  EXPECT_NEAR(p_holm[0], 6 * p[0], 1e-9 * p[0]);
  EXPECT_NEAR(p_holm[1], std::max(6 * p[0], 5 * p[1]), 1e-9 * p[1]);
}

TEST(GateDrawsTest, WhatIsWrongWithASideIsNoted) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 3, 0, 1);
  AddGateAlgo(b, 3, 0, 1);
  b.input.members[2].final_metrics["top1"] = 0.25;  // Its predictions give another one.
  EXPECT_THAT(Compared(a, b).notes,
              ElementsAre(StartsWith("B, s1c0r2: Its trainer reports a top-1 of 25.")));
  EXPECT_THAT(Compared(b, a).notes,
              ElementsAre(StartsWith("A, s1c0r2: Its trainer reports a top-1 of 25.")));
}

// The same set by name, or nothing to tell it by.
TEST(GateDrawsTest, OtherLabelsAreOtherExamples) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 3, 0, 1);
  AddGateAlgo(b, 3, 0, 1);
  ASSERT_TRUE(CompareStudies(a.input, b.input, {}).ok());
  b.input.evaluations[0].labels[7] = 0;
  EXPECT_THAT(CompareStudies(a.input, b.input, {}).status().message(),
              HasSubstr("A and B were tested on other examples"));
  a.input.evaluations[0].identity = b.input.evaluations[0].identity = "";
  b.input.evaluations[0].labels = {};
  EXPECT_THAT(CompareStudies(a.input, b.input, {}).status().message(),
              HasSubstr("A and B were tested on other examples"));
}

TEST(GateDrawsTest, WhatHasNoIntervalIsNotSaidToHaveOne) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 5, 0, 1);
  AddGateAlgo(b, 5, 0, 1);
  EXPECT_THAT(
      GateJUnit(Compared(a, b)),
      AllOf(HasSubstr(" %, margin ±1.00 %; paired, n = 5 draws; equal answers in each of 5"),
            Not(HasSubstr("(90 %)"))));

  TinyStudy other(kGateExamples, 2);
  AddGateAlgo(other, 5, 0, 2);
  EXPECT_THAT(GateJUnit(Compared(a, other, {.margins = {0.3, 0.3, 0.3}})),
              HasSubstr("] (90 %), margin ±30.00 %; paired, n = 5 draws"));
}

// Kernels are no source on a processor, and are one on a GPU.
TEST(GateDrawsTest, WhatIsFreeOnOneSideAloneIsJudgedByFigures) {
  TinyStudy cpu(kGateExamples, 2);
  TinyStudy gpu(kGateExamples, 2);
  for (TinyStudy* tiny : {&cpu, &gpu}) {
    Draws draws(3);
    CellInput& cell = tiny->AddCell("impl", Impl(), tiny == &cpu ? "cpu-a" : "nvidia-b");
    if (tiny == &cpu) {
      cell.idle = {{NoiseSource::kKernels, "a processor"}, {NoiseSource::kReduceOrder, "a shard"}};
    }
    const std::vector<int16_t> answers = GateAnswers(draws, 0);
    for (int r = 0; r < 6; ++r) {
      tiny->AddMember(tiny == &cpu ? answers : GateAnswers(draws, 0));
    }
  }
  for (const double sign : {1.0, -1.0}) {
    const Gate gate = sign > 0 ? Compared(cpu, gpu) : Compared(gpu, cpu);
    EXPECT_THAT(gate.bits, IsEmpty());
    ASSERT_EQ(gate.settings.size(), 1u);
    EXPECT_GT(sign * *GateFigureOf(gate, "churn").difference.value, 0.01);
  }
}

// Each member of B has one answer otherwise, another one each: all excesses cancel, to 0 but for
// the rounding of thirds.
TEST(GateDrawsTest, WhatIsLeftOfEqualTermsIsNoError) {
  constexpr int64_t kExamplesOfThirds = 300;
  for (const bool blocks : {false, true}) {
    TinyStudy a(kExamplesOfThirds, 2);
    TinyStudy b(kExamplesOfThirds, 2);
    for (TinyStudy* tiny : {&a, &b}) {
      Draws draws(5);
      size_t at = 0;
      for (uint32_t block = 0; block < (blocks ? 4 : 1); ++block) {
        tiny->AddCell("algo", blocks ? StatesWithFree({NoiseSource::kInit}) : Algo(), "cpu-a",
                      block);
        for (int r = 0; r < 7; ++r) {
          std::vector<int16_t> answers;
          for (int64_t x = 0; x < kExamplesOfThirds; ++x) {
            answers.push_back(static_cast<int16_t>(x % 2 != (draws.Uniform() < 0.1 ? 1 : 0)));
          }
          if (tiny == &b) answers[at] = static_cast<int16_t>(1 - answers[at]);
          ++at;
          tiny->AddMember(answers);
        }
      }
    }
    const GateFigure shift = GateFigureOf(Compared(a, b), "shift");
    EXPECT_EQ(shift.difference.value, 0.0) << blocks;
    EXPECT_FALSE(shift.p_equivalent.has_value()) << blocks;
    EXPECT_EQ(shift.note, "0 in every draw: there is no error to go by") << blocks;
  }
}

}  // namespace
}  // namespace noisefloor::report
