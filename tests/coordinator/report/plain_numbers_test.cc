// What of a study is no estimate: counts, p-values, curves. Each form says it in its own place.
#include <initializer_list>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/report/export.h"
#include "coordinator/report/study.h"
#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"

namespace noisefloor::report {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr MemberCounts kPlainCounts = {.total = 36,
                                       .done = 1,
                                       .diverged = 2,
                                       .failed = 3,
                                       .cancelled = 4,
                                       .missing = 5,
                                       .retried = 6,
                                       .without_predictions = 7,
                                       .without_weights = 8};

void AddPlainComparisons(Study& study) {
  Comparison& hardware = study.hardware.emplace_back();
  hardware.cells_b = {1};
  hardware.pairs = 9;
  hardware.identical_pairs = 5;
  hardware.left_out = 2;
  hardware.draws = 8;
  hardware.shift.p = 0.03125;
  hardware.shift.p_holm = 0.0625;
  hardware.shift.least_p = 0.015625;
  hardware.shift.arrangements = 64;
  hardware.shift.replicates = 7;
  hardware.shift.blocks = 3;
  Contrast& contrast = study.contrasts.emplace_back();
  contrast.settings = 11;
  contrast.left_out = 12;
  contrast.draws = 13;
  FigureContrast& figure = contrast.figures.emplace_back();
  figure.figure = "churn";
  figure.estimate.n = 14;
  figure.p = 0.25;
  figure.p_holm = 0.5;
}

void AddPlainChecks(Study& study) {
  ControlCheck& control = study.controls.emplace_back();
  control.members = 6;
  control.units = 2;
  control.duplicates = 5;
  control.upper_bound = 0.238;
  PhysicalCheck& physical = study.physical.emplace_back();
  physical.runs = 4;
  physical.different_results = 3;
  physical.upper_bound = 0.632;
}

void AddPlainExamples(Study& study) {
  SensitiveExamples& sensitive = study.sensitive.emplace_back();
  sensitive.draws = 15;
  sensitive.examples = 40;
  sensitive.flipped = 20;
  sensitive.tested = 10;
  sensitive.alpha = 0.75;
  sensitive.beta = 2.5;
  SensitiveExample& one = sensitive.most.emplace_back();
  one.flips = 12;
  one.said_a = "cat";
  one.said_b = "dog";
  one.p = 0.001;
  one.p_fdr = 0.02;
  DivergentExample& example = study.divergent.examples.emplace_back();
  example.selected_by = 0.5;
  example.disagreement.value = 0.4;
  DivergentGroup& group = study.divergent.groups.emplace_back();
  group.examples = 30;
  group.divergent = 16;
  group.ratio.n = 17;
  group.p = 0.01;
  group.p_holm = 0.03;
}

// In one record no two numbers are equal, so that two that are swapped show.
Study PlainNumbers() {
  Study study;
  study.counts = kPlainCounts;
  study.cohorts.emplace_back().counts = kPlainCounts;
  AddPlainComparisons(study);
  AddPlainChecks(study);
  AddPlainExamples(study);
  study.curves.push_back({.metric = "train_loss",
                          .steps = {1},
                          .epochs = {0.5},
                          .mean = {0.25},
                          .sd = {0.125},
                          .n = {3}});
  study.worst_classes.n = 18;
  study.worst_classes.churn.push_back({.name = "cat", .churn = 0.3, .shrunken = 0.2});
  study.fixed_draws.push_back(
      {.block = 1, .accuracy = 0.72, .lowest = 0.74, .highest = 0.8, .free_draws = 4});
  return study;
}

TEST(PlainNumbersTest, OfMembersStandUnderTheirNamesInJson) {
  const Json json = Json::parse(StudyToJson(PlainNumbers()));

  const Json counts = {
      {"total", 36},         {"done", 1},    {"diverged", 2}, {"failed", 3},
      {"cancelled", 4},      {"missing", 5}, {"retried", 6},  {"without_predictions", 7},
      {"without_weights", 8}};
  EXPECT_EQ(json["counts"], counts);
  EXPECT_EQ(json["cohorts"][0]["counts"], counts);
}

TEST(PlainNumbersTest, StandUnderTheirNamesInJson) {
  const Json json = Json::parse(StudyToJson(PlainNumbers()));

  for (const auto& [pointer, value] : std::initializer_list<std::pair<const char*, double>>{
           {"/hardware/0/pairs", 9},
           {"/hardware/0/identical_pairs", 5},
           {"/hardware/0/left_out", 2},
           {"/hardware/0/draws", 8},
           {"/hardware/0/shift/p", 0.03125},
           {"/hardware/0/shift/p_holm", 0.0625},
           {"/hardware/0/shift/least_p", 0.015625},
           {"/hardware/0/shift/arrangements", 64},
           {"/hardware/0/shift/replicates", 7},
           {"/hardware/0/shift/blocks", 3},
           {"/contrasts/0/settings", 11},
           {"/contrasts/0/left_out", 12},
           {"/contrasts/0/draws", 13},
           {"/contrasts/0/figures/0/p", 0.25},
           {"/contrasts/0/figures/0/p_holm", 0.5},
           {"/controls/0/members", 6},
           {"/controls/0/units", 2},
           {"/controls/0/duplicates", 5},
           {"/controls/0/upper_bound", 0.238},
           {"/physical/0/runs", 4},
           {"/physical/0/different_results", 3},
           {"/physical/0/upper_bound", 0.632},
           {"/curves/0/steps/0", 1},
           {"/curves/0/epochs/0", 0.5},
           {"/curves/0/mean/0", 0.25},
           {"/curves/0/sd/0", 0.125},
           {"/curves/0/n/0", 3},
           {"/worst_classes/n", 18},
           {"/worst_classes/churn/0/churn", 0.3},
           {"/worst_classes/churn/0/shrunken", 0.2},
           {"/fixed_draws/0/block", 1},
           {"/fixed_draws/0/accuracy", 0.72},
           {"/fixed_draws/0/lowest", 0.74},
           {"/fixed_draws/0/highest", 0.8},
           {"/fixed_draws/0/free_draws", 4},
           {"/sensitive/0/draws", 15},
           {"/sensitive/0/examples", 40},
           {"/sensitive/0/flipped", 20},
           {"/sensitive/0/tested", 10},
           {"/sensitive/0/alpha", 0.75},
           {"/sensitive/0/beta", 2.5},
           {"/sensitive/0/most/0/flips", 12},
           {"/sensitive/0/most/0/p", 0.001},
           {"/sensitive/0/most/0/p_fdr", 0.02},
           {"/divergent/examples/0/selected_by", 0.5},
           {"/divergent/groups/0/examples", 30},
           {"/divergent/groups/0/divergent", 16},
           {"/divergent/groups/0/p", 0.01},
           {"/divergent/groups/0/p_holm", 0.03}}) {
    EXPECT_EQ(json.at(Json::json_pointer(pointer)), value) << pointer;
  }
  EXPECT_EQ(json["sensitive"][0]["most"][0]["said_a"], "cat");
  EXPECT_EQ(json["sensitive"][0]["most"][0]["said_b"], "dog");
}

TEST(PlainNumbersTest, StandUnderTheirMetricsInCsv) {
  const std::string csv = StudyToCsv(PlainNumbers());

  for (const char* row :
       {"\ncohort,0,,,members_done,1,,,36,", "\ncohort,0,,,members_diverged,2,,,36,",
        "\ncohort,0,,,members_failed,3,,,36,", ",identical_pairs,5,,,9,", ",draws,8,,,9,",
        ",shift_p,0.03125,,,7,", ",shift_p_holm,0.0625,,,7,", ",shift_least_p,0.015625,,,7,",
        ",churn_p,0.25,,,14,", ",churn_p_holm,0.5,,,14,", "\ncontrol,0,,,upper_bound,0.238,,,11,",
        "\nphysical,0,,,different_results,3,,,4,", "\nphysical,0,,,upper_bound,0.632,,,4,",
        "\ncurve,0,,step 1,train_loss_mean,0.25,,,3,", "\ncurve,0,,step 1,train_loss_sd,0.125,,,3,",
        ",p_holm,0.03,,,17,", ",p_fdr,0.02,,,15,"}) {
    EXPECT_THAT(csv, HasSubstr(row));
  }
}

TEST(PlainNumbersTest, OfMembersAreSaidAboveTheTables) {
  Study study;
  study.counts = kPlainCounts;
  EXPECT_THAT(RenderTables(study),
              HasSubstr("36 members, 1 done, 2 diverged, 3 failed, 4 cancelled, 5 not finished, 6 "
                        "tried more than once; "));
}

TEST(PlainNumbersTest, TheTableOfContrastsSaysTheCorrectedP) {
  Study study;
  Contrast& contrast = study.contrasts.emplace_back();
  contrast.figures.resize(4);
  contrast.figures[0].estimate.value = 0.75;
  contrast.figures[0].p = 0.011;
  contrast.figures[0].p_holm = 0.022;
  EXPECT_THAT(RenderTables(study), HasSubstr("0.750 (0.022)"));
}

}  // namespace
}  // namespace noisefloor::report
