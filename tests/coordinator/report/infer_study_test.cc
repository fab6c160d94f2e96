#include "coordinator/report/infer_study.h"

#include <cmath>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/report/infer_text.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using Json = nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Ten examples of two classes; the label of x is x % 2.
std::vector<int16_t> AnswersBut(const std::vector<int>& wrong) {
  std::vector<int16_t> answers;
  for (int x = 0; x < 10; ++x) answers.push_back(static_cast<int16_t>(x % 2));
  for (const int x : wrong) answers[static_cast<size_t>(x)] = static_cast<int16_t>(1 - x % 2);
  return answers;
}

// Three weights trained on cpu-a and three on cpu-b; those of cpu-a are evaluated on both.
class InferStudyTest : public ::testing::Test {
 protected:
  InferStudyTest() : trained_(10, 2), here_(10, 2) {
    here_.input.sweep.id = "s2";
    here_.input.sweep.name = "infer-s1";
    trained_.AddCell("algo", Algo(), "cpu-a");
    for (const int wrong : {0, 1, 2}) trained_.AddMember(AnswersBut({wrong}));
    trained_.AddCell("algo", Algo(), "cpu-b");
    for (const int wrong : {3, 4, 5}) trained_.AddMember(AnswersBut({wrong}));
    here_.AddCell("algo", Algo(), "cpu-a");
    for (const int wrong : {0, 1, 2}) Evaluate(AnswersBut({wrong}), static_cast<size_t>(wrong));
    here_.AddCell("algo", Algo(), "cpu-b");
    Evaluate(AnswersBut({0}), 0);        // As it was.
    Evaluate(AnswersBut({1, 2}), 1);     // One answer is another.
    Evaluate(AnswersBut({3, 4, 5}), 2);  // Four are.
  }

  MemberInput& Evaluate(const std::vector<int16_t>& answers, size_t trained) {
    links_.push_back({trained, "weights " + std::to_string(trained), ""});
    return here_.AddMember(answers);
  }
  InferStudy Build() { return BuildInfer(here_.input, trained_.input, links_); }

  TinyStudy trained_;
  TinyStudy here_;
  std::vector<InferLink> links_;
};

TEST_F(InferStudyTest, AnswersAreSetAgainstThoseOfWhereTheWeightsWereTrained) {
  const InferStudy study = Build();

  EXPECT_EQ(study.title, "infer-s1 (s2)");
  ASSERT_EQ(study.rows.size(), 2u);
  const InferRow& own = study.rows[0];
  EXPECT_EQ(own.train_hardware, "cpu-a");
  EXPECT_EQ(own.infer_hardware, "cpu-a");
  EXPECT_EQ(own.weights, 3);
  EXPECT_EQ(own.identical, 3);
  EXPECT_EQ(own.churn.value, 0.0);
  const InferRow& other = study.rows[1];
  EXPECT_EQ(other.train_hardware, "cpu-a");
  EXPECT_EQ(other.infer_hardware, "cpu-b");
  EXPECT_EQ(other.done, 3);
  EXPECT_EQ(other.identical, 1);
  // 0, 1 and 4 of ten: mean 1/6, SD 0.2082, t(2) = 4.3027.
  EXPECT_NEAR(*other.churn.value, 0.5 / 3, 1e-12);
  EXPECT_EQ(other.churn.n, 3);
  EXPECT_EQ(other.churn.low, 0.0);
  EXPECT_NEAR(*other.churn.high, 0.5 / 3 + 4.30265 * 0.208167 / std::sqrt(3.0), 1e-5);
  // Top-1 there: 0.9 each; here 0.9, 0.8, 0.7.
  EXPECT_NEAR(*other.accuracy.value, 0.8, 1e-12);
  EXPECT_NEAR(*other.accuracy.low, 0.8 - 4.30265 * 0.1 / std::sqrt(3.0), 1e-5);
  EXPECT_EQ(other.accuracy.high, 1.0);  // And not 0.8 + 0.2484.
  EXPECT_NEAR(*other.accuracy_difference.value, -0.1, 1e-12);
  EXPECT_THAT(study.headlines,
              ElementsAre("algo: evaluated from cpu-a to cpu-b, weights change 16.67 % [0.00, "
                          "68.38] of their answers (n = 3 different weights). Bits are equal in 1 "
                          "of 3 pairs."));
  EXPECT_THAT(study.warnings, ElementsAre());
}

TEST_F(InferStudyTest, CopiesOfWeightsAreNoFurtherDraws) {
  links_[4].weights = links_[3].weights;
  links_[5].weights = links_[3].weights;

  const InferRow row = Build().rows[1];

  EXPECT_EQ(row.done, 3);
  EXPECT_EQ(row.weights, 1);
  EXPECT_EQ(row.churn.n, 1);
  EXPECT_EQ(row.churn.value, 0.0);
  EXPECT_FALSE(row.churn.low.has_value());
}

// Trained without predictions: what the weights share is known all the same.
TEST_F(InferStudyTest, WeightsThatShareDrawsHaveNoIntervalWhereNoneCanBeSetAgainstItsOwn) {
  TinyStudy trained(10, 2), here(10, 2);
  std::vector<InferLink> links;
  trained.AddCell("impl", Impl(), "cpu-a");
  for (const int wrong : {0, 1, 2}) trained.AddMember(AnswersBut({wrong})).predictions = {};
  here.AddCell("impl", Impl(), "cpu-b");
  for (const std::vector<int>& wrong : {std::vector<int>{}, {3}, {3, 4}}) {
    here.AddMember(AnswersBut(wrong));
    links.push_back({wrong.size(), "weights " + std::to_string(wrong.size()), ""});
  }
  const InferStudy study = BuildInfer(here.input, trained.input, links);
  ASSERT_EQ(study.rows.size(), 1u);
  EXPECT_EQ(study.rows[0].weights, 0);
  EXPECT_TRUE(study.rows[0].accuracy.value.has_value());
  EXPECT_FALSE(study.rows[0].accuracy.low || study.rows[0].accuracy.high);
  EXPECT_TRUE(study.rows[0].share_draws);
}

// Two blocks of two: four weights, and two draws of what is held.
TEST_F(InferStudyTest, WeightsThatShareDrawsHaveNoInterval) {
  for (const uint32_t blocks : {1, 2}) {
    TinyStudy trained(10, 2), here(10, 2);
    std::vector<InferLink> links;
    const ExampleGroups cameras = {"camera", {"left", "right"}, {0, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    here.input.evaluations[0].groups = {cameras};
    for (uint32_t block = 0; block < blocks; ++block) {
      trained.AddCell("impl", Impl(), "cpu-a", block);
      for (const int wrong : {0, 1}) trained.AddMember(AnswersBut({wrong}));
      here.AddCell("impl", Impl(), "cpu-b", block);
      for (const int wrong : {2, 3}) {
        here.AddMember(AnswersBut({wrong}));
        links.push_back({links.size(), "weights " + std::to_string(links.size()), ""});
      }
    }

    const InferStudy study = BuildInfer(here.input, trained.input, links);

    ASSERT_EQ(study.rows.size(), 1u);
    EXPECT_EQ(study.rows[0].weights, 2 * blocks);
    EXPECT_EQ(study.rows[0].churn.value, 0.2);
    for (const analysis::Estimate& one :
         {study.rows[0].churn, study.rows[0].accuracy, study.rows[0].accuracy_difference}) {
      EXPECT_FALSE(one.low || one.high);
    }
    ASSERT_EQ(study.rows[0].groups.size(), 2u);
    EXPECT_EQ(study.rows[0].groups[0].churn.value, 0.5) << "one of two changes it";
    for (const InferGroup& group : study.rows[0].groups) {
      EXPECT_FALSE(group.churn.low || group.churn.high) << group.name;
    }
    EXPECT_THAT(study.headlines,
                ElementsAre("impl: evaluated from cpu-a to cpu-b, weights change 20.00 % of their "
                            "answers (n = " +
                            std::to_string(2 * blocks) +
                            " different weights, some of which share draws). Bits are equal in 0 "
                            "of " +
                            std::to_string(2 * blocks) + " pairs."));
  }
}

TEST_F(InferStudyTest, OfSeveralWaysTheHeadlineIsTheirMean) {
  here_.AddCell("algo", Algo(), "cpu-c");
  for (const size_t trained : {0, 1, 2}) {
    Evaluate(AnswersBut({static_cast<int>(trained), 9}), trained);  // One of ten.
  }

  EXPECT_THAT(Build().headlines,
              ElementsAre("algo: evaluated elsewhere in 2 ways, weights change 13.33 % of their "
                          "answers on average, 10.00 % to 16.67 % by way (n = 3 different weights "
                          "each way). Bits are equal in 1 of 6 pairs."));
}

// The first way's do, the second's do not.
TEST_F(InferStudyTest, WhereTheWeightsOfOneWayShareDrawsTheHeadlineOfSeveralSaysSo) {
  for (const size_t m : {1, 2}) {
    trained_.input.members[m].lanes[NoiseSource::kInit] =
        trained_.input.members[0].lanes[NoiseSource::kInit];
  }
  here_.AddCell("algo", Algo(), "cpu-c");
  for (const size_t trained : {3, 4, 5}) {
    Evaluate(AnswersBut({static_cast<int>(trained), 9}), trained);
  }

  const InferStudy study = Build();

  ASSERT_EQ(study.rows.size(), 3u);
  EXPECT_TRUE(study.rows[1].share_draws);
  EXPECT_FALSE(study.rows[2].share_draws);
  EXPECT_THAT(study.headlines, ElementsAre(HasSubstr("each way, some of which share draws).")));
}

TEST_F(InferStudyTest, ItsMatrixHasARowForEachClassThatTrained) {
  here_.AddCell("algo", Algo(), "cpu-a");
  for (const size_t trained : {3, 4, 5}) {
    Evaluate(AnswersBut({static_cast<int>(trained)}), trained);
  }
  here_.input.members.back().state = MemberState::kWaiting;

  const std::string tables = RenderInferTables(Build());

  EXPECT_THAT(tables, HasSubstr("trained on \\ evaluated on"));
  EXPECT_THAT(tables, HasSubstr("cpu-a                      same bits (n = 3)  16.67 % [0.00, "
                                "68.38] (n = 3)"));
  EXPECT_THAT(tables, HasSubstr("cpu-b                      same bits (n = 2)"));
  EXPECT_THAT(tables, HasSubstr("2/3"));
}

TEST_F(InferStudyTest, EqualAnswersAreNotEqualBits) {
  const std::span<const float> whole = here_.input.members[3].predictions.values();
  std::vector<float> half(whole.begin(), whole.end());
  for (float& logit : half) logit /= 2;
  here_.input.members[3].predictions = half;

  const InferRow row = Build().rows[1];

  EXPECT_EQ(row.identical, 0);
  EXPECT_NEAR(*row.churn.value, 0.5 / 3, 1e-12);
}

TEST_F(InferStudyTest, WhereAllBitsAreEqualItSaysSo) {
  for (size_t m = 3; m < 6; ++m)
    here_.input.members[m].predictions = here_.input.members[m - 3].predictions;

  EXPECT_THAT(Build().headlines,
              ElementsAre("algo: evaluated elsewhere than where they were trained, weights answer "
                          "alike to the last bit, in all 3 pairs."));
}

TEST_F(InferStudyTest, WeightsOfAFileHaveAnAccuracyAndNothingToSetItAgainst) {
  for (InferLink& link : links_) link.file = "ours.safetensors";
  links_[3].weights = "another";

  const InferStudy study = Build();

  ASSERT_EQ(study.rows.size(), 2u);
  EXPECT_EQ(study.rows[0].train_hardware, "");
  EXPECT_EQ(study.rows[0].accuracy.n, 3);
  EXPECT_FALSE(study.rows[0].churn.value.has_value());
  EXPECT_THAT(study.rows[0].churn.note, HasSubstr("not known what trained them"));
  EXPECT_THAT(study.headlines, ElementsAre(HasSubstr("nothing to compare yet")));
  EXPECT_THAT(RenderInferTables(study), HasSubstr("a file"));
}

TEST_F(InferStudyTest, WhoPaysIsToldByGroups) {
  ExampleGroups& groups = here_.input.evaluations[0].groups.emplace_back();
  groups.column = "camera";
  groups.values = {"left", "right"};
  groups.of_example = {0, 0, 0, 1, 1, 1, 1, 1, 1, 1};

  const InferStudy study = Build();

  ASSERT_EQ(study.rows[1].groups.size(), 2u);
  const InferGroup& left = study.rows[1].groups[0];
  EXPECT_EQ(left.name, "left");
  EXPECT_EQ(left.examples, 3);
  EXPECT_NEAR(*left.churn.value, 2.0 / 9, 1e-12);  // 0, 1 and 1 of three.
  EXPECT_TRUE(left.churn.low && left.churn.high);
  EXPECT_NEAR(*study.rows[1].groups[1].churn.value, 1.0 / 7, 1e-12);  // 0, 0 and 3 of seven.
  EXPECT_THAT(InferToCsv(study),
              HasSubstr("algo,,cpu-a,stack,cpu-b,stack,camera: left,churn,0.222"));
}

TEST_F(InferStudyTest, OfAttributesAGroupCountsItsExamples) {
  here_.input.evaluations[0].attributes = 2;
  ExampleGroups& groups = here_.input.evaluations[0].groups.emplace_back();
  groups.column = "camera";
  groups.values = {"left", "right"};
  groups.of_example = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1};  // Of each decision.

  const InferStudy study = Build();

  ASSERT_EQ(study.rows[1].groups.size(), 2u);
  EXPECT_EQ(study.rows[1].groups[0].examples, 2);
  EXPECT_EQ(study.rows[1].groups[1].examples, 3);
  EXPECT_EQ(Json::parse(InferToJson(study))["rows"][1]["groups"][0]["examples"], 2);
}

TEST_F(InferStudyTest, PredictionsThatAreNotThereAreLeftOutByName) {
  here_.input.members[4].predictions = {};
  trained_.input.members[2].predictions = {};

  const InferStudy study = Build();

  EXPECT_EQ(study.rows[1].weights, 1);
  EXPECT_EQ(study.rows[1].accuracy.n, 2);
  EXPECT_THAT(study.warnings, ElementsAre("s1c0r2: it has no predictions: left out.",
                                          "s1c1r1: it has no predictions: left out.",
                                          "s1c0r2: it has no predictions: left out."));
}

TEST_F(InferStudyTest, JsonAndCsvHaveEveryNumber) {
  const InferStudy study = Build();
  const Json json = Json::parse(InferToJson(study));
  EXPECT_EQ(json["infer_version"], 1);
  EXPECT_EQ(json["rows"][1]["churn"]["value"], *study.rows[1].churn.value);
  EXPECT_EQ(json["rows"][1]["churn"]["n"], 3);
  EXPECT_EQ(json["rows"][1]["identical"], 1);
  const std::string csv = InferToCsv(study);
  EXPECT_THAT(csv,
              HasSubstr("plan,axes,train_hardware,train_stack,infer_hardware,infer_stack,group,"
                        "metric,value,low,high,n,note\n"));
  EXPECT_THAT(csv, HasSubstr("algo,,cpu-a,stack,cpu-b,stack,,identical,0.3333333333333333,,,3,"));
  const std::string page = RenderInferPage(study);
  EXPECT_THAT(page, HasSubstr("<title>infer-s1 (s2): train on, infer on</title>"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST_F(InferStudyTest, EveryAccuracyStandsInItsPlace) {
  const InferStudy study = Build();
  const InferRow& row = study.rows[1];
  ASSERT_NE(*row.accuracy.value, *row.accuracy_difference.value);

  const Json json = Json::parse(InferToJson(study))["rows"][1];
  EXPECT_EQ(json["accuracy"]["value"], *row.accuracy.value);
  EXPECT_EQ(json["accuracy_difference"]["value"], *row.accuracy_difference.value);
  const std::string csv = InferToCsv(study);
  EXPECT_THAT(csv, HasSubstr(fmt::format(",cpu-b,stack,,top1,{},", *row.accuracy.value)));
  EXPECT_THAT(csv, HasSubstr(fmt::format(",cpu-b,stack,,top1_difference,{},",
                                         *row.accuracy_difference.value)));
  EXPECT_THAT(RenderInferTables(study), ContainsRegex("3/3 +80\\.00 % .* -10\\.00 % .* 1/3"));
}

TEST_F(InferStudyTest, PlannedDoneAndDifferentWeightsAreCountedApart) {
  EXPECT_EQ(Json::parse(InferToJson(Build()))["rows"][1]["weights"], 3) << "not the equal ones";
  here_.input.members[5].state = MemberState::kWaiting;
  links_[4].weights = links_[3].weights;  // A copy.

  const Json row = Json::parse(InferToJson(Build()))["rows"][1];

  EXPECT_EQ(row["members"], 3);
  EXPECT_EQ(row["done"], 2);
  EXPECT_EQ(row["weights"], 1);
}

}  // namespace
}  // namespace noisefloor::report
