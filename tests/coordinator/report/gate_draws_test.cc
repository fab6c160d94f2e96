// Of how many draws each figure of a gate is, and what is said of those without an interval.
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

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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

}  // namespace
}  // namespace noisefloor::report
