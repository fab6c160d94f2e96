// What is claimed of hardware, over how many draws, and what is not.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/report/export.h"
#include "tests/coordinator/analysis/random_inputs.h"
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
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr int64_t kClaimExamples = 100;
constexpr const char* kHeld = "init, data_order, augment and dropout";

// The labels of two classes, with `wrong` of the answers the other way, from example `first` on.
std::vector<int16_t> ClaimAnswers(int64_t wrong, int64_t first = 0) {
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kClaimExamples; ++x) {
    const bool other = first <= x && x < first + wrong;
    answers.push_back(static_cast<int16_t>(other ? 1 - x % 2 : x % 2));
  }
  return answers;
}

// Right but for a random tenth; `moved` of the first examples are answered wrong by all.
std::vector<int16_t> Noisy(Draws& draws, int64_t moved) {
  std::vector<int16_t> answers = ClaimAnswers(moved);
  for (int64_t x = moved; x < kClaimExamples; ++x) {
    if (draws.Uniform() < 0.1) answers[static_cast<size_t>(x)] ^= 1;
  }
  return answers;
}

// A control of so many copies in each of three blocks; the second class changes 2, 10 and 30 of
// the hundred answers.
void AddControl(TinyStudy& tiny, int copies) {
  const int64_t changed[] = {2, 10, 30};
  for (uint32_t block = 0; block < 3; ++block) {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      tiny.AddCell("control", Control(), hardware, block);
      const bool b = std::string(hardware) == "cpu-b";
      for (int r = 0; r < copies; ++r) {
        tiny.AddMember(ClaimAnswers(b ? changed[block] : 0, 10 * block));
      }
    }
  }
}

TEST(DrawsTest, CopiesOfOnePairAreOneDrawAndBlocksAreDraws) {
  for (const int copies : {1, 2, 5}) {
    TinyStudy tiny(kClaimExamples, 2);
    AddControl(tiny, copies);

    const Study study = BuildStudy(tiny.input);

    ASSERT_EQ(study.hardware.size(), 1u);
    const Comparison& comparison = study.hardware[0];
    EXPECT_EQ(comparison.pairs, 3 * copies);
    EXPECT_EQ(comparison.draws, 3);
    EXPECT_THAT(comparison.cells_a, ElementsAre(0, 2, 4));
    EXPECT_THAT(comparison.cells_b, ElementsAre(1, 3, 5));
    ASSERT_EQ(comparison.by_draw.size(), 3u);
    EXPECT_DOUBLE_EQ(comparison.by_draw[2].churn, 0.30);
    EXPECT_FALSE(comparison.by_draw[2].replicate.has_value());
    // 0.02, 0.10, 0.30: mean 0.14, SD sqrt(0.0208), t(2) = 4.302653: 0.14 + 0.358267, cut at 0.
    EXPECT_EQ(comparison.churn_paired.n, 3);
    EXPECT_NEAR(*comparison.churn_paired.value, 0.14, 1e-12);
    EXPECT_DOUBLE_EQ(*comparison.churn_paired.low, 0);
    EXPECT_NEAR(*comparison.churn_paired.high, 0.4982674, 1e-6);
    // All that changes is wrong: B - A is -0.14, not cut.
    EXPECT_EQ(comparison.accuracy_difference.n, 3);
    EXPECT_NEAR(*comparison.accuracy_difference.low, -0.4982674, 1e-6);
    EXPECT_NEAR(*comparison.accuracy_difference.high, 0.2182674, 1e-6);
    // Paired, from zero: 5.653489 (scipy.stats.nct, 2 degrees) * sqrt(0.0208 / 3) * sqrt(2).
    EXPECT_NEAR(*comparison.accuracy_difference.detectable, 3.264043549819916 * std::sqrt(0.0208),
                1e-8);
    EXPECT_FALSE(comparison.shift.p.has_value());
    EXPECT_EQ(
        comparison.text,
        std::string("Changing only the hardware changes 14.00 % [0.00, 49.83] of the answers "
                    "of a member (n = 3 draws).") +
            (copies == 1 ? ""
                         : " Inside each class nothing differs: all of it is the hardware's."));
    EXPECT_THAT(study.headlines,
                Contains("control: cpu-a against cpu-b. Changing only the hardware changes 14.00 % "
                         "[0.00, 49.83] of the answers of a member (n = 3 draws)."));
    EXPECT_THAT(study.headlines, Each(Not(HasSubstr("30.00 %"))));
  }
}

// Kernels that are free may be others on each class, though all runs there chose the same.
TEST(DrawsTest, WhatKernelsMayHaveDoneIsNotSaidToBeTheHardwares) {
  TinyStudy tiny(kClaimExamples, 2);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    tiny.AddCell("impl", Impl(), hardware);
    for (int r = 0; r < 5; ++r) tiny.AddMember(ClaimAnswers(hardware[4] == 'b' ? 4 : 0));
  }
  EXPECT_THAT(BuildStudy(tiny.input).hardware.at(0).text,
              AllOf(HasSubstr("by its hardware and by the physical sources that are free"),
                    HasSubstr(" Inside each class nothing differs. ")));
}

TEST(DrawsTest, OneDrawHasNoIntervalAndSaysSo) {
  TinyStudy tiny(kClaimExamples, 2);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    tiny.AddCell("control", Control(), hardware);
    for (int r = 0; r < 5; ++r) tiny.AddMember(ClaimAnswers(hardware[4] == 'b' ? 4 : 0));
  }

  const Study study = BuildStudy(tiny.input);

  const Comparison& comparison = study.hardware[0];
  for (const Estimate* estimate : {&comparison.churn_paired, &comparison.churn_unpaired,
                                   &comparison.churn_excess, &comparison.accuracy_difference}) {
    EXPECT_EQ(estimate->n, 1);
    EXPECT_FALSE(estimate->low.has_value());
    EXPECT_EQ(estimate->note, "one draw of the seeded sources: no interval");
  }
  EXPECT_EQ(comparison.text,
            std::string("Changing only the hardware changes 4.00 % of the answers of a member at "
                        "this one ") +
                kHeld + ". Inside each class nothing differs: all of it is the hardware's.");
  EXPECT_THAT(study.headlines, Each(Not(HasSubstr("Changing only the hardware"))));
}

// A plan that frees every seeded source, on two classes that answer `moved` examples otherwise.
void AddAlgo(TinyStudy& tiny, const std::string& plan, std::vector<int> replicates_of_block,
             int64_t moved, uint64_t seed, std::vector<AxisSetting> axes = {}) {
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    Draws draws(seed + static_cast<uint64_t>(hardware[4]));
    for (size_t block = 0; block < replicates_of_block.size(); ++block) {
      tiny.AddCell(plan, Algo(), hardware, static_cast<uint32_t>(block), axes);
      for (int r = 0; r < replicates_of_block[block]; ++r) {
        tiny.AddMember(Noisy(draws, hardware[4] == 'b' ? moved : 0));
      }
    }
  }
}

TEST(DrawsTest, WhereEverySeededSourceIsFreeReplicatesOfAllBlocksAreDraws) {
  TinyStudy one(kClaimExamples, 2);
  AddAlgo(one, "algo", {6}, 3, 41);
  TinyStudy two(kClaimExamples, 2);
  AddAlgo(two, "algo", {2, 4}, 3, 41);

  const Comparison of_one = BuildStudy(one.input).hardware[0];
  const Study study = BuildStudy(two.input);

  ASSERT_EQ(study.hardware.size(), 1u);
  const Comparison& of_two = study.hardware[0];
  EXPECT_EQ(of_two.draws, 6);
  for (const auto figure :
       {&Comparison::churn_paired, &Comparison::churn_unpaired, &Comparison::churn_excess,
        &Comparison::accuracy_difference, &Comparison::churn_within_a,
        &Comparison::accuracy_correlation, &Comparison::logits_correlation_paired}) {
    EXPECT_EQ((of_two.*figure).n, 6);
    EXPECT_NEAR(*(of_two.*figure).value, *(of_one.*figure).value, 1e-14);
    EXPECT_NEAR(*(of_two.*figure).low, *(of_one.*figure).low, 1e-12);
    EXPECT_NEAR(*(of_two.*figure).high, *(of_one.*figure).high, 1e-12);
  }
  EXPECT_EQ(of_two.shift.p, of_one.shift.p);
}

TEST(DrawsTest, WhereSomeAreHeldBlocksAreTheDrawsAndOneBlockIsSaidToBeOne) {
  const States init_only = StatesWithFree({NoiseSource::kInit});
  TinyStudy tiny(kClaimExamples, 2);
  Draws draws(5);
  for (const uint32_t block : {0u, 1u, 2u}) {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      tiny.AddCell("init", init_only, hardware, block);
      for (int r = 0; r < 3; ++r) tiny.AddMember(Noisy(draws, 0));
    }
  }
  const Study blocks = BuildStudy(tiny.input);
  EXPECT_EQ(blocks.hardware[0].churn_paired.n, 3);
  EXPECT_EQ(blocks.hardware[0].draws, 3);
  EXPECT_EQ(blocks.hardware[0].shift.arrangements, 4 * 4 * 4);
  EXPECT_THAT(blocks.hardware[0].churn_paired.method, HasSubstr("over blocks"));

  tiny.input.cells.resize(2);
  tiny.input.members.resize(6);
  const Study one = BuildStudy(tiny.input);
  EXPECT_EQ(one.hardware[0].churn_paired.n, 3);
  EXPECT_THAT(one.hardware[0].text,
              HasSubstr("of a member at this one data_order, augment and dropout (n = 3 draws)."));
}

// Over blocks each figure is that of its block: the mean of those of studies of one block.
TEST(DrawsTest, FiguresOverBlocksAreMeansOfThoseOfEachBlock) {
  const States impl = Impl();
  const auto build = [&](std::vector<uint32_t> blocks) {
    TinyStudy tiny(kClaimExamples, 2);
    for (const uint32_t block : blocks) {
      for (const char* hardware : {"cpu-a", "cpu-b"}) {
        Draws draws(10 * block + static_cast<uint64_t>(hardware[4]));
        tiny.AddCell("impl", impl, hardware, block);
        for (int r = 0; r < 4; ++r) tiny.AddMember(Noisy(draws, 2 * block));
      }
    }
    return BuildStudy(tiny.input).hardware[0];
  };
  const Comparison all = build({0, 1, 2});
  const Comparison each[] = {build({0}), build({1}), build({2})};
  for (const auto figure :
       {&Comparison::churn_paired, &Comparison::churn_unpaired, &Comparison::churn_excess,
        &Comparison::churn_within_a, &Comparison::churn_within_b,
        &Comparison::logits_correlation_paired, &Comparison::logits_correlation_unpaired,
        &Comparison::accuracy_difference}) {
    double sum = 0;
    double squares = 0;
    for (const Comparison& block : each) sum += *(block.*figure).value;
    for (const Comparison& block : each) {
      squares += std::pow(*(block.*figure).value - sum / 3, 2);
    }
    EXPECT_NEAR(*(all.*figure).value, sum / 3, 1e-12);
    const double half = 4.302652729911275 * std::sqrt(squares / 2 / 3);
    EXPECT_NEAR(*(all.*figure).high, std::min(1.0, sum / 3 + half), 1e-9);
    EXPECT_EQ((all.*figure).n, 3);
  }
  EXPECT_FALSE(all.kernels_fixed);
  EXPECT_THAT(all.text, HasSubstr("by its hardware and by the physical sources that are free"));
}

TEST(ClaimTest, SixPairedReplicatesCanShowAShiftAndFiveCannot) {
  TinyStudy five(kClaimExamples, 2);
  AddAlgo(five, "algo", {5}, 9, 7);
  const Study too_few = BuildStudy(five.input);
  const ShiftClaim& unshown = too_few.hardware[0].shift;
  EXPECT_DOUBLE_EQ(*unshown.p, 1.0 / 16);
  EXPECT_FALSE(unshown.p_holm.has_value());
  EXPECT_FALSE(unshown.shown);
  EXPECT_EQ(unshown.note,
            "5 replicates cannot carry a test: the least possible p is 0.062; 6 could");
  EXPECT_THAT(too_few.hardware[0].text, HasSubstr(" nothing is claimed: 5 replicates cannot"));
  EXPECT_THAT(too_few.headlines,
              Contains("No shift of the mean answer by the hardware is claimed in algo (5 "
                       "replicates cannot carry a test: the least possible p is 0.062; 6 could)."));

  TinyStudy six(kClaimExamples, 2);
  AddAlgo(six, "algo", {6}, 9, 7);
  const Study study = BuildStudy(six.input);
  const Comparison& comparison = study.hardware[0];
  EXPECT_DOUBLE_EQ(*comparison.shift.p, 1.0 / 32);
  // Two thirds of the level, and half of the other third once one of two contrasts is claimed.
  EXPECT_DOUBLE_EQ(*comparison.shift.p_holm, (5.0 / 6) / (2.0 / 3) / 32);
  EXPECT_TRUE(comparison.shift.shown);
  ASSERT_EQ(study.hardware_tests.size(), 1u);
  EXPECT_EQ(study.hardware_tests[0].text,
            "algo: the hardware shifts the mean answer (cpu-a and cpu-b: p = 0.031, 0.039 after "
            "Holm over the 3 tests of the study).");
  EXPECT_THAT(
      comparison.text,
      AllOf(HasSubstr(" The hardware shifts the mean answer: "),
            HasSubstr(
                " more churn across than inside (p = 0.031, 0.039 after Holm over the 3 tests of "
                "the study).")));
  EXPECT_THAT(study.headlines, Contains(study.hardware_tests[0].text));
  EXPECT_THAT(study.headlines, Each(Not(HasSubstr("No shift of the mean answer"))));
}

TEST(ClaimTest, ATableOfTheStudyHasBothPsOfAShiftUnderTheirNames) {
  TinyStudy tiny(kClaimExamples, 2);
  AddAlgo(tiny, "algo", {6}, 9, 7);
  const std::string csv = StudyToCsv(BuildStudy(tiny.input));
  const auto value_of = [&](const std::string& metric) {
    const size_t at = csv.find("," + metric + ",");
    return at == std::string::npos ? -1 : std::stod(csv.substr(at + metric.size() + 2));
  };
  EXPECT_DOUBLE_EQ(value_of("shift_p"), 1.0 / 32);
  EXPECT_DOUBLE_EQ(value_of("shift_p_holm"), 1.25 / 32) << "as above";
}

// A pair without predictions is a draw of other figures.
TEST(ClaimTest, TheNOfASentenceIsThatOfItsInterval) {
  TinyStudy tiny(kClaimExamples, 2);
  AddAlgo(tiny, "algo", {6}, 9, 7);
  tiny.input.members[1].predictions = {};
  const Study study = BuildStudy(tiny.input);
  const Comparison& comparison = study.hardware.at(0);
  EXPECT_EQ(comparison.draws, 6);
  EXPECT_EQ(comparison.churn_paired.n, 5);
  EXPECT_EQ(comparison.shift.replicates, 5) << "nor is it exchanged";
  EXPECT_EQ(comparison.shift.blocks, 1);
  EXPECT_THAT(comparison.text, HasSubstr("(n = 5 draws)"));
  EXPECT_THAT(StudyToCsv(study),
              HasSubstr(fmt::format("cpu-a against cpu-b,shift_p,{},,,5,", *comparison.shift.p)));
}

TEST(ClaimTest, ACorrectionForMoreTestsNeedsMoreReplicates) {
  TinyStudy six(kClaimExamples, 2);
  AddAlgo(six, "algo", {6}, 9, 7);
  AddAlgo(six, "other", {6}, 9, 8);
  const Study study = BuildStudy(six.input);
  for (const Comparison& comparison : study.hardware) {
    EXPECT_FALSE(comparison.shift.shown);
    EXPECT_EQ(
        comparison.shift.note,
        "of all classes at once: 6 replicates cannot carry a test among 2: the least possible "
        "p is 0.031; 7 could");
  }

  TinyStudy seven(kClaimExamples, 2);
  AddAlgo(seven, "algo", {7}, 9, 7);
  AddAlgo(seven, "other", {7}, 0, 18);
  const Study more = BuildStudy(seven.input);
  EXPECT_DOUBLE_EQ(*more.hardware_tests[0].shift.p, 1.0 / 64);
  EXPECT_NEAR(*more.hardware_tests[0].shift.p_holm, 1.0 / 24, 1e-12);
  EXPECT_TRUE(more.hardware_tests[0].shift.shown);
  EXPECT_FALSE(more.hardware_tests[1].shift.shown);
  EXPECT_EQ(more.hardware_tests[0].shift.family, "the 8 tests of the study");
  EXPECT_TRUE(more.hardware[0].shift.shown);
  // Alone in its plan, but held to the test of all plans.
  EXPECT_EQ(more.hardware[0].shift.p_holm, more.hardware_tests[0].shift.p_holm);
  EXPECT_THAT(more.hardware[1].text, HasSubstr(" A shift of the mean answer is not shown: "));
}

// Beside contrasts shifts have two thirds of the level: 1/64 is less than 5 % / 3, and not of that.
TEST(ClaimTest, BesideContrastsTestsOfShiftsNeedMoreReplicates) {
  TinyStudy seven(kClaimExamples, 2);
  for (const char* plan : {"algo", "other", "third"}) {
    AddAlgo(seven, plan, {7}, 9, static_cast<uint64_t>(plan[0]));
  }
  const Study study = BuildStudy(seven.input);
  ASSERT_EQ(study.hardware_tests.size(), 3u);
  for (const SettingTest& test : study.hardware_tests) {
    EXPECT_EQ(test.shift.note,
              "7 replicates cannot carry a test among 3: the least possible p is 0.016; 8 could");
  }
}

TEST(ClaimTest, AllClassesAtOnceCarryATestWhereNoTwoCan) {
  TinyStudy tiny(kClaimExamples, 2);
  for (const char* hardware : {"cpu-a", "cpu-b", "cpu-c"}) {
    Draws draws(static_cast<uint64_t>(hardware[4]));
    tiny.AddCell("algo", Algo(), hardware);
    for (int r = 0; r < 5; ++r) tiny.AddMember(Noisy(draws, hardware[4] == 'c' ? 9 : 0));
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.hardware_tests.size(), 1u);
  EXPECT_THAT(study.hardware_tests[0].sides, ElementsAre("cpu-a", "cpu-b", "cpu-c"));
  EXPECT_EQ(study.hardware_tests[0].shift.arrangements, 1296);
  EXPECT_TRUE(study.hardware_tests[0].shift.shown);
  EXPECT_THAT(study.hardware_tests[0].text,
              HasSubstr("the hardware shifts the mean answer (3 hardware classes at once: p = "));
  ASSERT_EQ(study.hardware.size(), 3u);
  for (const Comparison& comparison : study.hardware) {
    EXPECT_FALSE(comparison.shift.p_holm.has_value());
    EXPECT_EQ(comparison.shift.note,
              "5 replicates cannot carry a test among 3: the least possible p is 0.062; 7 could");
  }
}

TEST(ClaimTest, MembersOfFixedLanesMayBeOnAnySideAndTheClaimIsOfThatDraw) {
  TinyStudy tiny(kClaimExamples, 2);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    Draws draws(static_cast<uint64_t>(hardware[4]));
    tiny.AddCell("impl", Impl(), hardware);
    for (int r = 0; r < 4; ++r) tiny.AddMember(Noisy(draws, hardware[4] == 'b' ? 15 : 0));
  }

  const Study study = BuildStudy(tiny.input);

  const Comparison& comparison = study.hardware[0];
  EXPECT_DOUBLE_EQ(*comparison.shift.p, 1.0 / 35);  // C(8, 4) / 2
  EXPECT_TRUE(comparison.shift.shown);
  EXPECT_EQ(comparison.draws, 1);
  EXPECT_EQ(comparison.churn_excess.n, 1);
  EXPECT_FALSE(comparison.churn_excess.low.has_value());
  EXPECT_THAT(comparison.text,
              HasSubstr(std::string("The hardware shifts the mean answer at this one ") + kHeld));
  EXPECT_THAT(study.hardware_tests[0].text,
              HasSubstr(std::string("shifts the mean answer at this one ") + kHeld));
}

TEST(ClaimTest, WhatIsExchangedInsideBlocksIsClaimedOfTheirDraws) {
  TinyStudy tiny(kClaimExamples, 2);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    for (const uint32_t block : {0u, 1u, 2u}) {
      Draws draws(10 * block + static_cast<uint64_t>(hardware[4]));
      tiny.AddCell("impl", Impl(), hardware, block);
      for (int r = 0; r < 3; ++r) tiny.AddMember(Noisy(draws, hardware[4] == 'b' ? 15 : 0));
    }
    tiny.AddCell("impl", Impl(), hardware, 3);  // Nobody has trained it yet.
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_TRUE(study.hardware[0].shift.shown);
  const std::string at = std::string("shifts the mean answer at these 3 draws of ") + kHeld;
  EXPECT_THAT(study.hardware[0].text, HasSubstr(at));
  EXPECT_THAT(study.hardware_tests[0].text, HasSubstr(at));

  for (MemberInput& member : tiny.input.members) {
    if (member.cell == 2) member.predictions = {};  // Of the third block on one side.
  }
  const Study without = BuildStudy(tiny.input);
  EXPECT_EQ(without.hardware[0].draws, 3);
  EXPECT_EQ(without.hardware[0].shift.replicates, 6);
  const std::string at_two = std::string(" at these 2 draws of ") + kHeld;
  EXPECT_THAT(without.hardware[0].text, HasSubstr(at_two));
  EXPECT_THAT(without.hardware_tests[0].text, HasSubstr(at_two));
}

TEST(ClaimTest, NoClaimOfTwoClassesIsSurerThanThatOfAll) {
  bool held = false;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TinyStudy tiny(kClaimExamples, 2);
    for (const char* hardware : {"cpu-a", "cpu-b", "cpu-c"}) {
      Draws draws(100 * seed + static_cast<uint64_t>(hardware[4]));
      tiny.AddCell("algo", Algo(), hardware);
      for (int r = 0; r < 8; ++r) tiny.AddMember(Noisy(draws, hardware[4] == 'c' ? 1 : 0));
    }
    const Study study = BuildStudy(tiny.input);
    const double all = *study.hardware_tests[0].shift.p_holm;
    for (const Comparison& comparison : study.hardware) {
      EXPECT_GE(*comparison.shift.p_holm, all);
      EXPECT_GE(*comparison.shift.p_holm, *comparison.shift.p);
      held = held || *comparison.shift.p_holm == all;
    }
  }
  EXPECT_TRUE(held);
}

// Nine draws on three classes. The second turns one example round, in the last draw back; the third
// turns twenty others in every draw. Of the 2^8 sign flips that make up p ten are as far from
// nothing as the first two classes are, and one as far as the third is from either.
void AddThreeClasses(TinyStudy& tiny, const std::string& plan) {
  for (const char* hardware : {"cpu-a", "cpu-b", "cpu-c"}) {
    tiny.AddCell(plan, Algo(), hardware);
    for (int r = 0; r < 9; ++r) {
      const bool turned = (hardware[4] == 'b') == (r < 8);
      tiny.AddMember(hardware[4] == 'c' ? ClaimAnswers(20, 10) : ClaimAnswers(turned ? 1 : 0));
    }
  }
}

TEST(ClaimTest, TestsOfTwoOfSeveralClassesAreOneFamilyOverAllPlans) {
  TinyStudy alone(kClaimExamples, 2);
  AddThreeClasses(alone, "algo");
  TinyStudy four(kClaimExamples, 2);
  for (const char* plan : {"algo", "beta", "delta", "gamma"}) AddThreeClasses(four, plan);

  const Study one = BuildStudy(alone.input);
  const Study study = BuildStudy(four.input);

  ASSERT_EQ(one.hardware.size(), 3u);
  EXPECT_DOUBLE_EQ(*one.hardware[0].shift.p, 10.0 / 256);
  EXPECT_TRUE(one.hardware[0].shift.shown) << "the other two are claimed first";
  ASSERT_EQ(study.hardware.size(), 12u);
  for (const SettingTest& test : study.hardware_tests) EXPECT_TRUE(test.shift.shown);
  for (size_t k = 0; k < study.hardware.size(); ++k) {
    const ShiftClaim& shift = study.hardware[k].shift;
    const bool of_the_third = k % 3 > 0;
    EXPECT_DOUBLE_EQ(*shift.p, (of_the_third ? 1.0 : 10.0) / 256) << study.hardware[k].label;
    EXPECT_DOUBLE_EQ(*shift.p_holm, (of_the_third ? 12.0 : 4 * 10.0) / 256);
    EXPECT_EQ(shift.shown, of_the_third);
  }
  EXPECT_THAT(study.hardware[0].text,
              AllOf(HasSubstr(" A shift of the mean answer is not shown: "),
                    HasSubstr("(p = 0.039, 0.16 after Holm over 12 comparisons of the study)")));
}

TEST(ClaimTest, UnderTrainedSettingsAreInNoFinding) {
  TinyStudy tiny(kClaimExamples, 2);
  AddAlgo(tiny, "algo", {6}, 9, 7);
  tiny.input.sweep.reference_accuracy = 0.99;

  const Study study = BuildStudy(tiny.input);

  EXPECT_TRUE(study.hardware[0].shift.shown);  // In its table.
  EXPECT_THAT(study.headlines, ElementsAre(HasSubstr("Every cell is under-trained")));
}

TEST(ClaimTest, OtherStacksAreNotTestedAsHardware) {
  TinyStudy tiny(kClaimExamples, 2);
  AddAlgo(tiny, "algo", {6}, 9, 7);
  AddAlgo(tiny, "algo", {6}, 9, 8);
  for (size_t c = 2; c < 4; ++c) {
    tiny.input.cells[c].stack = "other";
    tiny.input.cells[c].hardware = c == 2 ? "cpu-a" : "cpu-c";
  }

  const Study study = BuildStudy(tiny.input);

  // By stack: a and b of one, a and c of the other.
  ASSERT_EQ(study.hardware_tests.size(), 2u);
  EXPECT_THAT(study.hardware_tests[0].sides, ElementsAre("cpu-a", "cpu-c"));
  EXPECT_THAT(study.hardware_tests[1].sides, ElementsAre("cpu-a", "cpu-b"));
}

TEST(HardwareAloneTest, TheMeanOfAllComparisonsIsSaidWithTheirRange) {
  TinyStudy tiny(kClaimExamples, 2);
  for (const char* hardware : {"cpu-a", "cpu-b", "cpu-c"}) {
    tiny.AddCell("algo", Algo(), hardware);
    const int64_t changed[] = {1, 2, 3, 2};
    for (const int64_t r : {0, 1, 2, 3}) {
      const int64_t times = hardware[4] == 'a' ? 0 : hardware[4] == 'b' ? 1 : 4;
      tiny.AddMember(ClaimAnswers(times * changed[r], 20 * r));
    }
  }
  // By draw: a-b 1 2 3 2, a-c 4 8 12 8, b-c 3 6 9 6 of a hundred: means 8/3, 16/3, 8, 16/3.
  const Study study = BuildStudy(tiny.input);

  // Mean 16/3 %, SD of the four sqrt((64/9 * 2) / 3) = 2.177324, t(3) = 3.182446: 3.464608.
  EXPECT_THAT(study.headlines,
              Contains("Changing only the hardware changes 5.33 % [1.87, 8.80] of the answers of a "
                       "member (n = 4 draws of algo; the mean of 3 comparisons, which range from "
                       "2.00 % to 8.00 %)."));
}

// Of plans with as many draws the first by name.
TEST(HardwareAloneTest, OnePlanIsEnough) {
  TinyStudy tiny(kClaimExamples, 2);
  for (const char* plan : {"algo", "zeta"}) {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      tiny.AddCell(plan, Algo(), hardware);
      const int64_t times = hardware[4] == 'a' ? 0 : plan[0] == 'a' ? 1 : 3;
      for (const int64_t r : {1, 2, 3}) tiny.AddMember(ClaimAnswers(times * r, 20 * r));
    }
  }

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.headlines,
              Contains(HasSubstr("algo: cpu-a against cpu-b. Changing only the hardware changes "
                                 "2.00 % ")));
  EXPECT_THAT(study.headlines, Each(Not(HasSubstr("zeta: cpu-a against cpu-b. Changing"))));
}

TEST(HardwareAloneTest, NothingIsAveragedOverTheAxes) {
  TinyStudy tiny(kClaimExamples, 2);
  for (const char* rate : {"0.01", "0.1"}) {
    for (const char* hardware : {"cpu-a", "cpu-b", "cpu-c"}) {
      tiny.AddCell("algo", Algo(), hardware, 0, {{"train.optimizer.learning_rate", rate}});
      const int64_t times = (hardware[4] - 'a') * (rate == std::string("0.1") ? 4 : 1);
      for (const int64_t r : {0, 1}) tiny.AddMember(ClaimAnswers(times * (1 + r), 20 * r));
    }
  }
  // By draw: b-a 1 2, c-a 2 4, c-b 1 2 of a hundred: means 4/3 and 8/3; the other rate has 4 times.
  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(
      study.headlines,
      IsSupersetOf({HasSubstr("learning_rate=0.01: changing only the hardware changes 2.00 % "),
                    HasSubstr("learning_rate=0.1: changing only the hardware changes 8.00 % ")}));
  EXPECT_THAT(study.headlines, Each(Not(HasSubstr("5.00 %"))));
}

// Of a hundred examples, wrong on so many: 10, 20, 30, 40 against 15, 10, 30, 20. Deviations -15,
// -5, 5, 15 and -3.75, -8.75, 11.25, 1.25 have products of 175, squares of 500 and 218.75.
TEST(ComparisonTest, TheCorrelationOfTop1IsOverDrawsWhichMayBeBlocks) {
  const std::vector<std::vector<int>> wrong = {{10, 20, 30, 40}, {15, 10, 30, 20}};
  const auto answers = [](int errors) {
    std::vector<int16_t> row;
    for (int x = 0; x < 100; ++x) row.push_back(static_cast<int16_t>((x + (x < errors)) % 2));
    return row;
  };
  TinyStudy replicates(100, 2);
  TinyStudy blocks(100, 2);
  for (size_t side = 0; side < 2; ++side) {
    const std::string hardware = side == 0 ? "cpu-a" : "cpu-b";
    replicates.AddCell("algo", Algo(), hardware);
    for (uint32_t k = 0; k < 4; ++k) {
      replicates.AddMember(answers(wrong[side][k]));
      blocks.AddCell("impl", Impl(), hardware, k);
      for (const int more : {-3, 3}) blocks.AddMember(answers(wrong[side][k] + more));
    }
  }
  for (const TinyStudy* tiny : {&replicates, &blocks}) {
    const Comparison comparison = BuildStudy(tiny->input).hardware.at(0);
    EXPECT_EQ(comparison.accuracy_correlation.n, 4);
    EXPECT_NEAR(*comparison.accuracy_correlation.value, 175 / std::sqrt(500 * 218.75), 1e-9);
  }
}

}  // namespace
}  // namespace noisefloor::report
