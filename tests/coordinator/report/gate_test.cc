// Two studies as a gate: what passes, what fails, what is not decided, and in which words.
#include "coordinator/report/gate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/analysis/contrast.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/report/gate_forms.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/gate_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Margins kWide = {.churn = 0.05, .top1 = 0.05, .shift = 0.05};

TEST(GateTest, TheSameDrawsWithTheSameAnswersPass) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 5, 0, 1);
  AddGateAlgo(b, 5, 0, 1);
  const Gate gate = Compared(a, b);
  EXPECT_EQ(gate.verdict, Verdict::kPass);
  ASSERT_EQ(gate.settings.size(), 1u);
  EXPECT_TRUE(gate.settings[0].paired);
  EXPECT_EQ(gate.settings[0].draws_a, 5);
  for (const GateFigure& figure : gate.settings[0].figures) {
    EXPECT_EQ(figure.verdict, Verdict::kPass) << figure.figure;
    EXPECT_EQ(
        figure.note,
        "equal answers in each of 5 draws: at most 45.1 % of draws answer otherwise, at 95 %");
    EXPECT_FALSE(figure.p_equivalent.has_value());
    // So many that none of five answers otherwise in one case of twenty.
    EXPECT_NEAR(std::pow(1 - figure.most_otherwise.value(), 5), 0.05, 1e-12);
  }
  EXPECT_THAT(
      gate.findings,
      ElementsAre("Pass: B has the answers of A in every draw of algo (all 3 figures by equal "
                  "answers, which is no test).",
                  "algo: equal answers in each of 5 draws: at most 45.1 % of draws answer "
                  "otherwise, at 95 %."));
  const auto json = nlohmann::json::parse(GateJson(gate));
  EXPECT_EQ(json["equal_answers"], 3);
  EXPECT_NEAR(json["settings"][0]["figures"][1]["most_otherwise"].get<double>(), 0.4507, 1e-4);
  EXPECT_THAT(GateJUnit(gate), HasSubstr("; equal answers in each of 5 draws: at most 45.1 %"));
}

TEST(GateTest, FiguresThatPassByEqualAnswersAreCountedApart) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    AddGateAlgo(*tiny, 12, 0, 1);
    Draws draws(tiny == &a ? 2 : 3);
    tiny->AddCell("other", Algo(), "cpu-a");
    for (int r = 0; r < 12; ++r) tiny->AddMember(GateAnswers(draws, 0));
  }
  const Gate gate = Compared(a, b, {.margins = kWide});
  EXPECT_EQ(gate.verdict, Verdict::kPass);
  EXPECT_EQ(gate.findings.at(0),
            "Pass: B is equivalent to A in 3 of 6 figures (two one-sided tests at 5 %), and 3 pass "
            "by equal answers (which is no test).");
  EXPECT_EQ(nlohmann::json::parse(GateJson(gate))["equal_answers"], 3);
  const Gate narrow = Compared(a, b, {.margins = {.churn = 0.05, .top1 = 0.002, .shift = 0.05}});
  EXPECT_EQ(narrow.findings.at(0),
            "Inconclusive: 5 of 6 figures lie inside their margins (3 by equal answers, which is "
            "no test), none is shown to lie outside.");
  EXPECT_EQ(Compared(a, b, {.margins = kWide, .plan = "other"}).findings.at(0),
            "Pass: B is equivalent to A in all 3 figures (two one-sided tests at 5 %).");

  a.input.sweep.reference_accuracy = 1;
  const Gate doubted = Compared(a, b, {.margins = kWide});
  EXPECT_EQ(nlohmann::json::parse(GateJson(doubted))["equal_answers"], 0)
      << "an A that is under-trained judges nothing";
}

TEST(GateTest, OtherDrawsOfTheSameAreEquivalentWhereTheMarginIsWide) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 12, 0, 1);
  AddGateAlgo(b, 10, 0, 2);
  b.input.sweep.seed = 1;
  const Gate wide = Compared(a, b, {.margins = kWide});
  EXPECT_EQ(wide.verdict, Verdict::kPass);
  EXPECT_FALSE(wide.settings[0].paired);
  EXPECT_EQ(wide.settings[0].draws_a, 12);
  EXPECT_EQ(wide.settings[0].draws_b, 10);
  const GateFigure& top1 = GateFigureOf(wide, "top1");
  // Welch's 90 % interval, from the contrast that the report makes of the same numbers.
  std::vector<double> of_a;
  std::vector<double> of_b;
  for (const MemberInput& member : a.input.members) of_a.push_back(member.final_metrics.at("top1"));
  for (const MemberInput& member : b.input.members) of_b.push_back(member.final_metrics.at("top1"));
  const analysis::Contrast contrast =
      analysis::UnpairedContrast(analysis::MeanWithoutEach(of_a), analysis::MeanWithoutEach(of_b),
                                 analysis::Scale::kDifference, "fraction");
  EXPECT_EQ(top1.difference.low, contrast.estimate.low);
  EXPECT_EQ(top1.difference.high, contrast.estimate.high);
  const double narrower = analysis::TQuantile(contrast.error->degrees, 0.95) /
                          analysis::TQuantile(contrast.error->degrees, 0.975);
  EXPECT_NEAR(*top1.high - *top1.low, narrower * (*top1.difference.high - *top1.difference.low),
              1e-12);

  const Gate narrow = Compared(a, b, {.margins = {1e-4, 1e-4, 1e-4}});
  EXPECT_EQ(narrow.verdict, Verdict::kInconclusive);
  EXPECT_THAT(narrow.findings.at(0), StartsWith("Inconclusive: 0 of 3 figures lie inside"));
  const GateFigure& open = GateFigureOf(narrow, "top1");
  ASSERT_TRUE(open.draws_to_decide.has_value());
  EXPECT_GT(*open.draws_to_decide, 1000);
  EXPECT_THAT(narrow.findings, Contains(HasSubstr(std::to_string(*open.draws_to_decide) +
                                                  " draws a side decide it in 80 % of cases")));
  EXPECT_FALSE(GateFigureOf(wide, "top1").draws_to_decide.has_value());
}

TEST(GateTest, WhatLiesBeyondTheMarginFailsAndIsNamed) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 10, 0, 1);
  AddGateAlgo(b, 10, 24,
              2);  // 6 % are wrong in every member: top-1 falls, and the mean answer moves.
  b.input.sweep.seed = 1;
  const Gate gate = Compared(a, b);
  EXPECT_EQ(gate.verdict, Verdict::kFail);
  const GateFigure& top1 = GateFigureOf(gate, "top1");
  EXPECT_EQ(top1.verdict, Verdict::kFail);
  EXPECT_LT(*top1.difference.high, -0.005);
  EXPECT_EQ(GateFigureOf(gate, "shift").verdict, Verdict::kFail);
  EXPECT_GT(*GateFigureOf(gate, "shift").difference.low, 0.01);
  EXPECT_THAT(gate.findings.at(0), "Fail: B is not what A is: 2 figures beyond the margin.");
  EXPECT_THAT(gate.findings, Contains(StartsWith("algo: top-1 differs by -")));
  EXPECT_THAT(gate.findings, Contains(HasSubstr("after Holm over 3 figures")));
  // Beyond a margin that B stays within, nothing fails.
  EXPECT_EQ(Compared(a, b, {.margins = {0.2, 0.2, 0.2}}).verdict, Verdict::kPass);
}

TEST(GateTest, ASmallDifferenceInsideTheMarginPassesThoughItIsShown) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 8, 0, 1);
  AddGateAlgo(b, 8, 8, 1);  // The same draws: 2 % wrong besides, paired.
  const Gate gate = Compared(a, b, {.margins = kWide});
  const GateFigure& top1 = GateFigureOf(gate, "top1");
  EXPECT_LT(*top1.difference.high, 0) << "it differs";
  EXPECT_EQ(top1.verdict, Verdict::kPass) << "by less than the margin";
}

TEST(GateTest, BitsAreComparedWhereNothingIsFree) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    Draws draws(3);
    tiny->AddCell("control", Control(), "cpu-a");
    const std::vector<int16_t> answers = GateAnswers(draws, tiny == &a ? 0 : 4);
    for (int r = 0; r < 3; ++r) tiny->AddMember(answers);
    AddGateAlgo(*tiny, 6, 0, 1);
  }
  const Gate told = Compared(a, b);
  EXPECT_EQ(told.verdict, Verdict::kPass) << "bits are told, and nothing was asked of them";
  EXPECT_THAT(told.findings.at(0), EndsWith(", but control has other bits."));
  ASSERT_EQ(told.bits.size(), 1u);
  EXPECT_EQ(told.bits[0].pairs, 3);
  EXPECT_EQ(told.bits[0].identical, 0);
  EXPECT_GT(*told.bits[0].churn.value, 0);
  EXPECT_LE(*told.bits[0].churn.value, 4.0 / kGateExamples);
  EXPECT_THAT(told.findings, Contains(StartsWith("control: 0 of 3 pairs of equal seeds have")));
  EXPECT_EQ(Compared(a, b, {.same_bits = true}).verdict, Verdict::kFail);

  const Gate only = Compared(a, a, {.plan = "control", .same_bits = true});
  EXPECT_EQ(only.verdict, Verdict::kPass);
  EXPECT_EQ(only.findings.at(0), "Pass: B has the bits of A.");
  EXPECT_THAT(CompareStudies(a.input, a.input, {.plan = "control"}).status().message(),
              HasSubstr("--same-bits compares those"));
  b.input.sweep.seed = 9;
  const Gate other = Compared(a, b, {.plan = "control", .same_bits = true});
  EXPECT_EQ(other.verdict, Verdict::kInconclusive);
  EXPECT_EQ(other.findings.at(0),
            "Inconclusive: nothing is shown to differ, but not all bits could be compared.");
  EXPECT_EQ(Compared(a, b, {.margins = kWide, .plan = "", .same_bits = false}).bits[0].pairs, 0);
}

TEST(GateTest, BitsOfWhatIsLostOrHasNoHashAreNotPassed) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    tiny->AddCell("control", Control(), "cpu-a");
    for (int r = 0; r < 3; ++r) tiny->AddMember(std::vector<int16_t>(kGateExamples, 0));
    tiny->input.evaluations[0].identity = "same";
  }
  const GateOptions bits_only = {.same_bits = true};
  EXPECT_EQ(Compared(a, b, bits_only).verdict, Verdict::kPass);
  b.input.members[2].hashes.weights = "";
  const Gate unproved = Compared(a, b, bits_only);
  EXPECT_EQ(unproved.verdict, Verdict::kInconclusive);
  EXPECT_THAT(unproved.findings,
              Contains("control: 2 of 3 pairs of equal seeds have equal bits; of "
                       "1 it is not known, for want of a hash; 0.00 % of the "
                       "answers differ."));
  b.input.members[2].hashes.weights = a.input.members[2].hashes.weights;
  b.input.members[2].hashes.logits = "other";
  EXPECT_EQ(Compared(a, b, bits_only).verdict, Verdict::kFail);
  b.input.members[2].state = MemberState::kDiverged;
  const Gate lost = Compared(a, b, bits_only);
  EXPECT_EQ(lost.verdict, Verdict::kInconclusive);
  EXPECT_EQ(lost.findings.at(0), "Inconclusive: nothing is shown to differ, but B is not whole.");
  EXPECT_THAT(
      lost.findings,
      Contains("control: 1 of 3 members is not done on B, 0 of 3 on A, so that B does not pass."));
}

TEST(GateTest, FiguresBeyondTheMarginAndOtherBitsAreToldTogether) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    Draws draws(3);
    tiny->AddCell("control", Control(), "cpu-a");
    const std::vector<int16_t> answers = GateAnswers(draws, tiny == &a ? 0 : 4);
    for (int r = 0; r < 3; ++r) tiny->AddMember(answers);
    AddGateAlgo(*tiny, 10, tiny == &a ? 0 : 24, 1);
  }
  EXPECT_THAT(Compared(a, b, {.same_bits = true}).findings.at(0),
              EndsWith(" beyond the margin, and other bits."));
  EXPECT_THAT(Compared(a, b).findings.at(0), EndsWith(" beyond the margin."));
}

TEST(GateTest, SettingsThatDifferAreTold) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    AddGateAlgo(*tiny, 4, 0, 1);
    const char* const epochs = tiny == &a ? "3" : "4";
    tiny->input.sweep.settings = {{"train.epochs", epochs, true}, {"data.name", "tiny", true}};
  }
  EXPECT_THAT(Compared(a, b).notes, ElementsAre("train.epochs: 3 on A, 4 on B"));
}

TEST(GateTest, WhatDoesNotMeetIsSaid) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 4, 0, 1, "cpu-a");
  AddGateAlgo(a, 4, 0, 2, "cpu-b");
  AddGateAlgo(b, 4, 0, 1, "cpu-c");
  EXPECT_EQ(CompareStudies(a.input, b.input, {}).status().message(),
            "A and B have no plan in common at the same point of the axes (A: on cpu-a, cpu-b; B: "
            "on cpu-c); classes and stacks of other names are chosen with --hardware-a, "
            "--hardware-b, --stack-a, --stack-b");
  EXPECT_EQ(CompareStudies(a.input, b.input, {.a = {.hardware = "cpu-x"}}).status().message(),
            "A has no class cpu-x; it has cpu-a, cpu-b");
  EXPECT_EQ(CompareStudies(a.input, b.input, {.plan = "nope"}).status().message(),
            "A has no plan nope; it has algo");
  const Gate one = Compared(a, b, {.margins = kWide, .a = {.hardware = "cpu-b"}});
  EXPECT_THAT(one.settings.at(0).hardware_a, ElementsAre("cpu-b"));
  EXPECT_THAT(one.settings.at(0).hardware_b, ElementsAre("cpu-c"));

  TinyStudy c(kGateExamples, 2);
  c.AddCell("algo", Impl(), "cpu-a");
  c.input.evaluations[0].identity = "same";
  EXPECT_THAT(CompareStudies(b.input, c.input, {}).status().message(),
              HasSubstr("plan algo: its sources are not in the same states"));
  TinyStudy d(kGateExamples, 2);
  AddGateAlgo(d, 4, 0, 1);
  d.input.evaluations[0].identity = "other";
  EXPECT_THAT(CompareStudies(b.input, d.input, {}).status().message(),
              HasSubstr("tested on other examples (A: 400 examples same, B: 400 examples other)"));
  TinyStudy fewer(kGateExamples / 2, 2);
  fewer.AddCell("algo", Algo(), "cpu-a");
  fewer.AddMember(std::vector<int16_t>(kGateExamples / 2, 0));
  fewer.input.evaluations[0].identity = "same";
  EXPECT_THAT(CompareStudies(b.input, fewer.input, {}).status().message(),
              HasSubstr("tested on other examples (A: 400 examples same, B: 200 examples same)"));
  fewer.input.evaluations[0].attributes = 8;  // Decisions on one.
  EXPECT_THAT(CompareStudies(b.input, fewer.input, {}).status().message(),
              HasSubstr("B: 25 examples same)"));
}

TEST(GateTest, TwoDrawsDecideNothing) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 2, 0, 1);
  AddGateAlgo(b, 2, 0, 2);
  const Gate gate = Compared(a, b, {.margins = kWide});
  EXPECT_EQ(gate.verdict, Verdict::kInconclusive);
  EXPECT_THAT(gate.findings, Contains("algo: top-1 is not decided: needs three draws a side, there "
                                      "are 2."));
}

// Physical sources vary at one draw of the seeded ones, which other seeds draw anew: what differs
// may be due to these, of which each side has one.
TEST(GateTest, OneOtherDrawOfWhatIsHeldDecidesNothing) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    Draws draws(tiny == &a ? 1 : 2);
    tiny->AddCell("impl", Impl(), "cpu-a");
    for (int r = 0; r < 8; ++r) tiny->AddMember(GateAnswers(draws, tiny == &a ? 0 : 40));
    tiny->input.evaluations[0].identity = "same";
  }
  const Gate same_seed = Compared(a, b);
  EXPECT_FALSE(same_seed.settings.at(0).paired) << "replicates have nothing in common that varies";
  EXPECT_EQ(same_seed.settings.at(0).draws_a, 8);
  EXPECT_EQ(same_seed.verdict, Verdict::kFail);
  b.input.sweep.seed = 5;
  const Gate other_seed = Compared(a, b);
  EXPECT_EQ(other_seed.verdict, Verdict::kInconclusive);
  EXPECT_THAT(
      other_seed.findings,
      Contains(HasSubstr("is not decided: A and B have one draw each of init, data_order")));
}

TEST(GateTest, WhatIsJudgedAtOneDrawOfWhatIsHeldIsSaidToBe) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    Draws draws(tiny == &a ? 1 : 2);
    tiny->AddCell("impl", Impl(), "cpu-a");
    for (int r = 0; r < 8; ++r) tiny->AddMember(GateAnswers(draws, 0));
  }
  const std::string at = "at this one init, data_order, augment and dropout";
  const Margins margins = {.churn = 0.2, .top1 = 0.2, .shift = 0.2};
  const Gate gate = Compared(a, b, {.margins = margins});
  EXPECT_EQ(
      gate.findings.at(0),
      "Pass: B is equivalent to A in all 3 figures (two one-sided tests at 5 %), " + at + ".");
  EXPECT_THAT(gate.settings.at(0).held, ElementsAre("init", "data_order", "augment", "dropout"));
  EXPECT_EQ(nlohmann::json::parse(GateJson(gate))["settings"][0]["held"].size(), 4u);
  for (const std::string& form : {GateText(gate), GateJUnit(gate), GatePage(gate)}) {
    EXPECT_THAT(form, HasSubstr("n = 8 draws each " + at));
  }
  EXPECT_THAT(Compared(a, b, {.margins = {1e-3, 1e-3, 1e-3}}).findings,
              Contains(HasSubstr("(n = 8 draws each " + at + "); if there is no difference")));

  // Beside a plan that holds nothing, the one that does is named.
  AddGateAlgo(a, 8, 0, 3);
  AddGateAlgo(b, 8, 0, 4);
  EXPECT_EQ(Compared(a, b, {.margins = margins}).findings.at(0),
            "Pass: B is equivalent to A in all 6 figures (two one-sided tests at 5 %), of impl " +
                at + ".");
  EXPECT_THAT(Compared(a, b, {.margins = margins, .plan = "algo"}).findings.at(0),
              EndsWith("(two one-sided tests at 5 %)."));

  // Of other seeds it is not the same one.
  b.input.sweep.seed = 5;
  EXPECT_THAT(GateText(Compared(a, b, {.margins = margins})), Not(HasSubstr("at this one")));
}

TEST(GateTest, FailuresAtOneDrawOfWhatIsHeldAreSaidToBe) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    Draws draws(tiny == &a ? 1 : 2);
    tiny->AddCell("impl", Impl(), "cpu-a");
    for (int r = 0; r < 8; ++r) tiny->AddMember(GateAnswers(draws, tiny == &a ? 0 : 40));
    AddGateAlgo(*tiny, 8, 0, 1);
  }
  EXPECT_THAT(Compared(a, b).findings.at(0),
              EndsWith(" beyond the margin, at this one init, data_order, augment and dropout."));
}

// A and B have three pairs, though each has four members.
TEST(GateTest, EqualAnswersAreCountedInPairs) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  Draws draws(1);
  const std::vector<int16_t> answers = GateAnswers(draws, 0);
  for (TinyStudy* tiny : {&a, &b}) {
    tiny->AddCell("impl", Impl(), "cpu-a");
    for (int r = 0; r < 5; ++r) tiny->AddMember(answers);
    tiny->input.members[tiny == &a ? 0 : 4].state = MemberState::kDiverged;
  }
  const Gate gate = Compared(a, b);
  EXPECT_EQ(gate.settings.at(0).draws_a, 4);
  EXPECT_EQ(GateFigureOf(gate, "top1").note,
            "equal answers in each of 3 draws at this one init, data_order, augment and dropout: "
            "at most 63.2 % of draws answer otherwise, at 95 %");
  EXPECT_THAT(gate.findings.at(0),
              StartsWith("Pass: B has the answers of A in every draw of impl, at this one init, "));
  a.input.members[1].state = b.input.members[3].state = MemberState::kDiverged;
  EXPECT_EQ(GateFigureOf(Compared(a, b), "top1").note,
            "0 in every draw: there is no error to go by");
}

// Over blocks of equal seeds, replicate r of a block has the same draws of what is free on both
// sides: a pair of these has no place in the churn across.
TEST(GateTest, OverBlocksTheShiftIsThatOfTheAnswers) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  const States order = StatesWithFree({NoiseSource::kDataOrder});
  constexpr int64_t kMoved = 16;
  for (TinyStudy* tiny : {&a, &b}) {
    for (uint32_t block = 0; block < 4; ++block) {
      Draws draws(block + 1);
      tiny->AddCell("order", order, "cpu-a", block);
      for (int r = 0; r < 3; ++r) tiny->AddMember(GateAnswers(draws, tiny == &a ? 0 : kMoved));
    }
    tiny->input.evaluations[0].identity = "same";
  }
  const Gate gate = Compared(a, b);
  const GateSetting& setting = gate.settings.at(0);
  EXPECT_TRUE(setting.over_blocks);
  EXPECT_TRUE(setting.paired);
  EXPECT_EQ(setting.draws_a, 4);
  EXPECT_THAT(GateText(gate), Not(HasSubstr("at this one"))) << "the draws are blocks";
  EXPECT_EQ(
      GateFigureOf(Compared(a, a), "churn").note,
      "equal answers in each of 4 blocks: at most 52.7 % of blocks answer otherwise, at 95 %");
  // On what moved all of B are wrong and a tenth of A: 0.9 across, 0.18 inside A, 0 inside B.
  const double expected = (0.9 - 0.18 / 2) * kMoved / kGateExamples;
  EXPECT_NEAR(*GateFigureOf(gate, "shift").difference.value, expected, 0.006);
  EXPECT_EQ(GateFigureOf(gate, "shift").verdict, Verdict::kFail);
}

TEST(GateTest, WhatBLostKeepsItFromPassing) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 6, 0, 1);
  AddGateAlgo(b, 6, 0, 1);
  b.input.members[5].state = MemberState::kDiverged;
  const Gate gate = Compared(a, b);
  EXPECT_EQ(gate.settings.at(0).draws_b, 5);
  EXPECT_EQ(gate.verdict, Verdict::kInconclusive);
  EXPECT_EQ(gate.findings.at(0),
            "Inconclusive: every figure is inside its margin (3 by equal answers, which is no "
            "test), but B is not whole.");
  EXPECT_THAT(gate.findings, Contains("algo: 1 of 6 members is not done on B, 0 of 6 on A, so that "
                                      "B does not pass."));
  EXPECT_EQ(Compared(b, a).verdict, Verdict::kPass) << "what A lost is not B's";

  // One of twelve on A is no reason to pass a B that lost one of six.
  TinyStudy large(kGateExamples, 2);
  AddGateAlgo(large, 12, 0, 1);
  large.input.members[5].state = MemberState::kDiverged;
  const Gate shares = Compared(large, b);
  EXPECT_EQ(shares.verdict, Verdict::kInconclusive);
  EXPECT_THAT(shares.findings, Contains("algo: 1 of 6 members is not done on B, 1 of 12 on A, so "
                                        "that B does not pass."));
  EXPECT_NE(Compared(b, large).verdict, Verdict::kFail);

  TinyStudy more(kGateExamples, 2);
  AddGateAlgo(more, 6, 0, 1);
  more.AddCell("other", Algo(), "cpu-a");
  const Gate missing = Compared(more, a);
  EXPECT_EQ(missing.verdict, Verdict::kInconclusive);
  EXPECT_THAT(missing.findings, Contains("other: on A only, so that B does not pass."));
  EXPECT_THAT(Compared(a, more).notes, ElementsAre("other: on B only"));
}

TEST(GateTest, AStudyAgainstItselfIsToldToBe) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 3, 0, 1);
  AddGateAlgo(b, 3, 0, 1);
  const auto has_note = Contains(StartsWith("A and B are the same runs"));
  EXPECT_THAT(Compared(a, b).notes, Not(has_note)) << "nobody has told how long they took";
  for (size_t m = 0; m < 3; ++m) {
    a.input.members[m].seconds = b.input.members[m].seconds = 8.25 + static_cast<double>(m);
  }
  EXPECT_THAT(Compared(a, b).notes, has_note);
  b.input.members[2].seconds = 8.5;
  EXPECT_THAT(Compared(a, b).notes, Not(has_note));
}

// When to stop may have followed from a look.
TEST(GateTest, WhatSomebodyCutShortIsNoted) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 6, 0, 1);
  AddGateAlgo(b, 6, 0, 1);
  EXPECT_THAT(Compared(a, b).notes, Each(Not(HasSubstr("cancelled"))));
  a.input.members[4].state = MemberState::kCancelled;
  a.input.members[5].state = MemberState::kCancelled;
  EXPECT_THAT(Compared(a, b).notes,
              Contains("A: 2 of 6 members cancelled: where that was decided after a look at "
                       "results, a verdict promises too much; `noisefloor retry` lets them wait "
                       "again"));
}

TEST(GateTest, WhatIsNotTrainedYetIsNotDecided) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 4, 0, 1);
  AddGateAlgo(b, 4, 0, 1);
  for (MemberInput& member : b.input.members) member.state = MemberState::kWaiting;
  b.input.evaluations[0] = {};
  const Gate gate = Compared(a, b);
  EXPECT_EQ(gate.verdict, Verdict::kInconclusive);
  EXPECT_THAT(gate.findings,
              Contains("algo: top-1 is not decided: it is tested once, when all members "
                       "have ended."));
}

TEST(GateTest, StacksMeetEachForItself) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    for (const char* stack : {"old", "new"}) {
      const bool broken = tiny == &b && std::string(stack) == "new";
      AddGateAlgo(*tiny, 6, broken ? 40 : 0, 1);
      tiny->input.cells.back().stack = stack;
    }
  }
  const Gate gate = Compared(a, b);
  ASSERT_EQ(gate.settings.size(), 2u);
  EXPECT_EQ(gate.settings[0].setting, "algo on new");
  EXPECT_EQ(gate.settings[1].setting, "algo on old");
  EXPECT_EQ(gate.verdict, Verdict::kFail);
  const Gate old = Compared(a, b, {.a = {.stack = "old"}, .b = {.stack = "old"}});
  EXPECT_EQ(old.verdict, Verdict::kPass);
  EXPECT_EQ(old.name_a, "tiny (s1), old");
  EXPECT_EQ(Compared(a, b, {.a = {.stack = "new"}, .b = {.stack = "old"}}).verdict, Verdict::kPass);
}

TEST(GateTest, AnUnderTrainedBFailsAndAnUnderTrainedADecidesNothing) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 8, 0, 1);
  AddGateAlgo(b, 8, 200, 1);
  a.input.sweep.reference_accuracy = b.input.sweep.reference_accuracy = 0.8;
  EXPECT_EQ(Compared(a, b).verdict, Verdict::kFail);
  EXPECT_THAT(Compared(a, b).findings, Contains("algo: B is under-trained, A is not."));
  const Gate turned = Compared(b, a);
  EXPECT_EQ(turned.verdict, Verdict::kInconclusive);
  EXPECT_THAT(turned.findings, Contains("algo: top-1 is not decided: A is under-trained."));
}

TEST(GateTest, MembersThatShareDrawsAreLeftOut) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 4, 0, 1);
  AddGateAlgo(b, 4, 0, 1);
  for (MemberInput& member : b.input.members) {
    for (auto& [source, lane] : member.lanes) lane.number = std::min(lane.number, 2u);
  }
  EXPECT_EQ(CompareStudies(a.input, b.input, {}).status().message(),
            "algo is left out: its members share draws by design");
  EXPECT_EQ(CompareStudies(b.input, a.input, {}).status().message(),
            "algo is left out: its members share draws by design");
}

TEST(GateTest, WhatBothHaveAndNothingJudgesKeepsBFromPassing) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  for (TinyStudy* tiny : {&a, &b}) {
    AddGateAlgo(*tiny, 6, 0, 1);
    Draws draws(2);
    tiny->AddCell("crossed", Algo(), "cpu-a");
    for (uint32_t r = 0; r < 6; ++r) {
      MemberInput& member = tiny->AddMember(GateAnswers(draws, tiny == &a ? 0 : 40));
      member.lanes[NoiseSource::kInit].number = r / 3 + 1;
    }
  }
  const Gate gate = Compared(a, b);
  EXPECT_EQ(gate.verdict, Verdict::kInconclusive);
  EXPECT_EQ(gate.findings.at(0),
            "Inconclusive: every figure is inside its margin (3 by equal answers, which is no "
            "test), but not everything was judged.");
  EXPECT_THAT(gate.findings, Contains("crossed is left out: its members share draws by design, so "
                                      "that B does not pass; --plan judges another plan alone."));
  EXPECT_EQ(nlohmann::json::parse(GateJson(gate))["not_judged"],
            nlohmann::json::array({"crossed"}));
  EXPECT_THAT(GateJUnit(gate),
              HasSubstr("<testcase classname=\"crossed\" name=\"judged\">\n      <error "));
  const Gate algo = Compared(a, b, {.plan = "algo"});
  EXPECT_EQ(algo.verdict, Verdict::kPass) << "left out on purpose";
  EXPECT_THAT(algo.not_judged, IsEmpty());
}

}  // namespace
}  // namespace noisefloor::report
