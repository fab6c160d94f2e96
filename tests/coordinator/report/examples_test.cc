// What a study says of single test examples: which the hardware answers otherwise, and who is among
// those that members disagree on most.
#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr size_t kKnownExamples = 200;

int16_t Label(size_t x) { return static_cast<int16_t>(x % 10); }
int16_t Next(int16_t answer) { return static_cast<int16_t>((answer + 1) % 10); }

// Two classes with equal draws: seeds toss a coin on every fifth example, and another one on cpu-b
// for so many of those times; the first `following` examples are right on cpu-a only.
void AddSides(TinyStudy& tiny, int replicates, size_t following, double another = 0.1,
              const States& states = Algo()) {
  Draws draws(41);
  std::vector<std::vector<int16_t>> of_b;
  tiny.AddCell("algo", states, "cpu-a");
  for (int r = 0; r < replicates; ++r) {
    std::vector<int16_t> a;
    std::vector<int16_t>& b = of_b.emplace_back();
    for (size_t x = 0; x < kKnownExamples; ++x) {
      const bool tossed = x % 5 == 4 && draws.Uniform() < 0.5;
      const bool again = x % 5 == 4 && draws.Uniform() < another;
      a.push_back(tossed ? Next(Label(x)) : Label(x));
      b.push_back(tossed != again ? Next(Label(x)) : Label(x));
      if (x < following) a.back() = Label(x);
      if (x < following) b.back() = Next(Label(x));
    }
    tiny.AddMember(a);
  }
  tiny.AddCell("algo", states, "cpu-b");
  for (const std::vector<int16_t>& answers : of_b) tiny.AddMember(answers);
}

TEST(SensitiveExamplesTest, ThoseThatFollowTheClassAreFoundAndNoOthers) {
  TinyStudy tiny(kKnownExamples, 10);
  tiny.input.evaluations[0].class_names = {"zero", "one", "two",   "three", "four",
                                           "five", "six", "seven", "eight", "nine"};
  AddSides(tiny, 12, 8);

  const Study study = BuildStudy(tiny.input);

  ASSERT_TRUE(study.hardware[0].shift.shown);
  ASSERT_THAT(study.sensitive, SizeIs(1));
  const SensitiveExamples& sensitive = study.sensitive[0];
  EXPECT_EQ(sensitive.label, study.hardware[0].label);
  EXPECT_EQ(sensitive.side_a, "cpu-a");
  EXPECT_EQ(sensitive.side_b, "cpu-b");
  EXPECT_EQ(sensitive.draws, 12);
  EXPECT_EQ(sensitive.examples, static_cast<int64_t>(kKnownExamples));
  EXPECT_THAT(sensitive.found, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  ASSERT_GE(sensitive.most.size(), 8u);
  for (size_t k = 0; k < 8; ++k) {
    const SensitiveExample& one = sensitive.most[k];
    EXPECT_EQ(one.example, static_cast<int64_t>(k));
    EXPECT_EQ(one.flips, 12);
    EXPECT_EQ(one.said_a, tiny.input.evaluations[0].class_names[k]);
    EXPECT_EQ(one.said_b, tiny.input.evaluations[0].class_names[k + 1]);
    EXPECT_NEAR(*one.p, 2.0 / 4096, 1e-12);
    EXPECT_LE(*one.p_fdr, 0.05);
    EXPECT_GT(*one.rate.value, 0.8);
    EXPECT_LT(*one.rate.value, 1);
  }
  EXPECT_EQ(sensitive.most[3].label_name, "three");
  EXPECT_GT(sensitive.flipped, 8);
  for (size_t k = 8; k < sensitive.most.size(); ++k) {
    EXPECT_LT(*sensitive.most[k].rate.value, *sensitive.most[0].rate.value);
    EXPECT_FALSE(sensitive.most[k].p_fdr.value_or(1) <= 0.05);
  }
  EXPECT_THAT(sensitive.text, HasSubstr("in one of 12 draws or more; of "));
  EXPECT_THAT(sensitive.text,
              HasSubstr("that flip so often that it could be told, 8 go with the "
                        "hardware (at most 5 % of these are expected to be chance"));
  const std::string tables = RenderTables(study, {});
  EXPECT_THAT(tables, HasSubstr("Examples that go with the hardware"));
  EXPECT_THAT(tables, HasSubstr("0 (zero)"));
  EXPECT_THAT(tables, HasSubstr("12 of 12"));
  EXPECT_THAT(tables, HasSubstr("The table shows 5 of these 8."));
}

TEST(SensitiveExamplesTest, DecisionsAreNotCalledExamples) {
  TinyStudy tiny(kKnownExamples, 10);
  AddSides(tiny, 4, 0);
  EXPECT_THAT(BuildStudy(tiny.input).sensitive.at(0).text,
              HasSubstr(" of 200 test examples are answered otherwise"));
  tiny.input.evaluations[0].attributes = 10;
  EXPECT_THAT(BuildStudy(tiny.input).sensitive.at(0).text,
              HasSubstr(" of 200 decisions are answered otherwise"));
  EXPECT_EQ(BuildStudy(tiny.input).hardware.at(0).examples, 20);

  TinyStudy following(kKnownExamples, 10);
  AddSides(following, 12, 8);
  EXPECT_EQ(BuildStudy(following.input).hardware.at(0).examples, 200);
  following.input.evaluations[0].attributes = 10;
  EXPECT_THAT(RenderTables(BuildStudy(following.input), {}),
              AllOf(HasSubstr("Decisions that go with the hardware or the stack"),
                    ContainsRegex("decision +cpu-a +cpu-b +flips")));
}

TEST(SensitiveExamplesTest, WithoutAShiftNoneIsTested) {
  TinyStudy tiny(kKnownExamples, 10);
  AddSides(tiny, 12, 0, 0.7);  // Some of the 40 examples flip in nearly all draws.

  const Study study = BuildStudy(tiny.input);

  ASSERT_FALSE(study.hardware[0].shift.shown);
  ASSERT_THAT(study.sensitive, SizeIs(1));
  EXPECT_GE(study.sensitive[0].most[0].flips, 11);
  EXPECT_EQ(study.sensitive[0].tested, 0);
  EXPECT_THAT(study.sensitive[0].found, IsEmpty());
  EXPECT_GT(study.sensitive[0].flipped, 0);
  ASSERT_THAT(study.sensitive[0].most, Not(IsEmpty()));
  EXPECT_FALSE(study.sensitive[0].most[0].p.has_value());
  EXPECT_THAT(study.sensitive[0].text,
              HasSubstr("no shift of the mean answer is shown, so that none of "
                        "them is tested."));
  EXPECT_THAT(RenderTables(study, {}), Not(HasSubstr("Examples that go with the hardware")));
}

TEST(SensitiveExamplesTest, WhatIsHeldIsSaidToBeOneDraw) {
  TinyStudy tiny(kKnownExamples, 10);
  AddSides(tiny, 4, 8, 0.1, StatesWithFree({NoiseSource::kInit}));
  EXPECT_THAT(BuildStudy(tiny.input).sensitive.at(0).text,
              HasSubstr("in one of 4 draws or more at this one data_order, augment and dropout;"));
}

TEST(SensitiveExamplesTest, CopiesOfOneDrawAndTooFewDrawsAreNoSample) {
  TinyStudy copies(kKnownExamples, 10);
  std::vector<int16_t> answers;
  for (size_t x = 0; x < kKnownExamples; ++x) answers.push_back(Label(x));
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    copies.AddCell("control", Control(), hardware);
    for (int r = 0; r < 5; ++r) copies.AddMember(answers);
    answers[0] = 7;
  }
  TinyStudy few(kKnownExamples, 10);
  AddSides(few, 2, 8);

  EXPECT_THAT(BuildStudy(copies.input).sensitive, IsEmpty());
  EXPECT_THAT(BuildStudy(few.input).sensitive, IsEmpty());
}

// Members toss coins on the examples of class 6, and on one in forty of the others.
void AddTossersOfSix(TinyStudy& tiny) {
  tiny.AddCell("algo", Algo(), "cpu-a");
  Draws draws(5);
  for (int r = 0; r < 10; ++r) {
    std::vector<int16_t> answers;
    for (size_t x = 0; x < kKnownExamples; ++x) {
      const bool tossed = (Label(x) == 6 || x % 40 == 0) && draws.Uniform() < 0.5;
      answers.push_back(tossed ? Next(Label(x)) : Label(x));
    }
    tiny.AddMember(answers);
  }
}

TEST(DivergentGroupsTest, AClassThatIsMoreOftenAmongTheDivergentIsNamed) {
  TinyStudy tiny(kKnownExamples, 10);
  ExampleGroups even = {"even", {"no", "yes"}, {}};
  for (size_t x = 0; x < kKnownExamples; ++x) even.of_example.push_back(x / 10 % 2 == 0);
  // 15 of the 25 that flip are lucky, and 35 % of all: alone that would be told, not among so many.
  ExampleGroups lucky = {"lucky", {"no", "yes"}, {}};
  size_t left = 15;
  size_t others = 55;
  for (size_t x = 0; x < kKnownExamples; ++x) {
    size_t& of = Label(x) == 6 || x % 40 == 0 ? left : others;
    lucky.of_example.push_back(of > 0);
    of -= of > 0;
  }
  tiny.input.evaluations[0].groups = {even, lucky};
  AddTossersOfSix(tiny);

  const DivergentExamples divergent = BuildStudy(tiny.input).divergent;

  ASSERT_THAT(divergent.groups, SizeIs(14));
  EXPECT_EQ(divergent.by_all, 25);  // 20 of class 6, 5 others: all that flip.
  const DivergentGroup& six = divergent.groups[6];
  EXPECT_EQ(six.column, "");
  EXPECT_EQ(six.name, "6");
  EXPECT_EQ(six.examples, 20);
  EXPECT_EQ(six.divergent, 20);
  EXPECT_DOUBLE_EQ(*six.ratio.value, (20.0 / 25) / (20.0 / 200));
  EXPECT_LT(*six.p_holm, 1e-10);
  const DivergentGroup& yes = divergent.groups[11];
  EXPECT_EQ(yes.column, "even");
  EXPECT_EQ(yes.name, "yes");
  EXPECT_EQ(yes.examples, 100);
  EXPECT_GT(*yes.p_holm, 0.05);
  EXPECT_EQ(divergent.groups[13].divergent, 15);
  EXPECT_EQ(divergent.groups[13].examples, 70);
  EXPECT_LT(*divergent.groups[13].p, 0.05);
  EXPECT_GT(*divergent.groups[13].p_holm, 0.05);
  EXPECT_THAT(divergent.groups_text,
              HasSubstr("Among the 25 that all members together disagree on most, more often than "
                        "other examples: 6 (20, 8.00 times its share) (exact, after Holm over 14 "
                        "classes and groups)."));
}

// Whoever is not of class 6 is rarer among the divergent, and as surely.
TEST(DivergentGroupsTest, AGroupThatIsRarerAmongTheDivergentIsNotNamed) {
  TinyStudy tiny(kKnownExamples, 10);
  ExampleGroups kinds = {"kind", {"six", "other"}, {}};
  for (size_t x = 0; x < kKnownExamples; ++x) kinds.of_example.push_back(Label(x) != 6);
  tiny.input.evaluations[0].groups = {kinds};
  AddTossersOfSix(tiny);

  const DivergentExamples divergent = BuildStudy(tiny.input).divergent;

  ASSERT_THAT(divergent.groups, SizeIs(12));
  const DivergentGroup& other = divergent.groups[11];
  EXPECT_EQ(other.name, "other");
  EXPECT_LT(*other.ratio.value, 1);
  EXPECT_LT(*other.p_holm, 0.05);
  EXPECT_THAT(divergent.groups_text, HasSubstr("kind six (20, 8.00 times its share)"));
  EXPECT_THAT(divergent.groups_text, Not(HasSubstr("kind other")));
}

TEST(DivergentGroupsTest, WhileMembersAreStillToComeNothingIsClaimed) {
  TinyStudy tiny(kKnownExamples, 10);
  AddTossersOfSix(tiny);
  tiny.input.members.back().state = MemberState::kWaiting;

  const DivergentExamples divergent = BuildStudy(tiny.input).divergent;

  ASSERT_THAT(divergent.groups, SizeIs(10));
  for (const DivergentGroup& group : divergent.groups) {
    EXPECT_FALSE(group.p.has_value());
    EXPECT_FALSE(group.p_holm.has_value());
  }
  EXPECT_EQ(divergent.groups_text, "");
}

// Forty images with ten decisions each: what flips are the decisions on two images of one camera,
// which are two draws and not twenty.
TEST(DivergentGroupsTest, DecisionsOnOneExampleAreOneDraw) {
  TinyStudy tiny(400, 2);
  tiny.input.evaluations[0].attributes = 10;
  ExampleGroups cameras = {"camera", {"new", "old"}, {}};
  for (size_t x = 0; x < 400; ++x) cameras.of_example.push_back(x < 100);
  tiny.input.evaluations[0].groups = {cameras};
  tiny.AddCell("algo", Algo(), "cpu-a");
  Draws draws(6);
  for (int r = 0; r < 8; ++r) {
    std::vector<int16_t> answers;
    for (size_t x = 0; x < 400; ++x) {
      const bool tossed = x < 20 && draws.Uniform() < 0.5;
      answers.push_back(static_cast<int16_t>(tossed ? 1 - x % 2 : x % 2));
    }
    tiny.AddMember(answers);
  }

  const Study study = BuildStudy(tiny.input);
  const DivergentExamples& divergent = study.divergent;

  EXPECT_EQ(divergent.by_all, 2);
  ASSERT_THAT(divergent.groups, SizeIs(2));  // Of cameras; an image has many classes.
  EXPECT_EQ(divergent.groups[1].name, "old");
  EXPECT_EQ(divergent.groups[1].examples, 10);
  EXPECT_EQ(divergent.groups[1].divergent, 2);
  EXPECT_NEAR(*divergent.groups[1].p, 2 * (10.0 * 9) / (40 * 39), 1e-12);
  // As many images as the other tables have.
  ASSERT_THAT(study.cohorts[0].per_group, SizeIs(2));
  EXPECT_EQ(study.cohorts[0].per_group[0].examples, 30);
  EXPECT_EQ(study.cohorts[0].per_group[1].examples, 10);
  EXPECT_EQ(study.evaluation.examples, 40);
  EXPECT_EQ(nlohmann::json::parse(StudyToJson(study))["evaluation"]["attributes"], 10);
  // What is counted beside them is called what it is.
  EXPECT_THAT(study.headlines, Contains(ContainsRegex("disagree on .* of the decisions \\(n = 8")));
  EXPECT_THAT(divergent.note,
              AllOf(HasSubstr("at most 40 decisions"), Not(HasSubstr(" examples"))));
  EXPECT_THAT(
      RenderTables(study, {}),
      AllOf(HasSubstr("; 40 test examples (tiny, 2 classes)"),
            ContainsRegex("class +decisions +top-1"), ContainsRegex("group +examples +top-1"),
            HasSubstr("Most divergent decisions (pairs of one cell)"),
            ContainsRegex("decision +disagreement")));
}

}  // namespace
}  // namespace noisefloor::report
