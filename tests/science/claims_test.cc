// What a report claims, against studies whose truth is known: claims of hardware and of classes in
// studies where there is nothing to claim, and where there is. Members are latent: each example has
// a margin for its class; a seed (shared by the classes of hardware, as lanes are) and a run add
// normal noise to every logit.
//
// Seeds are fixed. NOISEFLOOR_STUDIES: how many studies of each kind; more of them take longer and
// narrow the bounds, which are three Monte Carlo standard errors wide.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/exchange.h"
#include "coordinator/analysis/per_class.h"
#include "coordinator/analysis/spread.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"
#include "tests/science/latent.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;
using analysis::Exchange;
using analysis::PredictionMatrix;

// Plans algo and impl on three classes of hardware with so many replicates; the second class may
// move answers.
void Fill(TinyStudy& tiny, const Latent& latent, Draws& draws, int replicates) {
  for (const char* plan : {"algo", "impl"}) {
    const bool seeds_free = std::string(plan) == "algo";
    std::vector<std::vector<double>> seeds;
    for (int r = 0; r < replicates; ++r) {
      seeds.push_back(r > 0 && !seeds_free ? seeds[0] : latent.Noise(draws, latent.seed_noise));
    }
    for (const char* hardware : {"cpu-a", "cpu-b", "cpu-c"}) {
      tiny.AddCell(plan, seeds_free ? Algo() : Impl(), hardware);
      for (const std::vector<double>& seed : seeds) {
        tiny.AddMember(latent.Answer(draws, seed, hardware[4] == 'b'));
      }
    }
  }
}

bool ClaimsHardware(const Study& study) {
  const bool shown =
      std::ranges::any_of(study.hardware_tests, [](const auto& t) { return t.shift.shown; }) ||
      std::ranges::any_of(study.hardware, [](const auto& h) { return h.shift.shown; });
  const bool said = std::ranges::any_of(study.headlines, [](const std::string& headline) {
    return headline.find("the hardware shifts the mean answer") != std::string::npos ||
           headline.find("The hardware shifts the mean answer") != std::string::npos;
  });
  EXPECT_EQ(shown, said);
  return shown;
}

TEST(ClaimRateTest, WhereHardwareDoesNothingAtMostOneStudyInTwentySaysThatItDoes) {
  const int studies = StudyCount();
  Draws draws(1);
  int claims = 0;
  for (int k = 0; k < studies; ++k) {
    const Latent latent(draws);
    TinyStudy tiny(latent.examples, latent.classes);
    Fill(tiny, latent, draws, 6);
    claims += ClaimsHardware(BuildStudy(tiny.input));
  }
  std::printf("hardware claimed in %d of %d studies of nothing\n", claims, studies);
  EXPECT_LE(claims, AtMost(0.05, studies) * studies);
}

TEST(ClaimRateTest, WhereItMovesSomeAnswersMostStudiesSaySo) {
  const int studies = std::max(20, StudyCount() / 5);
  Draws draws(2);
  int claims = 0;
  for (int k = 0; k < studies; ++k) {
    Latent latent(draws);
    latent.moved = 4;
    TinyStudy tiny(latent.examples, latent.classes);
    Fill(tiny, latent, draws, 6);
    claims += ClaimsHardware(BuildStudy(tiny.input));
  }
  std::printf("hardware claimed in %d of %d studies where it moves 4 of 60\n", claims, studies);
  EXPECT_GE(claims, 0.8 * studies);
}

// Values of an axis, each on all of the classes; at the last value the `moved` examples are turned
// round.
struct Grid {
  int values = 3;
  int classes = 2;
  int replicates = 6;
};

void FillAxis(TinyStudy& tiny, const Latent& latent, Draws& draws, const Grid& grid) {
  std::vector<std::string> values;
  for (int value = 1; value <= grid.values; ++value) values.push_back(std::to_string(value));
  tiny.input.sweep.axes = {{{"train.epochs", values}}};
  std::vector<std::vector<double>> seeds;
  for (int r = 0; r < grid.replicates; ++r) {
    seeds.push_back(latent.Noise(draws, latent.seed_noise));
  }
  for (const std::string& value : values) {
    for (int hardware = 0; hardware < grid.classes; ++hardware) {
      tiny.AddCell("algo", Algo(), std::string("cpu-") + static_cast<char>('a' + hardware), 0,
                   {{"train.epochs", value}});
      for (const std::vector<double>& seed : seeds) {
        tiny.AddMember(latent.Answer(draws, seed, value == values.back()));
      }
    }
  }
}

bool ClaimsContrast(const Study& study) {
  return std::ranges::any_of(study.contrasts, [](const Contrast& contrast) {
    return std::ranges::any_of(contrast.figures, &FigureContrast::shown);
  });
}

// Anything that a study of nothing must not say.
bool ClaimsAnything(const Study& study) {
  const bool apart = std::ranges::any_of(study.warnings, [](const Warning& warning) {
    return warning.text.find("lies apart from the others") != std::string::npos;
  });
  return ClaimsHardware(study) || ClaimsContrast(study) || apart;
}

// Every kind of claim together: by hardware in each setting, of plans, of an axis, of a member.
TEST(StudyClaimTest, WhereNothingMattersAtMostOneStudyInTwentySaysAnything) {
  for (const Grid grid : {Grid{3, 2}, Grid{3, 3}, Grid{6, 4}}) {
    const int studies = grid.values > 3 ? StudyCount() / 2 : StudyCount();
    Draws draws(50);
    int claims = 0;
    for (int k = 0; k < studies; ++k) {
      const Latent latent(draws);
      TinyStudy tiny(latent.examples, latent.classes);
      FillAxis(tiny, latent, draws, grid);
      claims += ClaimsAnything(BuildStudy(tiny.input));
    }
    std::printf("%d values on %d classes: anything claimed in %d of %d studies of nothing\n",
                grid.values, grid.classes, claims, studies);
    EXPECT_LE(claims, AtMost(0.05, studies) * studies);
  }
}

TEST(ContrastClaimTest, WhereAValueTurnsAnswersRoundMostStudiesSaySo) {
  const int studies = std::max(20, StudyCount() / 5);
  Draws draws(51);
  int claims = 0;
  for (int k = 0; k < studies; ++k) {
    Latent latent(draws);
    latent.moved = 12;
    TinyStudy tiny(latent.examples, latent.classes);
    tiny.input.sweep.reference_accuracy = 0.1;  // Those who answer wrong are to be compared, too.
    FillAxis(tiny, latent, draws, {.replicates = 8});
    claims += ClaimsContrast(BuildStudy(tiny.input));
  }
  std::printf("a contrast claimed in %d of %d studies where a value turns 12 of 60 round\n", claims,
              studies);
  EXPECT_GE(claims, 0.8 * studies);
}

// Examples of which the second class turns some round, among many that it leaves alone: of those
// that are said to go with the hardware the others are at most one in twenty, on average.
TEST(SensitiveClaimTest, FewOfThoseThatAreFoundAreFalse) {
  const int studies = std::max(20, StudyCount() / 4);
  for (const int replicates : {9, 16}) {
    Draws draws(52);
    double false_share = 0;
    double found_of_turned = 0;
    for (int k = 0; k < studies; ++k) {
      Latent latent(draws, 300);
      latent.moved = 25;
      latent.run_noise = 0.7;  // So that others flip, too.
      TinyStudy tiny(latent.examples, latent.classes);
      std::vector<std::vector<double>> seeds;
      for (int r = 0; r < replicates; ++r) seeds.push_back(latent.Noise(draws, latent.seed_noise));
      for (const char* hardware : {"cpu-a", "cpu-b"}) {
        tiny.AddCell("algo", Algo(), hardware);
        for (const std::vector<double>& seed : seeds) {
          tiny.AddMember(latent.Answer(draws, seed, hardware[4] == 'b'));
        }
      }
      const std::vector<int64_t> found = BuildStudy(tiny.input).sensitive.at(0).found;
      const auto wrong = static_cast<double>(
          std::ranges::count_if(found, [&](int64_t x) { return x >= latent.moved; }));
      const auto all = static_cast<double>(found.size());
      false_share += all > 0 ? wrong / all / studies : 0;
      found_of_turned += (all - wrong) / static_cast<double>(latent.moved) / studies;
    }
    std::printf("%d draws: %.1f %% of the turned examples found, %.2f %% of the found ones false\n",
                replicates, 100 * found_of_turned, 100 * false_share);
    // The spread of a share of few, generously.
    EXPECT_LE(false_share, 0.05 + 3 * 0.1 / std::sqrt(studies));
    EXPECT_GE(found_of_turned, replicates == 9 ? 0.3 : 0.5);
  }
}

// The class that truly pays most, from many members, is in the set that the report names.
TEST(ClaimRateTest, TheClassThatTrulyPaysMostIsNamedInNineteenOfTwentyStudies) {
  const int studies = StudyCount();
  Draws draws(3);
  const Latent latent(draws);
  std::vector<int32_t> labels;
  for (int64_t x = 0; x < latent.examples; ++x) {
    labels.push_back(static_cast<int32_t>(x % latent.classes));
  }
  PredictionMatrix many(latent.examples, latent.classes);
  for (int m = 0; m < 3000; ++m) {
    const std::vector<double> seed = latent.Noise(draws, latent.seed_noise);
    ASSERT_TRUE(many.AddAnswers(latent.Answer(draws, seed, false)).ok());
  }
  const std::vector<double> truth = analysis::ChurnsByGroup(many, {labels, many.classes()}).all;
  const auto worst = std::to_string(std::max_element(truth.begin(), truth.end()) - truth.begin());
  int missed = 0;
  int told = 0;
  for (int k = 0; k < studies; ++k) {
    TinyStudy tiny(latent.examples, latent.classes);
    Fill(tiny, latent, draws, 6);
    const WorstClasses said = BuildStudy(tiny.input).worst_classes;
    missed += std::ranges::find(said.kept, worst) == said.kept.end();
    told += said.kept.size() < said.churn.size();
  }
  std::printf("the worst class missed in %d of %d studies; some class excluded in %d\n", missed,
              studies, told);
  EXPECT_LE(missed, AtMost(0.05, studies) * studies);
}

// Paired replicates of two classes that answer alike, in distribution; `moved` examples otherwise.
double ShareOfP(int64_t replicates, int64_t moved, Exchange exchange, int studies, uint64_t seed) {
  Draws draws(seed);
  int significant = 0;
  for (int k = 0; k < studies; ++k) {
    Latent latent(draws, 40);
    latent.moved = moved;
    std::vector<PredictionMatrix> sides(2, PredictionMatrix(latent.examples, latent.classes));
    std::vector<double> noise = latent.Noise(draws, latent.seed_noise);
    for (int64_t r = 0; r < replicates; ++r) {
      for (size_t side = 0; side < 2; ++side) {
        EXPECT_TRUE(sides[side].AddAnswers(latent.Answer(draws, noise, side == 1)).ok());
      }
      if (exchange == Exchange::kWithinReplicates) noise = latent.Noise(draws, latent.seed_noise);
    }
    significant += analysis::TestShiftOf({sides}, exchange).p <= 0.05;
  }
  return static_cast<double>(significant) / studies;
}

TEST(ShiftTestTest, ItsLevelHoldsAndItsPowerGrows) {
  const int studies = 3 * StudyCount();
  for (const auto exchange : {Exchange::kWithinReplicates, Exchange::kAcrossReplicates}) {
    for (const int64_t replicates : {4, 6, 8, 20}) {
      const double level = ShareOfP(replicates, 0, exchange, studies, 10);
      const double power = ShareOfP(replicates, 3, exchange, studies / 5, 20);
      std::printf("R = %d, %s: level %.3f, power %.3f\n", static_cast<int>(replicates),
                  exchange == Exchange::kWithinReplicates ? "sign flips" : "free exchanges", level,
                  power);
      EXPECT_LE(level, AtMost(0.05, studies));
      const bool cannot = exchange == Exchange::kWithinReplicates && replicates < 6;
      if (cannot) {
        EXPECT_EQ(level + power, 0);
      } else if (replicates >= 8) {
        EXPECT_GE(power, 0.8);
      }
    }
  }
}

// Pooled over blocks of three, the SD covers its truth however many blocks there are; the mean of
// the blocks' SDs did not: with 30 blocks in 74 % of studies.
TEST(BlockCoverageTest, ThePooledSpreadCovers) {
  const int studies = 10 * StudyCount();
  for (const int blocks : {2, 5, 30}) {
    Draws draws(30 + static_cast<uint64_t>(blocks));
    int covered = 0;
    for (int k = 0; k < studies; ++k) {
      std::vector<std::vector<double>> groups(static_cast<size_t>(blocks));
      for (std::vector<double>& group : groups) {
        const double mean = 0.8 + 0.05 * draws.Normal();
        for (int r = 0; r < 3; ++r) group.push_back(mean + 0.004 * draws.Normal());
      }
      const Estimate sd = analysis::PooledSdEstimate(groups, "fraction");
      covered += *sd.low <= 0.004 && 0.004 <= *sd.high;
    }
    const double coverage = static_cast<double>(covered) / studies;
    std::printf("pooled SD, %2d blocks of 3: coverage %.3f\n", blocks, coverage);
    EXPECT_NEAR(coverage, 0.95, 3 * std::sqrt(0.95 * 0.05 / studies));
  }
}

// How much the hardware changes differs from draw to draw of the held sources. The interval over
// blocks must hold the mean over draws, however many replicates each block has.
TEST(BlockCoverageTest, WhatTheHardwareChangesCoversOverDraws) {
  const int studies = StudyCount();
  constexpr int kBlocks = 6;
  constexpr double kLogSd = 0.3;
  constexpr double kMedian = 0.1;
  const double truth = kMedian * std::exp(kLogSd * kLogSd / 2);
  Draws draws(40);
  int covered = 0;
  for (int k = 0; k < studies; ++k) {
    TinyStudy tiny(60, 2);
    for (uint32_t block = 0; block < kBlocks; ++block) {
      const double changed = kMedian * std::exp(kLogSd * draws.Normal());
      std::vector<int16_t> answers;
      for (int x = 0; x < 60; ++x) answers.push_back(static_cast<int16_t>(x % 2));
      std::vector<int16_t> other = answers;
      for (int16_t& answer : other) answer ^= draws.Uniform() < changed ? 1 : 0;
      tiny.AddCell("control", Control(), "cpu-a", block);
      for (int r = 0; r < 5; ++r) tiny.AddMember(answers);
      tiny.AddCell("control", Control(), "cpu-b", block);
      for (int r = 0; r < 5; ++r) tiny.AddMember(other);
    }
    const Estimate churn = BuildStudy(tiny.input).hardware[0].churn_paired;
    ASSERT_EQ(churn.n, kBlocks);
    covered += churn.low && *churn.low <= truth && truth <= *churn.high;
  }
  const double coverage = static_cast<double>(covered) / studies;
  std::printf("churn of pairs over %d blocks: coverage %.3f\n", kBlocks, coverage);
  EXPECT_GE(coverage, 0.93 - 3 * std::sqrt(0.95 * 0.05 / studies));
}

}  // namespace
}  // namespace noisefloor::report
