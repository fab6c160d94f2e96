#include "coordinator/report/study.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/spread.h"
#include "tests/coordinator/report/example_study.h"
#include "tests/coordinator/report/has_warning.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Churn of two members from their logits, written out.
double SlowChurn(const ExampleStudy& example, size_t a, size_t b) {
  const int32_t classes = example.input.evaluations[0].classes;
  const auto said = [&](size_t m, size_t x) {
    const auto row = example.logits[m].begin() + static_cast<int64_t>(x) * classes;
    return std::max_element(row, row + classes) - row;
  };
  const size_t examples = example.input.evaluations[0].labels.size();
  double differing = 0;
  for (size_t x = 0; x < examples; ++x) differing += said(a, x) != said(b, x);
  return differing / static_cast<double>(examples);
}

// Euclidean distance of the parameters of two members, written out.
double SlowDistance(const ExampleStudy& example, size_t a, size_t b) {
  double squares = 0;
  for (size_t k = 0; k + 2 < example.weights[a].size(); ++k) {  // The last two are buffers.
    squares += std::pow(double{example.weights[a][k]} - double{example.weights[b][k]}, 2);
  }
  return std::sqrt(squares);
}

TEST(StudyTest, CountsCellsAndFactsAreThoseOfTheInput) {
  const ExampleStudy example = MakeExampleStudy();

  const Study study = BuildStudy(example.input);

  EXPECT_EQ(study.study_version, 2);
  EXPECT_EQ(study.title, "first-study (s1)");
  EXPECT_EQ(study.counts.total, 36);
  EXPECT_EQ(study.counts.done, 36);
  EXPECT_EQ(study.counts.retried, 1);
  EXPECT_EQ(study.evaluation.examples, 120);
  ASSERT_EQ(study.cohorts.size(), 9u);
  EXPECT_EQ(study.cohorts[4].label, "algo, cpu-intel-avx512");
  EXPECT_EQ(study.cohorts[4].sources.at("init"), "free");
  EXPECT_EQ(study.cohorts[4].sources.at("kernels"), "fixed");
  EXPECT_EQ(study.cohorts[4].sources.at("poke"), "off");
  EXPECT_TRUE(study.cohorts[0].all_fixed);
  EXPECT_EQ(study.members.size(), 36u);
  EXPECT_EQ(study.members[13].lanes.at("init"), "0.2");
}

TEST(StudyTest, CohortFiguresEqualWhatTheirMembersGive) {
  const ExampleStudy example = MakeExampleStudy();

  const Study study = BuildStudy(example.input);

  for (size_t c = 0; c < 9; ++c) {
    double churn = 0;
    double raw = 0;
    std::vector<double> accuracy;
    for (size_t i = 4 * c; i < 4 * c + 4; ++i) {
      accuracy.push_back(example.input.members[i].final_metrics.at("top1"));
      for (size_t j = 4 * c; j < i; ++j) {
        churn += SlowChurn(example, i, j) / 6;
        raw += SlowDistance(example, i, j) / 6;
      }
    }
    EXPECT_NEAR(*study.cohorts[c].churn.value, churn, 1e-12);
    EXPECT_NEAR(*study.cohorts[c].l2_raw.value, raw, 1e-12);
    EXPECT_NEAR(*study.cohorts[c].accuracy.value, analysis::MeanOf(accuracy), 1e-12);
    EXPECT_NEAR(*study.cohorts[c].accuracy_sd.value, analysis::SdOf(accuracy), 1e-12);
    EXPECT_EQ(study.cohorts[c].churn.n, 4);
    EXPECT_EQ(study.cohorts[c].per_class.size(), 10u);
  }
  EXPECT_GT(*study.cohorts[3].l2_raw_all.value, *study.cohorts[3].l2_raw.value);
}

// Every member of the cells 3 and 4 answers 0 but where `ones` has a 1.
void Answer(ExampleStudy& example, const std::vector<std::string>& ones) {
  for (size_t m = 0; m < ones.size(); ++m) {
    for (size_t x = 0; x < ones[m].size(); ++x) {
      std::vector<float>& logits = example.logits[9 + m];
      logits[2 * x] = ones[m][x] == '1' ? 0.0f : 1.0f;
      logits[2 * x + 1] = 1.0f - logits[2 * x];
    }
  }
}

TEST(StudyTest, AnAdditionOfRoundingIsNoneAndNothingIsClaimedOfIt) {
  ExampleStudy example = MakeExampleStudy({.replicates = 3, .examples = 5, .classes = 2});
  // Across as within, every pair of replicates differs on as many of five answers.
  Answer(example, {"00000", "10000", "00001", "00010", "10000", "00000"});

  const Study study = BuildStudy(example.input);

  ASSERT_THAT(study.hardware[3].cells_a, ElementsAre(3));
  ASSERT_THAT(study.hardware[3].cells_b, ElementsAre(4));
  EXPECT_EQ(study.hardware[3].churn_excess.value, 0.0);
  EXPECT_THAT(study.hardware[3].text,
              HasSubstr("two members differ on 26.67 % and 26.67 %. Of a shift of the mean answer "
                        "(0.00 % more churn across than inside) nothing is claimed: "));
}

TEST(StudyTest, ControlCohortsAreCheckedAndIdentical) {
  const Study study = BuildStudy(MakeExampleStudy().input);

  ASSERT_EQ(study.controls.size(), 3u);
  EXPECT_EQ(study.controls[0].verdict, "identical");
  EXPECT_EQ(
      study.controls[0].text,
      "4 members are bit-identical: init, first batches, weights at 3 evaluations, final "
      "weights and logits; on 1 unit: at most 63.2 % of runs differ from this result, at 95 % "
      "(1 - 0.05^(1/3)).");
  EXPECT_THAT(study.headlines, Contains("3 of 3 control cohorts are bit-identical (at most 63 % of "
                                        "runs of one could differ from its result, at 95 %)."));
  EXPECT_THAT(study.warnings, Not(HasWarning("error", "")));
}

TEST(StudyTest, ABrokenControlNamesTheFirstEpochThatDiffers) {
  const ExampleStudy example = MakeExampleStudy({.break_control = true});

  const Study study = BuildStudy(example.input);

  EXPECT_EQ(study.controls[2].verdict, "different");
  EXPECT_EQ(study.controls[2].first_difference, "weights at evaluation 2 (epoch 2)");
  EXPECT_THAT(study.warnings, HasWarning("error",
                                         "s1c2r3 differs from s1c2r0 first in its "
                                         "weights at evaluation 2 (epoch 2)."));
  EXPECT_EQ(study.warnings[0].severity, "error");
}

// Members of a broken control on two devices: is it one of them?
TEST(StudyTest, ABrokenControlSaysWhichDeviceDoesNotRepeatItself) {
  ExampleStudy example = MakeExampleStudy({.break_control = true});
  for (const char* r : {"s1c2r0", "s1c2r1"}) example.Member(r).unit = "GPU-a";
  for (const char* r : {"s1c2r2", "s1c2r3"}) example.Member(r).unit = "GPU-b";
  const ControlCheck one = BuildStudy(example.input).controls[2];
  EXPECT_THAT(one.text, HasSubstr("By unit: GPU-a: 1 result of 2 members (s1c2r0 and s1c2r1); "
                                  "GPU-b: 2 results of 2 members (s1c2r2 and s1c2r3). GPU-b does "
                                  "not repeat itself."));
  ASSERT_EQ(one.by_unit.size(), 2u);
  EXPECT_THAT(one.by_unit[1].members, ElementsAre("s1c2r2", "s1c2r3"));
  EXPECT_EQ(one.by_unit[1].different_results, 2);

  example.Member("s1c2r2").hashes = example.Member("s1c2r3").hashes;
  EXPECT_THAT(BuildStudy(example.input).controls[2].text,
              HasSubstr("GPU-b: 1 result of 2 members (s1c2r2 and s1c2r3). Each repeats itself so "
                        "far, which results that have nothing to do with the unit may do, too "
                        "(p at most 0.33)."));

  example.Member("s1c2r2").unit = "GPU-a";
  const std::string text = BuildStudy(example.input).controls[2].text;
  EXPECT_THAT(text, HasSubstr("GPU-a does not repeat itself.")) << "r2 and r3 agree, r0 and r1 do";

  example.Member("s1c2r2").hashes = example.Member("s1c2r0").hashes;
  EXPECT_THAT(BuildStudy(example.input).controls[2].text,
              AllOf(HasSubstr("GPU-b: 1 result of 1 member (s1c2r3)."), Not(HasSubstr("repeat"))))
      << "one member says nothing of its device";
}

TEST(StudyTest, OfADeviceFourMembersAreNamed) {
  ExampleStudy example = MakeExampleStudy({.replicates = 6, .break_control = true});
  for (const char* r : {"s1c2r4", "s1c2r5"}) example.Member(r).unit = "host-2";
  EXPECT_THAT(BuildStudy(example.input).controls[2].text,
              HasSubstr("host-1: 2 results of 4 members (s1c2r0, s1c2r1, s1c2r2 and s1c2r3); "));
  example.Member("s1c2r4").unit = "host-1";
  EXPECT_THAT(BuildStudy(example.input).controls[2].text,
              HasSubstr("of 5 members (s1c2r0, s1c2r1, s1c2r2, s1c2r3 and 1 more); "));
}

TEST(StudyTest, ALateResultWithOtherBitsBreaksTheControl) {
  ExampleStudy example = MakeExampleStudy();
  Hashes late = example.Member("s1c0r0").hashes;
  example.Member("s1c0r0").duplicates = {late};
  EXPECT_THAT(BuildStudy(example.input).controls[0].text, HasSubstr("and 1 late result are"));
  late.weights = "other";
  example.Member("s1c0r0").duplicates = {late};

  const Study study = BuildStudy(example.input);

  EXPECT_EQ(study.controls[0].verdict, "different");
  EXPECT_THAT(study.controls[0].text, HasSubstr("s1c0r0 (late result)"));
}

TEST(StudyTest, PhysicalSourcesThatDidNothingAreSaidInWords) {
  const ExampleStudy example = MakeExampleStudy({.silent_impl = true});

  const Study study = BuildStudy(example.input);

  ASSERT_EQ(study.physical.size(), 3u);
  EXPECT_FALSE(study.physical[0].noise_seen);
  EXPECT_NEAR(*study.physical[0].upper_bound, 0.632, 0.001);
  EXPECT_EQ(study.physical[0].text,
            "kernels, autotune and reduce_order left free: no noise seen in 4 runs: at most "
            "63.2 % of runs differ from this result, at 95 % (1 - 0.05^(1/3)).");
  EXPECT_EQ(*study.cohorts[6].churn.value, 0.0);
  EXPECT_EQ(study.cohorts[6].churn.note, "no difference seen in 4 members: no interval");
}

TEST(StudyTest, PhysicalNoiseThatActedIsCounted) {
  const Study study = BuildStudy(MakeExampleStudy().input);

  EXPECT_TRUE(study.physical[0].noise_seen);
  EXPECT_EQ(study.physical[0].different_results, 4);
  EXPECT_FALSE(study.physical[0].upper_bound.has_value());
}

TEST(StudyTest, HardwareIsComparedPairedByReplicateAllElseEqual) {
  const ExampleStudy example = MakeExampleStudy();

  const Study study = BuildStudy(example.input);

  ASSERT_EQ(study.hardware.size(), 9u);  // Three plans, three pairs of classes.
  const Comparison& algo = study.hardware[3];
  EXPECT_EQ(algo.label, "algo: cpu-intel-avx2 against cpu-intel-avx512");
  EXPECT_THAT(algo.cells_a, ElementsAre(3));
  EXPECT_THAT(algo.cells_b, ElementsAre(4));
  EXPECT_EQ(algo.pairs, 4);
  EXPECT_EQ(algo.left_out, 0);
  double paired = 0;
  double difference = 0;
  for (size_t r = 0; r < 4; ++r) {
    paired += SlowChurn(example, 12 + r, 16 + r) / 4;
    difference += (example.input.members[16 + r].final_metrics.at("top1") -
                   example.input.members[12 + r].final_metrics.at("top1")) /
                  4;
  }
  EXPECT_NEAR(*algo.churn_paired.value, paired, 1e-12);
  EXPECT_NEAR(*algo.accuracy_difference.value, difference, 1e-12);
  EXPECT_NEAR(*algo.churn_within_a.value, *study.cohorts[3].churn.value, 1e-12);
  // Pairs share their seeds: they agree more than members of unequal replicate.
  EXPECT_LT(*algo.churn_paired.value, *algo.churn_unpaired.value);
  EXPECT_GT(*algo.logits_correlation_paired.value, *algo.logits_correlation_unpaired.value);
  EXPECT_THAT(study.hardware[0].text, HasSubstr("all of it is the hardware's"));
}

TEST(StudyTest, OnlyEqualReplicatesAreComparedWhenMembersAreMissing) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c3r0").state = MemberState::kFailed;
  example.Member("s1c4r3").state = MemberState::kDiverged;

  const Study study = BuildStudy(example.input);

  EXPECT_EQ(study.hardware[3].pairs, 2);
  EXPECT_EQ(study.hardware[3].left_out, 4);
  EXPECT_THAT(study.warnings,
              HasWarning("warning",
                         "Compares the 2 replicates that both sides finished; 4 members "
                         "left out."));
  EXPECT_THAT(study.warnings, HasWarning("warning", "1 of 4 diverged"));
  EXPECT_THAT(study.warnings, HasWarning("warning", "1 of 4 failed; failures are not missing"));
}

TEST(StudyTest, MembersWithOtherLanesAreNoPair) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c4r2").lanes[NoiseSource::kInit] = {0, 77};

  EXPECT_EQ(BuildStudy(example.input).hardware[3].pairs, 3);
}

TEST(StudyTest, DifferentStacksAreComparedOnlyForWantOfEqualOnesAndMarked) {
  ExampleStudy example = MakeExampleStudy();
  for (CellInput& cell : example.input.cells) {
    if (cell.hardware != "cpu-intel-sse") continue;
    cell.stack = "torch-2.7-cpu";
    cell.stack_fingerprint = "torch-2.7.1+cpu";
  }

  const Study study = BuildStudy(example.input);

  EXPECT_EQ(study.hardware.size(), 9u);
  EXPECT_FALSE(study.hardware[0].mixes_stacks);
  EXPECT_TRUE(study.hardware[1].mixes_stacks);
  EXPECT_EQ(study.cohorts[2].label, "control, cpu-intel-sse, torch-2.7-cpu");
  EXPECT_EQ(study.hardware[0].setting, "control, torch-2.11-cpu");
  EXPECT_EQ(study.hardware[1].setting, "control, torch-2.11-cpu against torch-2.7-cpu");
  EXPECT_THAT(study.warnings, HasWarning("warning", "2 different stack fingerprints"));
  EXPECT_THAT(study.warnings, HasWarning("warning", "Compares different stacks"));
}

TEST(StudyTest, ACellThatMixesStacksOrBuildsIsAnError) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c3r1").stack_fingerprint = "other";
  example.Member("s1c3r2").trainer_build = "other";
  example.Member("s1c3r3").unit = "host-2";

  const Study study = BuildStudy(example.input);

  EXPECT_THAT(study.warnings, HasWarning("error", "Mixes 2 stack fingerprints"));
  EXPECT_THAT(study.warnings, HasWarning("error", "Mixes 2 trainer builds"));
  EXPECT_THAT(study.warnings, HasWarning("note", "Ran on 2 units"));
}

TEST(StudyTest, CurvesHaveABandOfDoneMembersAndALineForEach) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c3r1").state = MemberState::kDiverged;
  example.Member("s1c3r1").curves["test_top1"][2].value = std::nan("");
  example.Member("s1c3r2").curves["test_top1"].pop_back();

  const Study study = BuildStudy(example.input);

  const auto it = std::find_if(study.curves.begin(), study.curves.end(), [](const Curve& curve) {
    return curve.cell == 3 && curve.metric == "test_top1";
  });
  ASSERT_NE(it, study.curves.end());
  EXPECT_THAT(it->steps, ElementsAre(47, 94, 141));
  EXPECT_THAT(it->n, ElementsAre(3, 3, 2));
  ASSERT_EQ(it->members.size(), 4u);
  EXPECT_TRUE(std::isnan(*it->members[1].values[2]));
  EXPECT_FALSE(it->members[2].values[2].has_value());
  const double a = *it->members[0].values[2];
  const double b = *it->members[3].values[2];
  EXPECT_NEAR(*it->mean[2], (a + b) / 2, 1e-6);
  EXPECT_NEAR(*it->sd[2], std::abs(a - b) / std::sqrt(2.0), 1e-6);
  EXPECT_EQ(study.curves.size(), 36u);
}

TEST(StudyTest, TheBandIsOfTheValuesAsTheyCameAndOnlyWhatIsShownIsRounded) {
  ExampleStudy example = MakeExampleStudy();
  for (size_t r = 0; r < 4; ++r) {
    MemberInput& member = example.Member("s1c3r" + std::to_string(r));
    member.curves["test_loss"][2].value = 1e6 + 0.1 * static_cast<double>(r);
  }

  const Study study = BuildStudy(example.input);

  const auto it = std::find_if(study.curves.begin(), study.curves.end(), [](const Curve& curve) {
    return curve.cell == 3 && curve.metric == "test_loss";
  });
  ASSERT_NE(it, study.curves.end());
  EXPECT_EQ(*it->members[1].values[2], 1e6);
  EXPECT_NEAR(*it->sd[2], 0.1 * analysis::SdOf(std::vector<double>{0, 1, 2, 3}), 1e-6);
}

TEST(StudyTest, LongCurvesAreThinnedAndKeepTheirLastPoint) {
  ExampleStudy example = MakeExampleStudy();
  std::vector<CurvePoint>& points = example.Member("s1c0r0").curves["train_loss"];
  points.clear();
  for (int64_t step = 1; step <= 5000; ++step) points.push_back({step, step / 100.0, 1.0});

  const Study study = BuildStudy(example.input);

  const auto it = std::find_if(study.curves.begin(), study.curves.end(), [](const Curve& curve) {
    return curve.cell == 0 && curve.metric == "train_loss";
  });
  EXPECT_EQ(it->steps.size(), 300u);
  EXPECT_EQ(it->steps.front(), 1);
  EXPECT_EQ(it->steps.back(), 5000);
}

TEST(StudyTest, TheHeatMapHoldsTheChurnOfEveryTwoMembers) {
  const ExampleStudy example = MakeExampleStudy();

  const HeatMap map = BuildStudy(example.input).heat_map;

  ASSERT_EQ(map.members.size(), 36u);
  EXPECT_EQ(map.members[13], "s1c3r1");
  for (size_t i = 0; i < 36; ++i) {
    for (size_t j = 0; j < 36; ++j) {
      ASSERT_NEAR(*map.values[i][j], SlowChurn(example, i, j), 1e-6);
    }
  }
  EXPECT_EQ(map.left_out, 0);
}

TEST(StudyTest, AHeatMapBeyondItsLimitKeepsLowReplicatesOfEveryCellAndSaysSo) {
  const ExampleStudy example =
      MakeExampleStudy({.replicates = 25, .examples = 12, .side = 2});  // 225 members.

  const HeatMap map = BuildStudy(example.input).heat_map;

  EXPECT_EQ(map.members.size(), 200u);
  EXPECT_EQ(map.left_out, 25);
  EXPECT_THAT(map.note, HasSubstr("25 members are not shown"));
  EXPECT_EQ(map.members.front(), "s1c0r0");
  EXPECT_EQ(std::count(map.cells.begin(), map.cells.end(), 8u), 22);
}

TEST(StudyTest, DivergentExamplesAreChosenByOneHalfAndMeasuredOnTheOther) {
  const ExampleStudy example = MakeExampleStudy();

  const DivergentExamples divergent = BuildStudy(example.input).divergent;

  ASSERT_FALSE(divergent.examples.empty());
  EXPECT_EQ(divergent.members.size(), 24u);  // Without the control cohorts.
  EXPECT_EQ(divergent.examples[0].said.size(), 24u);
  EXPECT_EQ(divergent.examples[0].accuracy.n, 2);  // Replicates 1 and 3.
  EXPECT_EQ(divergent.members[1], "s1c3r1");
  EXPECT_FALSE(divergent.selecting[1]);
  EXPECT_TRUE(divergent.selecting[2]);
  EXPECT_THAT(divergent.note, HasSubstr("chosen by the 12 of every other replicate"));
  EXPECT_EQ(divergent.examples[0].picture.height, 20);
  EXPECT_EQ(divergent.examples[0].picture.pixels.size(), (20u * 20 + 2) / 3 * 4);
}

// A table of runs may number draws of a plan after those of another one.
TEST(StudyTest, HalvesAreHalvesWhateverTheNumbersOfReplicates) {
  ExampleStudy example = MakeExampleStudy();
  for (MemberInput& member : example.input.members) {
    if (member.replicate > 0) member.replicate += 3;  // 0, 4, 5, 6
  }

  const DivergentExamples divergent = BuildStudy(example.input).divergent;

  ASSERT_FALSE(divergent.examples.empty());
  for (size_t m = 0; m < divergent.members.size(); ++m) {
    EXPECT_EQ(divergent.selecting[m], m % 2 == 0) << divergent.members[m];
  }
  EXPECT_TRUE(divergent.examples[0].disagreement.value.has_value());
}

TEST(StudyTest, CohortsThatDisagreeWithEachOtherOnlyAreNotDivergent) {
  ExampleStudy example = MakeExampleStudy();
  // Every cohort answers in its own way, with which all its members agree.
  for (size_t m = 0; m < example.logits.size(); ++m) {
    for (float& logit : example.logits[m]) logit = 0;
    for (size_t x = 0; x < example.input.evaluations[0].labels.size(); ++x) {
      const int32_t right = example.input.evaluations[0].labels[x];
      const int32_t said = x % 2 == 0 ? right : (right + static_cast<int32_t>(m / 4)) % 10;
      example.logits[m][10 * x + static_cast<size_t>(said)] = 1;
    }
  }

  const DivergentExamples divergent = BuildStudy(example.input).divergent;

  EXPECT_EQ(divergent.members.size(), 24u);
  EXPECT_THAT(divergent.examples, IsEmpty());
  EXPECT_THAT(divergent.note, HasSubstr("agree on every example"));
}

TEST(StudyTest, TheEnvironmentTellsWhatDiffersInsideAClass) {
  const Study study = BuildStudy(MakeExampleStudy().input);

  ASSERT_EQ(study.environment.size(), 3u);
  EXPECT_EQ(study.environment[0].hardware, "cpu-intel-avx2");
  EXPECT_EQ(study.environment[0].members, 12);
  const auto values = [&](const std::string& key) {
    for (const EnvironmentFact& fact : study.environment[0].facts) {
      if (fact.key == key) return fact.values;
    }
    return std::vector<std::string>();
  };
  EXPECT_THAT(values("versions.libtorch"), ElementsAre("2.11.0"));
  EXPECT_THAT(values("machine.instruction_sets"), ElementsAre("sse4_2, avx2, avx512f"));
  EXPECT_THAT(values("variables.ATEN_CPU_CAPABILITY"), ElementsAre("avx2"));
  EXPECT_THAT(values("switches.deterministic"), ElementsAre("false", "true"));
}

TEST(StudyTest, AFactThatSomeMembersDidNotTellIsNotSaidOfAll) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c0r0").environment_json = R"({"versions":{"libtorch":"2.11.0"}})";
  example.Member("s1c3r1").environment_json = "";  // Of the same class.
  example.Member("s1c3r1").unit = "";

  const Study study = BuildStudy(example.input);

  const auto values = [&](size_t row, const std::string& key) {
    for (const EnvironmentFact& fact : study.environment[row].facts) {
      if (fact.key == key) return fact.values;
    }
    return std::vector<std::string>();
  };
  ASSERT_EQ(study.environment[0].members, 12);
  EXPECT_THAT(values(0, "versions.libtorch"), ElementsAre("2.11.0", "–"));
  EXPECT_THAT(values(0, "versions.mkl"), ElementsAre("2024.2", "–"));
  EXPECT_THAT(values(0, "unit"), ElementsAre("host-1", "–"));
  EXPECT_THAT(values(0, "switches.deterministic"), ElementsAre("false", "true", "–"));
  EXPECT_THAT(values(0, "stack"), ElementsAre("torch-2.11-cpu")) << "A cell's, told of all.";
  EXPECT_THAT(values(1, "versions.mkl"), ElementsAre("2024.2")) << "All of another class told it.";
}

TEST(StudyTest, AxesAreNamedByTheirLastPartUnlessTwoEndAlike) {
  ExampleStudy example = MakeExampleStudy();
  for (CellInput& cell : example.input.cells) {
    cell.axes = {{"train.optimizer.learning_rate", "0.05"}};
  }
  EXPECT_EQ(BuildStudy(example.input).cohorts[0].axes_label, "learning_rate=0.05");

  for (CellInput& cell : example.input.cells) {
    cell.axes = {{"model.name", "mlp"}, {"data.name", "x"}};
  }
  EXPECT_EQ(BuildStudy(example.input).cohorts[0].axes_label, "model.name=mlp, data.name=x");
}

TEST(StudyTest, CellsWithOtherAxesOrBlocksAreNotCompared) {
  ExampleStudy example = MakeExampleStudy();
  example.input.cells[1].axes = {{"train.epochs", "3"}};
  example.input.cells[2].block = 1;

  const Study study = BuildStudy(example.input);

  EXPECT_EQ(study.hardware.size(), 6u);  // None of control.
  EXPECT_EQ(study.cohorts[2].label, "control, cpu-intel-sse, block 1");
}

TEST(StudyTest, BlocksAreSummedUpOverIndependentDraws) {
  ExampleStudy example = MakeExampleStudy();
  // The third class becomes two more blocks of the first.
  for (CellInput& cell : example.input.cells) {
    if (cell.hardware == "cpu-intel-avx512") cell.block = 1;
    if (cell.hardware == "cpu-intel-sse") cell.block = 2;
    cell.hardware = "cpu-intel-avx2";
  }

  const Study study = BuildStudy(example.input);

  ASSERT_EQ(study.blocks.size(), 3u);
  EXPECT_EQ(study.blocks[0].label, "algo, cpu-intel-avx2");
  EXPECT_THAT(study.blocks[0].cells, ElementsAre(3, 4, 5));
  EXPECT_EQ(study.blocks[0].churn.n, 3);
  EXPECT_NEAR(*study.blocks[0].churn.value,
              (*study.cohorts[3].churn.value + *study.cohorts[4].churn.value +
               *study.cohorts[5].churn.value) /
                  3,
              1e-12);
  EXPECT_THAT(study.hardware, IsEmpty());
  EXPECT_THAT(BuildStudy(MakeExampleStudy().input).blocks, IsEmpty());
}

TEST(StudyTest, BlocksAreOneComparisonWhoseLabelNamesNone) {
  ExampleStudy example = MakeExampleStudy();
  EXPECT_EQ(BuildStudy(example.input).hardware[3].label,
            "algo: cpu-intel-avx2 against cpu-intel-avx512");
  // The cells of control become block 1 of algo.
  for (size_t c = 0; c < 3; ++c) {
    example.input.cells[c].plan = "algo";
    example.input.cells[c].sources = example.input.cells[3].sources;
    example.input.cells[c].block = 1;
  }

  const Study study = BuildStudy(example.input);

  ASSERT_EQ(study.hardware.size(), 6u);  // Three of algo, three of impl.
  EXPECT_EQ(study.hardware[0].label, "algo: cpu-intel-avx2 against cpu-intel-avx512");
  EXPECT_THAT(study.hardware[0].cells_a, ElementsAre(0, 3));
  std::set<std::string> labels;
  for (const Comparison& comparison : study.hardware) labels.insert(comparison.label);
  EXPECT_EQ(labels.size(), study.hardware.size());
}

TEST(StudyTest, ACellWithoutAClassOfItsOwnRunsOnAny) {
  ExampleStudy example = MakeExampleStudy();
  for (CellInput& cell : example.input.cells) {
    if (cell.hardware == "cpu-intel-avx2") cell.hardware = "";
  }

  const Study study = BuildStudy(example.input);

  EXPECT_EQ(study.controls[0].label, "control, any");
  EXPECT_EQ(study.cohorts[0].hardware, "any");
  EXPECT_EQ(study.hardware[0].hardware_a, "any");
  EXPECT_EQ(study.hardware[0].label, "control: any against cpu-intel-avx512");
  EXPECT_EQ(study.environment[0].hardware, "any");
}

TEST(StudyTest, EqualInputsGiveEqualStudies) {
  const ExampleStudy example = MakeExampleStudy();
  ExampleStudy shuffled = MakeExampleStudy();
  std::reverse(shuffled.input.members.begin(), shuffled.input.members.end());
  std::reverse(shuffled.input.cells.begin(), shuffled.input.cells.end());

  const Study a = BuildStudy(example.input);
  const Study b = BuildStudy(shuffled.input);

  ASSERT_EQ(a.cohorts.size(), b.cohorts.size());
  for (size_t c = 0; c < a.cohorts.size(); ++c) {
    EXPECT_EQ(a.cohorts[c].label, b.cohorts[c].label);
    EXPECT_EQ(a.cohorts[c].churn.value, b.cohorts[c].churn.value);
    EXPECT_EQ(a.cohorts[c].churn.high, b.cohorts[c].churn.high);
  }
  EXPECT_EQ(a.heat_map.members, b.heat_map.members);
  EXPECT_EQ(a.headlines, b.headlines);
}

}  // namespace
}  // namespace noisefloor::report
