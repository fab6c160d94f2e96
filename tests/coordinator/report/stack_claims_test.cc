// Stacks as a factor: what another trainer or framework changes, all else equal.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/report/export.h"
#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/has_warning.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kStackExamples = 100;

// Right but for a random tenth of those from `moved` on; the first `moved` are wrong.
std::vector<int16_t> StackAnswers(Draws& draws, int64_t moved) {
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kStackExamples; ++x) {
    const bool wrong = x < moved || draws.Uniform() < 0.1;
    answers.push_back(static_cast<int16_t>(wrong ? 1 - x % 2 : x % 2));
  }
  return answers;
}

// Six replicates with a stack, which answers `moved` examples wrong in all of them. Equal seeds
// give equal answers to the rest.
void AddStack(TinyStudy& tiny, const std::string& hardware, const std::string& stack,
              int64_t moved) {
  tiny.AddCell("algo", Algo(), hardware).stack = stack;
  for (uint64_t r = 0; r < 6; ++r) {
    Draws draws(r + 1);
    std::vector<int16_t> answers = StackAnswers(draws, 0);
    for (int64_t x = 0; x < moved; ++x) answers[static_cast<size_t>(x)] ^= 1;
    tiny.AddMember(answers);
  }
}

TEST(StackTest, WhatOnlyTheStackChangesIsSaidWithItsDraws) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "ours", 0);
  AddStack(tiny, "cpu-a", "theirs", 12);

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.hardware, IsEmpty());
  ASSERT_EQ(study.stacks.size(), 1u);
  const Comparison& comparison = study.stacks[0];
  EXPECT_EQ(comparison.label, "algo: ours against theirs");
  EXPECT_FALSE(comparison.mixes_stacks);
  EXPECT_EQ(comparison.draws, 6);
  EXPECT_DOUBLE_EQ(*comparison.churn_paired.value, 0.12);
  EXPECT_THAT(comparison.text,
              AllOf(HasSubstr("Changing only the stack changes 12.00 %"), HasSubstr("n = 6 draws"),
                    HasSubstr("Inside one stack two members differ"),
                    HasSubstr("The stack shifts the mean answer"), Not(HasSubstr("hardware"))));
  ASSERT_EQ(study.stack_tests.size(), 1u);
  EXPECT_THAT(study.stack_tests[0].sides, ElementsAre("ours", "theirs"));
  EXPECT_TRUE(study.stack_tests[0].shift.shown);
  EXPECT_THAT(study.stack_tests[0].text, HasSubstr("the stack shifts the mean answer"));
  EXPECT_THAT(study.headlines, Contains(HasSubstr("Changing only the stack changes")));
  for (const Warning& warning : study.warnings) {
    EXPECT_THAT(warning.text, Not(HasSubstr("fingerprints")));
  }
}

TEST(StackTest, StacksAreComparedOnEachClassAndClassesWithEachStack) {
  TinyStudy tiny(kStackExamples, 2);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    AddStack(tiny, hardware, "ours", 0);
    AddStack(tiny, hardware, "theirs", 5);
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.stacks.size(), 2u);
  EXPECT_EQ(study.stacks[0].label, "algo, cpu-a: ours against theirs");
  EXPECT_EQ(study.stacks[1].label, "algo, cpu-b: ours against theirs");
  ASSERT_EQ(study.hardware.size(), 2u);
  EXPECT_EQ(study.hardware[0].label, "algo, ours: cpu-a against cpu-b");
  EXPECT_EQ(study.hardware[0].identical_pairs, 6) << "the same program gives the same answers";
  EXPECT_THAT(study.headlines, Contains(HasSubstr("hanging only the stack changes 5.00 %")));
  // Tests of all sides are named as comparisons of two are.
  ASSERT_EQ(study.hardware_tests.size(), 2u);
  EXPECT_THAT(study.hardware_tests[0].text, StartsWith("algo, ours: "));
  EXPECT_THAT(study.hardware_tests[1].text, StartsWith("algo, theirs: "));
  ASSERT_EQ(study.stack_tests.size(), 2u);
  EXPECT_THAT(study.stack_tests[0].text, StartsWith("algo, cpu-a: "));
  EXPECT_THAT(study.stack_tests[1].text, StartsWith("algo, cpu-b: "));
  EXPECT_THAT(StudyToCsv(study), AllOf(HasSubstr("\nhardware_test,,\"algo, theirs\",,shift_p,"),
                                       HasSubstr("\nstack_test,,\"algo, cpu-b\",,shift_p,")));
}

// Else the two of cpu-a would be one row of every table.
TEST(StackTest, ClassesOfOtherStacksAreNamedWithBoth) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "one", 0);
  AddStack(tiny, "cpu-a", "two", 12);
  AddStack(tiny, "cpu-b", "three", 12);

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.hardware.size(), 2u);
  EXPECT_EQ(study.hardware[0].label, "algo, one against three: cpu-a against cpu-b");
  EXPECT_EQ(study.hardware[1].label, "algo, two against three: cpu-a against cpu-b");
  EXPECT_EQ(study.hardware[1].setting, "algo, two against three");
  EXPECT_THAT(RenderTables(study), AllOf(HasSubstr("algo, one against three: a / b"),
                                         HasSubstr("algo, two against three: a / b")));
}

TEST(StackTest, ThreeStacksHaveOneTestOfAll) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "one", 0);
  AddStack(tiny, "cpu-a", "two", 0);
  AddStack(tiny, "cpu-a", "three", 9);

  const Study study = BuildStudy(tiny.input);

  EXPECT_EQ(study.stacks.size(), 3u);
  ASSERT_EQ(study.stack_tests.size(), 1u);
  EXPECT_THAT(study.stack_tests[0].text, HasSubstr("3 stacks at once"));
  EXPECT_EQ(study.stacks[0].identical_pairs, 6);
  EXPECT_FALSE(study.stacks[0].shift.shown) << "these two answer alike";
}

// What such classes differ by may be the stack alone.
TEST(StackTest, ClassesOfOtherStacksAreNotTestedAsHardware) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "ours", 0);
  AddStack(tiny, "cpu-b", "theirs", 12);

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.hardware_tests, IsEmpty());
  ASSERT_EQ(study.hardware.size(), 1u);
  const Comparison& comparison = study.hardware[0];
  EXPECT_TRUE(comparison.mixes_stacks);
  EXPECT_FALSE(comparison.setting_test.has_value());
  EXPECT_FALSE(comparison.shift.p.has_value());
  EXPECT_FALSE(comparison.shift.shown);
  EXPECT_EQ(comparison.shift.note, "the stacks differ as well");
  EXPECT_THAT(comparison.text,
              AllOf(HasSubstr("Between the classes 12.00 %"),
                    HasSubstr("of the answers of a member change (n = 6 draws), by its hardware "
                              "and by its stack."),
                    HasSubstr("nothing is claimed: the stacks differ as well."),
                    HasSubstr("The stacks differ as well (ours against theirs)."),
                    Not(HasSubstr("only the hardware"))));
  EXPECT_THAT(study.headlines, Each(Not(HasSubstr("the hardware shifts the mean answer"))));
  EXPECT_THAT(study.headlines, Each(Not(HasSubstr("only the hardware"))));
  ASSERT_EQ(study.sensitive.size(), 1u);
  EXPECT_THAT(study.sensitive[0].text,
              HasSubstr("none of them is tested: the stacks differ as well."));
}

TEST(StackTest, WhereNothingDiffersInsideClassesOfOtherStacksItIsNotAllTheHardwares) {
  TinyStudy tiny(kStackExamples, 2);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    tiny.AddCell("control", Control(), hardware).stack = std::string("of-") + hardware;
    Draws draws(static_cast<uint64_t>(hardware[4]));
    const std::vector<int16_t> answers = StackAnswers(draws, 0);
    for (int r = 0; r < 3; ++r) tiny.AddMember(answers);
  }
  EXPECT_THAT(BuildStudy(tiny.input).hardware.at(0).text,
              AllOf(HasSubstr(" Inside each class nothing differs. The stacks differ as well"),
                    Not(HasSubstr("all of it is the hardware's"))));
}

TEST(StackTest, AClassOfAStackOfItsOwnIsInNoTestOfTheOthers) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "ours", 0);
  AddStack(tiny, "cpu-b", "ours", 12);
  AddStack(tiny, "cpu-c", "theirs", 20);

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.hardware_tests.size(), 1u);
  EXPECT_THAT(study.hardware_tests[0].sides, ElementsAre("cpu-a", "cpu-b"));
  ASSERT_EQ(study.hardware.size(), 3u);
  EXPECT_TRUE(study.hardware[0].shift.p.has_value());
  for (const size_t other : {1u, 2u}) {  // Though cpu-a, and cpu-b, have a test.
    EXPECT_FALSE(study.hardware[other].setting_test.has_value());
    EXPECT_FALSE(study.hardware[other].shift.p.has_value());
    EXPECT_EQ(study.hardware[other].shift.note, "the stacks differ as well");
  }
  // Of these two alone, not the mean over all three.
  EXPECT_THAT(study.headlines, Contains(HasSubstr("algo, ours: cpu-a against cpu-b. Changing only "
                                                  "the hardware changes 12.00 %")));
}

TEST(StackTest, ClassesThatAreNotTestedTakeNoneOfTheLevel) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "one", 0);
  AddStack(tiny, "cpu-a", "two", 12);
  AddStack(tiny, "cpu-b", "three", 12);

  const Study study = BuildStudy(tiny.input);

  EXPECT_EQ(study.hardware.size(), 2u);
  EXPECT_THAT(study.hardware_tests, IsEmpty());
  ASSERT_EQ(study.stack_tests.size(), 1u);
  // The least p of six replicates is 2^-5: two thirds of 5 % carry it, a third does not.
  EXPECT_EQ(study.stack_tests[0].shift.note, "");
  EXPECT_TRUE(study.stack_tests[0].shift.shown);
}

TEST(StackTest, CellsThatNobodyHasBegunAreNoTestOfTheirOwn) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "ours", 0);
  AddStack(tiny, "cpu-b", "ours", 12);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    tiny.AddCell("algo", Algo(), hardware, 1).stack.clear();
    Draws draws(9);
    tiny.AddMember(StackAnswers(draws, 0)).state = MemberState::kCancelled;
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.hardware_tests.size(), 1u);
  EXPECT_EQ(study.hardware_tests[0].shift.replicates, 6);
}

// Nine draws whose answers are right but for one example, where `turned`, in the last draw the
// other way, or for the last `others`.
void AddNineDraws(TinyStudy& tiny, const std::string& hardware, const std::string& stack,
                  bool turned, int64_t others) {
  tiny.AddCell("algo", Algo(), hardware).stack = stack;
  for (int r = 0; r < 9; ++r) {
    std::vector<int16_t> answers;
    for (int64_t x = 0; x < kStackExamples; ++x) {
      const bool wrong = x == 0 ? others == 0 && turned == (r < 8) : x >= kStackExamples - others;
      answers.push_back(static_cast<int16_t>(wrong ? 1 - x % 2 : x % 2));
    }
    tiny.AddMember(answers);
  }
}

// As many shifts as there are factors would each be claimed at 5 %.
TEST(StackTest, TestsOfTwoOfSeveralStacksAreOneFamilyWithThoseOfClasses) {
  TinyStudy tiny(kStackExamples, 2);
  AddNineDraws(tiny, "cpu-a", "one", false, 0);
  AddNineDraws(tiny, "cpu-b", "one", true, 0);
  AddNineDraws(tiny, "cpu-c", "one", false, 20);
  AddNineDraws(tiny, "cpu-a", "two", true, 0);
  AddNineDraws(tiny, "cpu-a", "three", false, 20);

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.hardware.size(), 3u);
  ASSERT_EQ(study.stacks.size(), 3u);
  for (const Comparison* comparison : {&study.hardware[0], &study.stacks[0]}) {
    // Ten of 2^8 sign flips; alone in its family it would be claimed after the other two.
    EXPECT_DOUBLE_EQ(*comparison->shift.p, 10.0 / 256) << comparison->label;
    EXPECT_DOUBLE_EQ(*comparison->shift.p_holm, 2 * 10.0 / 256);
    EXPECT_FALSE(comparison->shift.shown);
    EXPECT_EQ(comparison->shift.family, "6 comparisons of the study");
  }
  for (const Comparison* comparison : {&study.hardware[1], &study.stacks[1]}) {
    EXPECT_DOUBLE_EQ(*comparison->shift.p_holm, 6 * 1.0 / 256) << comparison->label;
    EXPECT_TRUE(comparison->shift.shown);
  }
}

// Each factor alone could carry its three.
TEST(StackTest, WhatSoFewReplicatesCannotCarryIsOfBothFactorsTogether) {
  TinyStudy tiny(kStackExamples, 2);
  uint64_t seed = 0;
  for (const auto& [hardware, stack] :
       std::vector<std::pair<std::string, std::string>>{{"cpu-a", "one"},
                                                        {"cpu-b", "one"},
                                                        {"cpu-c", "one"},
                                                        {"cpu-a", "two"},
                                                        {"cpu-a", "three"}}) {
    tiny.AddCell("algo", Algo(), hardware).stack = stack;
    for (int r = 0; r < 7; ++r) {
      Draws draws(++seed);
      tiny.AddMember(StackAnswers(draws, 0));
    }
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.hardware.size(), 3u);
  ASSERT_EQ(study.stacks.size(), 3u);
  for (const std::vector<Comparison>* of_factor : {&study.hardware, &study.stacks}) {
    for (const Comparison& comparison : *of_factor) {
      EXPECT_EQ(comparison.shift.note,
                "7 replicates cannot carry a test among 6: the least possible p is 0.016; 8 could");
    }
  }
}

TEST(StackTest, WhatIsLeftOutIsWarnedOf) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "ours", 0);
  AddStack(tiny, "cpu-a", "theirs", 12);
  tiny.input.members[7].state = MemberState::kFailed;
  EXPECT_THAT(BuildStudy(tiny.input).warnings,
              HasWarning("warning", "algo: ours against theirs",
                         "Compares the 5 replicates that both sides finished; 2 members left "
                         "out."));

  for (size_t m = 6; m < 12; ++m) tiny.input.members[m].state = MemberState::kFailed;
  const Study study = BuildStudy(tiny.input);
  EXPECT_EQ(study.stacks.at(0).pairs, 0);
  EXPECT_THAT(study.warnings,
              HasWarning("warning", "algo: ours against theirs",
                         "No replicate with equal lanes is done on both sides: nothing is "
                         "compared."));
  EXPECT_THAT(RenderTables(study), Not(HasSubstr("Stack: the same replicates")));
}

TEST(StackTest, ACellThatNobodyHasBegunIsNotCompared) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "ours", 0);
  tiny.AddCell("algo", Algo(), "cpu-a").stack.clear();

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.stacks, IsEmpty());
  EXPECT_THAT(study.stack_tests, IsEmpty());
}

TEST(StackTest, EveryFormOfTheReportHasThem) {
  TinyStudy tiny(kStackExamples, 2);
  AddStack(tiny, "cpu-a", "ours", 0);
  AddStack(tiny, "cpu-a", "theirs", 12);
  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(RenderTables(study),
              AllOf(HasSubstr("Stack: the same replicates with two trainers, B - A"),
                    HasSubstr("algo: ours / theirs"), Not(HasSubstr("Hardware:"))));
  EXPECT_THAT(StudyToCsv(study),
              AllOf(HasSubstr("\nstack,1,algo: ours against theirs,ours against theirs,"
                              "churn_paired,0.12"),
                    HasSubstr("\nstack_test,,algo,,shift_p,")));
  const auto json = nlohmann::json::parse(StudyToJson(study));
  EXPECT_EQ(json["stacks"][0]["stack_b"], "theirs");
  EXPECT_EQ(json["stack_tests"][0]["stacks"], nlohmann::json({"ours", "theirs"}));
  EXPECT_TRUE(json["hardware"].empty());
}

}  // namespace
}  // namespace noisefloor::report
