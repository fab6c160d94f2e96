// Where the noise comes from, of trainings that share some draws: what is put together, and what is
// said.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

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

constexpr int64_t kCrossedExamples = 200;

// The first half of the examples follow the draw of init, the second the draw of both.
std::vector<int16_t> CrossedAnswersOf(uint32_t block, uint32_t init, uint32_t order,
                                      uint64_t run = 0) {
  Draws of_init(1000 * (block + 1) + init);
  Draws of_both(1000000 * (block + 1) + 1000 * init + order);
  Draws of_run(7000000 + run);
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kCrossedExamples; ++x) {
    Draws& draws = x % 2 == 0 ? of_init : of_both;
    const bool wrong = (x % 4 == 3 && run > 0 ? of_run : draws).Uniform() < 0.2;
    answers.push_back(static_cast<int16_t>(wrong ? 1 - x % 2 : x % 2));
  }
  return answers;
}

States Both() { return StatesWithFree({NoiseSource::kInit, NoiseSource::kDataOrder}); }

// Every combination of two draws of each in so many blocks.
void AddCrossing(TinyStudy& tiny, uint32_t blocks, const std::string& plan = "crossed",
                 const States& states = Both(), const std::string& stack = "stack") {
  for (uint32_t block = 0; block < blocks; ++block) {
    tiny.AddCell(plan, states, "cpu-a", block).stack = stack;
    for (const uint32_t init : {1u, 2u}) {
      for (const uint32_t order : {1u, 2u}) {
        MemberInput& member = tiny.AddMember(CrossedAnswersOf(block, init, order));
        member.lanes[NoiseSource::kInit] = {block, init};
        member.lanes[NoiseSource::kDataOrder] = {block, order};
      }
    }
  }
}

const SourceShare& ShareOf(const SourceDecomposition& of, const std::string& kind,
                           const std::string& source) {
  return *std::ranges::find_if(of.shares, [&](const SourceShare& share) {
    return share.kind == kind && share.sources[0] == source;
  });
}

TEST(DecompositionsTest, ACrossingTellsWhatEachSourceDoes) {
  TinyStudy tiny(kCrossedExamples, 2);
  AddCrossing(tiny, 24);

  const Study study = BuildStudy(tiny.input);

  ASSERT_EQ(study.decompositions.size(), 3u);
  const SourceDecomposition& churn = study.decompositions[0];
  EXPECT_EQ(churn.figure, "churn");
  EXPECT_EQ(study.decompositions[1].figure, "accuracy");
  EXPECT_EQ(study.decompositions[2].figure, "probabilities");
  EXPECT_EQ(churn.setting, "cpu-a");
  EXPECT_THAT(churn.factors, ElementsAre("init", "data_order"));
  EXPECT_EQ(churn.members, 96);
  EXPECT_EQ(churn.blocks, 24);
  EXPECT_EQ(churn.whole.n, 24);
  // Half of the churn is init's alone, half that of both together; data_order has none alone.
  EXPECT_NEAR(*ShareOf(churn, "first_order", "init").share.value, 0.5, 0.06);
  EXPECT_NEAR(*ShareOf(churn, "total", "init").share.value, 1, 0.05);
  EXPECT_NEAR(*ShareOf(churn, "first_order", "data_order").share.value, 0, 0.06);
  EXPECT_NEAR(*ShareOf(churn, "total", "data_order").share.value, 0.5, 0.06);
  EXPECT_NEAR(*ShareOf(churn, "additive", "init").share.value, 0.5, 0.06);
  EXPECT_THAT(churn.text, AllOf(HasSubstr("(32."), HasSubstr("96 trainings, 24 blocks"),
                                HasSubstr("init alone "), HasSubstr("with all it acts through "),
                                HasSubstr("adds up to ")));
  EXPECT_THAT(study.headlines, Contains(churn.text));
  // The variance of top-1, of the two pairs of each block that have nothing in common.
  double variance = 0;
  for (size_t first = 0; first < 96; first += 4) {
    const auto half_square = [&](size_t i, size_t j) {
      const auto top1 = [&](size_t m) {
        return tiny.input.members[first + m].final_metrics.at("top1");
      };
      return std::pow(top1(i) - top1(j), 2) / 2;
    };
    variance += (half_square(0, 3) + half_square(1, 2)) / 2 / 24;
  }
  EXPECT_NEAR(*study.decompositions[1].whole.value, variance, 1e-12);
}

TEST(DecompositionsTest, OfUnderTrainedMembersItIsNoFinding) {
  TinyStudy tiny(kCrossedExamples, 2);
  AddCrossing(tiny, 24);
  tiny.input.sweep.reference_accuracy = 0.95;
  const Study study = BuildStudy(tiny.input);
  EXPECT_TRUE(study.decompositions.at(0).under_trained);
  EXPECT_THAT(study.headlines, Not(Contains(study.decompositions[0].text)));
}

// Each has the same draws as the others.
TEST(DecompositionsTest, ClassesAndPointsOfTheAxesAreTakenApartByThemselves) {
  TinyStudy tiny(kCrossedExamples, 2);
  for (int k = 0; k < 3; ++k) AddCrossing(tiny, 3);
  for (size_t block = 0; block < 3; ++block) {
    tiny.input.cells[3 + block].hardware = "cpu-b";
    tiny.input.cells[6 + block].axes = Rate("0.2");
  }
  const Study study = BuildStudy(tiny.input);
  ASSERT_EQ(study.decompositions.size(), 9u);
  for (const SourceDecomposition& of : study.decompositions) EXPECT_EQ(of.members, 12);
}

TEST(DecompositionsTest, OfManyTrainingsTheFirstOfABlockAreTakenApart) {
  TinyStudy tiny(8, 2);
  tiny.AddCell("crossed", Both(), "cpu-a");
  Draws draws(5);
  for (uint32_t r = 0; r < 402; ++r) {
    std::vector<int16_t> answers;
    for (int64_t x = 0; x < 8; ++x) answers.push_back(static_cast<int16_t>(draws.Below(2)));
    MemberInput& member = tiny.AddMember(answers);
    member.lanes[NoiseSource::kInit] = {0, r / 21 + 1};
    member.lanes[NoiseSource::kDataOrder] = {0, r % 21 + 1};
  }
  const SourceDecomposition churn = BuildStudy(tiny.input).decompositions.at(0);
  EXPECT_EQ(churn.members, 400);
  EXPECT_EQ(churn.left_out, 2);
}

// Dropout is free where nothing is dropped: each member has another draw of it, to no effect.
TEST(DecompositionsTest, WhatActsOnNothingIsNoFactor) {
  TinyStudy tiny(kCrossedExamples, 2);
  AddCrossing(tiny, 3, "crossed",
              StatesWithFree({NoiseSource::kInit, NoiseSource::kDataOrder, NoiseSource::kDropout}));
  for (CellInput& cell : tiny.input.cells) cell.idle[NoiseSource::kDropout] = "nothing is dropped";
  EXPECT_THAT(BuildStudy(tiny.input).decompositions.at(0).factors,
              ElementsAre("init", "data_order"));
}

// Plans of one source and one of all, from the same lanes, are one design.
TEST(DecompositionsTest, PlansAreOneDesign) {
  TinyStudy tiny(kCrossedExamples, 2);
  for (uint32_t block = 0; block < 20; ++block) {
    const auto add = [&](const char* plan, const States& states, bool init, bool order) {
      tiny.AddCell(plan, states, "cpu-a", block);
      for (uint32_t r = 0; r < 3; ++r) {
        tiny.AddMember(CrossedAnswersOf(block, init ? r + 1 : 0, order ? r + 1 : 0));
      }
    };
    add("control", Control(), false, false);
    add("init", StatesWithFree({NoiseSource::kInit}), true, false);
    add("order", StatesWithFree({NoiseSource::kDataOrder}), false, true);
    add("both", Both(), true, true);
  }

  const SourceDecomposition churn = BuildStudy(tiny.input).decompositions.at(0);

  EXPECT_THAT(churn.plans, ElementsAre("control", "init", "order", "both"));
  EXPECT_THAT(churn.factors, ElementsAre("init", "data_order"));
  EXPECT_EQ(churn.members, 20 * 10);  // Copies of the control count once.
  EXPECT_NEAR(*ShareOf(churn, "first_order", "init").share.value, 0.5, 0.06);
  EXPECT_NEAR(*ShareOf(churn, "total", "data_order").share.value, 0.5, 0.06);
}

TEST(DecompositionsTest, SourcesThatAlwaysVaryTogetherAreOneFactorBesideWhatNobodyControls) {
  TinyStudy tiny(kCrossedExamples, 2);
  States physical = Both();
  physical[NoiseSource::kReduceOrder] = SourceState::kFree;
  uint64_t run = 1;
  for (uint32_t block = 0; block < 12; ++block) {
    tiny.AddCell("algo+impl", physical, "cpu-a", block);
    for (uint32_t r = 0; r < 3; ++r) tiny.AddMember(CrossedAnswersOf(block, r + 1, r + 1, run++));
    tiny.AddCell("impl", StatesWithFree({NoiseSource::kReduceOrder}), "cpu-a", block);
    for (uint32_t r = 0; r < 3; ++r) tiny.AddMember(CrossedAnswersOf(block, 0, 0, run++));
  }

  const SourceDecomposition churn = BuildStudy(tiny.input).decompositions.at(0);

  EXPECT_THAT(churn.factors, ElementsAre("init + data_order", "reduce_order"));
  EXPECT_EQ(churn.uncontrolled, "reduce_order");
  // A quarter of the examples follow the run.
  EXPECT_NEAR(*ShareOf(churn, "total", "reduce_order").share.value, 0.25, 0.05);
  EXPECT_NEAR(*ShareOf(churn, "first_order", "init + data_order").share.value, 0.75, 0.05);
  EXPECT_FALSE(ShareOf(churn, "first_order", "reduce_order").share.value.has_value());
  EXPECT_EQ(ShareOf(churn, "total", "init + data_order").share.note,
            "not identified by this design");
}

TEST(DecompositionsTest, WhereAllVaryTogetherThereIsNothingToTakeApart) {
  TinyStudy tiny(kCrossedExamples, 2);
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (uint32_t r = 0; r < 5; ++r) tiny.AddMember(CrossedAnswersOf(0, r + 1, r + 1));
  EXPECT_THAT(BuildStudy(tiny.input).decompositions, IsEmpty());
}

TEST(DecompositionsTest, ClassesAndSourcesThatAreOffAreTakenApartByThemselves) {
  TinyStudy tiny(kCrossedExamples, 2);
  AddCrossing(tiny, 3);
  States poked = Both();
  poked[NoiseSource::kPoke] = SourceState::kFixed;
  tiny.AddCell("poked", poked, "cpu-a");
  tiny.AddMember(CrossedAnswersOf(0, 5, 5));
  const auto decompositions = BuildStudy(tiny.input).decompositions;
  ASSERT_EQ(decompositions.size(), 3u);
  EXPECT_EQ(decompositions[0].members, 12);
}

std::vector<std::string> SettingsOf(const Study& study, const std::string& figure) {
  std::vector<std::string> settings;
  for (const SourceDecomposition& of : study.decompositions) {
    if (of.figure == figure) settings.push_back(of.setting);
  }
  return settings;
}

TEST(DecompositionsTest, SettingsOfSeveralStacksAreNamedByThem) {
  TinyStudy tiny(kCrossedExamples, 2);
  AddCrossing(tiny, 3, "crossed", Both(), "ours");
  AddCrossing(tiny, 3, "crossed", Both(), "theirs");

  const Study study = BuildStudy(tiny.input);

  for (const char* figure : {"churn", "accuracy", "probabilities"}) {
    EXPECT_THAT(SettingsOf(study, figure), ElementsAre("cpu-a, ours", "cpu-a, theirs"));
  }
  EXPECT_THAT(study.decompositions.at(0).text, HasSubstr("; cpu-a, ours, 12 trainings, 3 blocks)"));
  EXPECT_THAT(StudyToCsv(study), AllOf(HasSubstr("sources,,\"cpu-a, ours\",init,churn_total,"),
                                       HasSubstr("sources,,\"cpu-a, theirs\",init,churn_total,")));
}

TEST(DecompositionsTest, SettingsThatOnlyTheirPlansTellApartAreNamedByThese) {
  TinyStudy tiny(kCrossedExamples, 2);
  States physical = Both();
  physical[NoiseSource::kReduceOrder] = SourceState::kFree;
  AddCrossing(tiny, 3);
  AddCrossing(tiny, 3, "loose", physical);
  tiny.AddCell("impl", StatesWithFree({NoiseSource::kReduceOrder}), "cpu-a", 0);
  tiny.AddMember(CrossedAnswersOf(0, 5, 5));

  const Study study = BuildStudy(tiny.input);

  for (const char* figure : {"churn", "accuracy", "probabilities"}) {
    EXPECT_THAT(SettingsOf(study, figure),
                ElementsAre("cpu-a, plan crossed", "cpu-a, plans loose and impl"));
  }
  EXPECT_THAT(study.decompositions.at(0).text, HasSubstr("; cpu-a, plan crossed, 12 trainings"));
}

// Of two classes and logits of 0 and 1 every difference of answers moves both probabilities by
// tanh(1/2): the shares are those of churn.
TEST(DecompositionsTest, ProbabilitiesAreTakenApartAsAnswersAre) {
  TinyStudy tiny(kCrossedExamples, 2);
  AddCrossing(tiny, 6);
  tiny.input.members[0].predictions = {};
  const std::vector<int16_t> alone = CrossedAnswersOf(0, 1, 1);
  tiny.input.members[0].answers = alone;

  const auto decompositions = BuildStudy(tiny.input).decompositions;

  const SourceDecomposition& churn = decompositions.at(0);
  const SourceDecomposition& soft = decompositions.at(2);
  EXPECT_EQ(soft.figure, "probabilities");
  EXPECT_EQ(churn.members, 24);
  EXPECT_EQ(soft.members, 23);  // One has answers alone.
  tiny.input.members.erase(tiny.input.members.begin());
  const SourceDecomposition without = BuildStudy(tiny.input).decompositions.at(0);
  EXPECT_NEAR(*soft.whole.value, *without.whole.value * std::pow(std::tanh(0.5), 2), 1e-7);
  ASSERT_EQ(soft.shares.size(), without.shares.size());
  for (size_t k = 0; k < soft.shares.size(); ++k) {
    EXPECT_NEAR(*soft.shares[k].share.value, *without.shares[k].share.value, 1e-6);
  }
  EXPECT_THAT(soft.text, HasSubstr("Of the variance of the probabilities of two trainings"));
}

// Weights w = a of init + b of order, per parameter: variances 1 and 4, and nothing together.
TEST(DecompositionsTest, WeightsAreTakenApartToo) {
  constexpr size_t kParameters = 4000;
  TinyStudy tiny(kCrossedExamples, 2);
  AddCrossing(tiny, 4);
  std::vector<std::vector<float>> weights;
  for (const MemberInput& member : tiny.input.members) {
    const Lane init = member.lanes.at(NoiseSource::kInit);
    const Lane order = member.lanes.at(NoiseSource::kDataOrder);
    Draws of_init(100 * init.block + init.number);
    Draws of_order(5000 + 100 * order.block + order.number);
    std::vector<float>& of = weights.emplace_back();
    for (size_t k = 0; k < kParameters; ++k) {
      of.push_back(static_cast<float>(of_init.Normal() + 2 * of_order.Normal()));
    }
  }
  weights[3][0] = NAN;  // Left out.
  for (size_t m = 0; m < weights.size(); ++m) {
    tiny.input.members[m].weights = Weights{.parameters = {weights[m]}, .buffers = {}};
  }

  const Study study = BuildStudy(tiny.input);

  const SourceDecomposition& of = study.decompositions.at(3);
  EXPECT_EQ(of.figure, "weights");
  EXPECT_EQ(of.members, 15);
  EXPECT_NEAR(*of.whole.value, 5.0 * kParameters, 0.05 * 5 * kParameters);
  EXPECT_NEAR(*ShareOf(of, "first_order", "init").share.value, 0.2, 0.03);
  EXPECT_NEAR(*ShareOf(of, "total", "data_order").share.value, 0.8, 0.03);
  EXPECT_NEAR(*ShareOf(of, "additive", "init").share.value, 1, 0.03);
  EXPECT_THAT(StudyToCsv(study), HasSubstr("sources,,cpu-a,init,weights_total,"));
  EXPECT_THAT(RenderTables(study), HasSubstr("variance of the weights"));
}

// Of sets too large for all logits to be read, that is said.
TEST(DecompositionsTest, TooManyLogitsAreLeftOutInWords) {
  constexpr int64_t kMany = 1 << 20;
  TinyStudy tiny(kMany, 2);
  tiny.AddCell("crossed", Both(), "cpu-a");
  std::vector<int16_t> answers(kMany, 0);
  for (uint32_t r = 0; r < 17; ++r) {
    answers[r] = 1;
    MemberInput& member = tiny.AddMember(answers);
    member.lanes[NoiseSource::kInit] = {0, r % 4};
    member.lanes[NoiseSource::kDataOrder] = {0, r / 4};
  }

  const Study study = BuildStudy(tiny.input);

  const SourceDecomposition& of = study.decompositions.at(2);
  EXPECT_EQ(of.figure, "probabilities");
  EXPECT_THAT(of.shares, IsEmpty());
  EXPECT_EQ(
      of.text,
      "The variance of the probabilities is not taken apart (cpu-a): 17 trainings have 35651584 "
      "logits, more than 33554432.");
  EXPECT_THAT(RenderTables(study), HasSubstr("is not taken apart"));
}

// A plan whose members share no draw tells no share, and what it left out is of no use.
TEST(DecompositionsTest, WhatIsLeftOutIsNotToldWhereNothingWouldBeTold) {
  constexpr int64_t kMany = 1 << 20;
  TinyStudy tiny(kMany, 2);
  States physical = Both();
  physical[NoiseSource::kReduceOrder] = SourceState::kFree;
  tiny.AddCell("algo+impl", physical, "cpu-a");
  std::vector<int16_t> answers(kMany, 0);
  for (uint32_t r = 0; r < 17; ++r) {
    answers[r] = 1;
    tiny.AddMember(answers);
  }
  EXPECT_THAT(BuildStudy(tiny.input).decompositions, IsEmpty());
}

TEST(DecompositionsTest, AWideShareIsInTheTableAndNoFinding) {
  TinyStudy tiny(kCrossedExamples, 2);
  AddCrossing(tiny, 2);
  const Study study = BuildStudy(tiny.input);
  ASSERT_FALSE(study.decompositions.empty());
  EXPECT_THAT(study.headlines, Not(Contains(HasSubstr("Of the churn of two trainings"))));
  EXPECT_THAT(RenderTables(study), HasSubstr("Where it comes from"));
}

TEST(DecompositionsTest, TableJsonAndCsvShowTheSame) {
  TinyStudy tiny(kCrossedExamples, 2);
  AddCrossing(tiny, 6);

  const Study study = BuildStudy(tiny.input);

  const SourceDecomposition& churn = study.decompositions.at(0);
  const auto json = nlohmann::json::parse(StudyToJson(study))["decompositions"][0];
  EXPECT_EQ(json["factors"], nlohmann::json({"init", "data_order"}));
  EXPECT_EQ(json["shares"][0]["kind"], "first_order");
  EXPECT_EQ(json["shares"][0]["share"]["value"], *churn.shares[0].share.value);
  EXPECT_THAT(StudyToCsv(study), AllOf(HasSubstr("sources,,cpu-a,init,churn_total,"),
                                       HasSubstr("sources,,cpu-a,init x data_order,")));
  EXPECT_THAT(RenderTables(study), AllOf(HasSubstr("with all it acts through"), HasSubstr("init")));
}

}  // namespace
}  // namespace noisefloor::report
