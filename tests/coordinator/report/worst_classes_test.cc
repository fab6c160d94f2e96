// Which classes and groups pay most: told only where a confidence set tells it.
#include "coordinator/report/worst_classes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/report/gather.h"
#include "coordinator/report/words.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/ten_classes.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(WorstClassesTest, OnlyAClassThatIsToldFromAllOthersPaysMost) {
  TinyStudy tiny(kExamples, 10);
  tiny.input.evaluations[0].class_names = {"zero", "one", "two",   "three", "four",
                                           "five", "six", "seven", "eight", "nine"};
  tiny.AddCell("algo", Algo(), "cpu-a");
  AddTossers(tiny, 20, {6}, 3);
  tiny.AddCell("algo", Algo(), "cpu-b");
  AddTossers(tiny, 20, {6}, 4);

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.worst_classes.kept, ElementsAre("six"));
  EXPECT_EQ(study.worst_classes.n, 20);
  ASSERT_EQ(study.worst_classes.churn.size(), 10u);
  const double churn =
      (*study.cohorts[0].per_class[6].churn.value + *study.cohorts[1].per_class[6].churn.value) / 2;
  EXPECT_NEAR(study.worst_classes.churn[6].churn, churn, 1e-14);
  EXPECT_THAT(study.worst_classes.text, HasSubstr("algo: six pays most (95 %, n = 20): churn "));
  EXPECT_THAT(study.headlines, Contains(study.worst_classes.text));
}

TEST(WorstClassesTest, OneClassIsToldFromNoOther) {
  TinyStudy tiny(kExamples, 10);
  tiny.input.evaluations[0].labels.assign(kExamples, 6);
  tiny.input.sweep.reference_accuracy = 0.01;
  tiny.AddCell("algo", Algo(), "cpu-a");
  AddTossers(tiny, 8, {6}, 3);

  const Study study = BuildStudy(tiny.input);

  ASSERT_FALSE(study.cohorts[0].under_trained);
  ASSERT_GT(*study.cohorts[0].churn.value, 0);
  EXPECT_EQ(study.worst_classes.text, "");
  EXPECT_THAT(study.worst_classes.kept, IsEmpty());
  EXPECT_THAT(study.headlines, Each(Not(HasSubstr("told apart"))));
}

// Of a cell of two nothing shows its error; replicates that one cell lacks are in no cell's.
TEST(WorstClassesTest, CellsWithoutAnErrorAreLeftOut) {
  const auto worst_with = [](int others) {
    TinyStudy tiny(kExamples, 10);
    tiny.AddCell("algo", Algo(), "cpu-a");
    AddTossers(tiny, 8, {5, 6}, 11);
    if (others > 0) tiny.AddCell("algo", Algo(), "cpu-b");
    AddTossers(tiny, others, {5, 6}, 12);
    return BuildStudy(tiny.input).worst_classes;
  };
  const WorstClasses alone = worst_with(0);
  const WorstClasses beside_two = worst_with(2);
  EXPECT_EQ(beside_two.n, 8);
  for (size_t k = 0; k < 10; ++k) EXPECT_EQ(beside_two.churn[k].churn, alone.churn[k].churn) << k;
  EXPECT_EQ(worst_with(4).n, 4);
}

// 200 studies in which all classes are alike: whichever is the largest, each may be. Of a cell of
// two one was left out in a third of them.
TEST(WorstClassesTest, NoClassIsLeftOutMoreOftenThanPromised) {
  int left_out = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    TinyStudy tiny(kExamples, 10);
    for (const int members : {6, 2}) {
      tiny.AddCell("algo", Algo(), members == 6 ? "cpu-a" : "cpu-b");
      AddTossers(tiny, members, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 2 * seed + (members == 6 ? 0 : 1));
    }
    const WorstClasses worst = BuildStudy(tiny.input).worst_classes;
    left_out += std::ranges::count(worst.kept, "3") == 0;
  }
  EXPECT_LE(left_out, 11) << "5 % of 100, and what chance adds";
}

// Of so few some is named once any is left out: where all are alike, falsely. Each class has
// fifteen examples, some of which are missed more often than others, alike in all classes.
TEST(WorstClassesTest, OfFewClassesThatAreAlikeOneIsNamedInOneStudyOfTwenty) {
  constexpr int32_t kOfEachClass = 15;
  for (const int32_t classes : {3, 4}) {
    Draws draws(60 + static_cast<uint64_t>(classes));
    int named = 0;
    for (int k = 0; k < 400; ++k) {
      TinyStudy tiny(kOfEachClass * classes, classes);
      tiny.AddCell("algo", Algo(), "cpu-a");
      for (int r = 0; r < 10; ++r) {
        std::vector<int16_t> answers;
        for (int32_t x = 0; x < kOfEachClass * classes; ++x) {
          const bool missed = draws.Uniform() < 0.02 + 0.16 * (x / classes + 0.5) / kOfEachClass;
          answers.push_back(static_cast<int16_t>((x + (missed ? 1 : 0)) % classes));
        }
        tiny.AddMember(answers);
      }
      const WorstClasses worst = BuildWorstClasses(Gather(tiny.input));
      named += worst.text.find("pays most") != std::string::npos;
    }
    EXPECT_LE(named, 33) << "of 400 with " << classes << " classes; 20 are to be expected";
    EXPECT_GT(named, 0);
  }
}

// The largest of many is too large by chance: what is told of it is what shrinking leaves.
TEST(WorstClassesTest, WhatIsToldOfItIsShrunk) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  AddTossers(tiny, 8, {5, 6}, 11);

  const WorstClasses worst = BuildStudy(tiny.input).worst_classes;

  const ClassChurn& six = worst.churn.at(6);
  ASSERT_NE(Percent(six.churn, 1), Percent(six.shrunken, 1));
  EXPECT_LT(six.shrunken, six.churn);
  EXPECT_GT(worst.churn[0].shrunken, worst.churn[0].churn);
  EXPECT_THAT(worst.text, HasSubstr(Percent(six.shrunken, 1)));
  EXPECT_THAT(worst.text, Not(HasSubstr(Percent(six.churn, 1))));
}

// Two groups that cut across the classes: only one of them tosses coins.
TEST(WorstGroupsTest, TheGroupThatIsToldFromAllOthersPaysMost) {
  TinyStudy tiny(kExamples, 10);
  ExampleGroups cameras = {"camera", {"new", "old"}, {}};
  ExampleGroups even = {"even", {"no", "yes"}, {}};
  for (int64_t x = 0; x < kExamples; ++x) {
    cameras.of_example.push_back(x % 3 == 0);
    even.of_example.push_back(x % 2 == 0);
  }
  tiny.input.evaluations[0].groups = {cameras, even};
  tiny.AddCell("algo", Algo(), "cpu-a");
  Draws draws(7);
  for (int r = 0; r < 12; ++r) {
    std::vector<int16_t> answers = TenClassAnswers(0);
    for (size_t x = 0; x < answers.size(); x += 3) {
      if (draws.Uniform() < 0.5) answers[x] = static_cast<int16_t>((answers[x] + 1) % 10);
    }
    tiny.AddMember(answers);
  }

  const Study study = BuildStudy(tiny.input);

  ASSERT_THAT(study.worst_groups, SizeIs(2));
  EXPECT_EQ(study.worst_groups[0].column, "camera");
  EXPECT_THAT(study.worst_groups[0].kept, ElementsAre("old"));
  EXPECT_THAT(
      study.worst_groups[0].text,
      HasSubstr("algo: camera old pays most (95 % on these test examples, n = 12): churn "));
  EXPECT_THAT(study.worst_groups[1].text,
              HasSubstr("the 2 groups of even are not told apart by their churn (n = 12)"));
  EXPECT_THAT(study.headlines, Contains(study.worst_groups[0].text));
  ASSERT_THAT(study.cohorts[0].per_group, SizeIs(4));
  EXPECT_EQ(study.cohorts[0].per_group[1].name, "old");
  EXPECT_NEAR(study.cohorts[0].per_group[1].churn.value.value(), 0.5, 0.05);
  EXPECT_EQ(study.cohorts[0].per_group[0].churn.value, 0.0);
}

// Columns of chance: all of them together name a group in some 5 % of studies.
TEST(WorstGroupsTest, ColumnsShareTheLevel) {
  int named = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    TinyStudy tiny(kExamples, 10);
    Draws draws(seed);
    for (const char* column : {"a", "b", "c"}) {
      ExampleGroups groups = {column, {"0", "1"}, {}};
      for (int64_t x = 0; x < kExamples; ++x) groups.of_example.push_back(draws.Uniform() < 0.5);
      tiny.input.evaluations[0].groups.push_back(groups);
    }
    tiny.AddCell("algo", Algo(), "cpu-a");
    AddTossers(tiny, 8, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1000 + seed);
    const Study study = BuildStudy(tiny.input);
    named += std::ranges::any_of(study.worst_groups, [](const WorstClasses& worst) {
      return worst.text.find("pays most") != std::string::npos;
    });
  }
  EXPECT_LE(named, 7) << "of 60; 3 are to be expected";
}

TEST(WorstClassesTest, AMeanOverSettingsIsSaidToBeOne) {
  TinyStudy tiny(kExamples, 10);
  for (const char* rate : {"0.1", "0.2"}) {
    tiny.AddCell("algo", Algo(), "cpu-a", 0, {{"train.optimizer.learning_rate", rate}});
    AddTossers(tiny, 20, {6}, 3);
  }
  EXPECT_THAT(BuildStudy(tiny.input).worst_classes.text,
              HasSubstr("algo, the mean over 2 settings: 6 pays most (95 %, n = 20): churn "));
}

TEST(WorstClassesTest, OfPlansThatFreeAsManySourcesTheFirstIsJudged) {
  TinyStudy tiny(kExamples, 10);
  for (const char* plan : {"first", "second"}) {
    tiny.AddCell(plan, Algo(), "cpu-a");
    AddTossers(tiny, 8, {6}, 3);
  }
  EXPECT_EQ(BuildStudy(tiny.input).worst_classes.plan, "first");
  for (size_t m = 1; m < 8; ++m) tiny.input.members[m].state = MemberState::kCancelled;
  EXPECT_EQ(BuildStudy(tiny.input).worst_classes.plan, "second") << "the first has one member";
}

TEST(WorstClassesTest, TwoThatPayAlikeAreBothNamed) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  AddTossers(tiny, 20, {2, 6}, 5);

  const Study study = BuildStudy(tiny.input);

  EXPECT_THAT(study.worst_classes.kept, UnorderedElementsAre("2", "6"));
  EXPECT_THAT(study.worst_classes.text, HasSubstr(" pays most (95 %, n = 20): churn "));
  EXPECT_THAT(study.worst_classes.text, HasSubstr(" or "));
}

TEST(WorstClassesTest, WhereAllPayAlikeNoneIsNamed) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a");
  AddTossers(tiny, 4, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 5);

  const Study study = BuildStudy(tiny.input);

  EXPECT_EQ(study.worst_classes.text,
            "algo: the 10 classes are not told apart by their churn (n = 4).");
  EXPECT_THAT(study.headlines, Each(Not(HasSubstr("pays most"))));
}

TEST(WorstClassesTest, TwoMembersOrEqualOnesSayNothingOfClasses) {
  TinyStudy two(kExamples, 10);
  two.AddCell("algo", Algo(), "cpu-a");
  AddTossers(two, 2, {6}, 3);
  EXPECT_EQ(BuildStudy(two.input).worst_classes.text, "");

  TinyStudy equal(kExamples, 10);
  equal.AddCell("algo", Algo(), "cpu-a");
  for (int r = 0; r < 5; ++r) equal.AddMember(TenClassAnswers(10));
  EXPECT_THAT(BuildStudy(equal.input).worst_classes.text, IsEmpty());

  TinyStudy control(kExamples, 10);
  control.AddCell("control", Control(), "cpu-a");
  AddTossers(control, 20, {6}, 3);
  EXPECT_THAT(BuildStudy(control.input).worst_classes.text, IsEmpty());
}

// Where replicates are draws in every block, each is left out alone: its block goes on with the
// others, and other blocks go on whole.
TEST(WorstClassesTest, WhereEverythingIsFreeReplicatesOfAllBlocksAreLeftOut) {
  TinyStudy tiny(kExamples, 10);
  tiny.AddCell("algo", Algo(), "cpu-a", 0);
  AddTossers(tiny, 8, {6}, 3);
  tiny.AddCell("algo", Algo(), "cpu-a", 1);
  AddTossers(tiny, 8, {}, 4);

  const Study study = BuildStudy(tiny.input);

  EXPECT_EQ(study.worst_classes.n, 16);
  EXPECT_THAT(study.worst_classes.kept, ElementsAre("6"));
  EXPECT_NEAR(study.worst_classes.churn[6].churn, *study.cohorts[0].per_class[6].churn.value / 2,
              1e-14);
}

// A cohort whose members differ by blocks only says nothing surer than its blocks.
TEST(WorstClassesTest, WhereLanesAreHeldBlocksAreLeftOut) {
  TinyStudy tiny(kExamples, 10);
  for (const uint32_t block : {0u, 1u, 2u, 3u}) {
    tiny.AddCell("impl", Impl(), "cpu-a", block);
    AddTossers(tiny, 3, {6}, 10 + block);
  }

  const Study study = BuildStudy(tiny.input);

  EXPECT_EQ(study.worst_classes.n, 4);
  EXPECT_EQ(study.worst_classes.plan, "impl");
  tiny.input.cells.resize(1);
  tiny.input.members.resize(3);
  EXPECT_EQ(BuildStudy(tiny.input).worst_classes.plan,
            "impl at this one init, data_order, augment and dropout");
}

}  // namespace
}  // namespace noisefloor::report
