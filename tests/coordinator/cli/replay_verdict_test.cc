#include "coordinator/cli/replay_verdict.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/philox.h"

namespace noisefloor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const TrainedBy kHere = {.stack = "torch", .build = "b1"};

Training With(NoiseSource source, int64_t shards) {
  Specification specification;
  specification.train.shards = shards;
  specification.Source(source).state = SourceState::kFree;
  return TrainingOf(specification);
}

TEST(ReplayVerdict, EqualBitsArePromisedWhenOnlySeededSourcesAreFree) {
  for (const NoiseSource source : {NoiseSource::kInit, NoiseSource::kDataOrder,
                                   NoiseSource::kAugment, NoiseSource::kDropout}) {
    EXPECT_THAT(WhyBitsMayDiffer(With(source, 4), kHere, kHere), IsEmpty()) << Name(source);
  }
}

TEST(ReplayVerdict, AFreePhysicalSourceTakesThePromiseBack) {
  EXPECT_THAT(WhyBitsMayDiffer(With(NoiseSource::kKernels, 1), kHere, kHere),
              ElementsAre("kernels is free"));
  EXPECT_THAT(WhyBitsMayDiffer(With(NoiseSource::kAutotune, 1), kHere, kHere),
              ElementsAre("autotune is free"));
  EXPECT_THAT(WhyBitsMayDiffer(With(NoiseSource::kReduceOrder, 4), kHere, kHere),
              ElementsAre("reduce_order is free"));
}

TEST(ReplayVerdict, TheOrderOfASumOfOneIsNoReason) {
  EXPECT_THAT(WhyBitsMayDiffer(With(NoiseSource::kReduceOrder, 1), kHere, kHere), IsEmpty());
}

TEST(ReplayVerdict, AnotherStackOrBuildIsAReason) {
  EXPECT_THAT(WhyBitsMayDiffer({}, kHere, {.stack = "older", .build = "b1"}),
              ElementsAre("the stack was torch and is older here"));
  EXPECT_THAT(WhyBitsMayDiffer({}, kHere, {.stack = "torch", .build = "b2"}),
              ElementsAre("the trainer was of build b1 and is of build b2 here"));
}

nlohmann::ordered_json EnvironmentOn(const char* processor, const char* driver) {
  return {{"build", "b1"},
          {"machine", {{"cpu_model", processor}, {"load", "0.1"}, {"instruction_sets", {"avx2"}}}},
          {"gpu", {{"name", "NVIDIA H200"}, {"driver", driver}}},
          {"versions", {{"libtorch", "2.11.0"}, {"onednn", nullptr}}}};
}

TEST(ReplayVerdict, WhatElseCanChangeABitIsReadFromTheEnvironment) {
  EXPECT_THAT(ConditionsOf(EnvironmentOn("Xeon 8480", "13000")),
              ElementsAre(Pair("GPU", "NVIDIA H200"), Pair("GPU driver", "13000"),
                          Pair("processor", "Xeon 8480"), Pair("set of instructions", "[\"avx2\"]"),
                          Pair("version of LibTorch", "2.11.0")));
  EXPECT_THAT(ConditionsOf("no object"), IsEmpty());
}

// Under the names that the trainer's facts have.
TEST(ReplayVerdict, EveryConditionIsReadByItsName) {
  const nlohmann::ordered_json environment = {
      {"machine",
       {{"cpu_model", "1"}, {"cpu_stepping", "2"}, {"instruction_sets", "3"}, {"c_library", "4"}}},
      {"aten_cpu_capability", "5"},
      {"versions",
       {{"libtorch", "6"}, {"library", "7"}, {"onednn", "8"}, {"mkl", "9"}, {"openmp", "10"}}},
      {"gpu", {{"name", "11"}, {"driver", "12"}, {"cudnn", "13"}, {"cuda_runtime", "14"}}},
      {"variables",
       {{"MKL_CBWR", "15"}, {"ONEDNN_MAX_CPU_ISA", "16"}, {"CUBLAS_WORKSPACE_CONFIG", "17"}}}};
  EXPECT_THAT(
      ConditionsOf(environment),
      UnorderedElementsAre(
          Pair("processor", "1"), Pair("processor's stepping", "2"),
          Pair("set of instructions", "3"), Pair("C library", "4"), Pair("capability of ATen", "5"),
          Pair("version of LibTorch", "6"), Pair("file of LibTorch", "7"),
          Pair("version of oneDNN", "8"), Pair("version of MKL", "9"),
          Pair("version of OpenMP", "10"), Pair("GPU", "11"), Pair("GPU driver", "12"),
          Pair("version of cuDNN", "13"), Pair("version of CUDA's runtime", "14"),
          Pair("variable MKL_CBWR", "15"), Pair("variable ONEDNN_MAX_CPU_ISA", "16"),
          Pair("variable CUBLAS_WORKSPACE_CONFIG", "17")));
}

TEST(ReplayVerdict, AnotherProcessorOrDriverOfTheSameClassIsAReason) {
  TrainedBy original = kHere;
  original.conditions = ConditionsOf(EnvironmentOn("Xeon 8480", "13000"));
  TrainedBy here = kHere;
  here.conditions = ConditionsOf(EnvironmentOn("Xeon 6980", "13010"));
  EXPECT_THAT(WhyBitsMayDiffer({}, original, here),
              ElementsAre("the GPU driver was 13000 and is 13010 here",
                          "the processor was Xeon 8480 and is Xeon 6980 here"));
  EXPECT_THAT(WhyBitsMayDiffer({}, original, original), IsEmpty());
  here.conditions.clear();
  EXPECT_THAT(WhyBitsMayDiffer({}, original, here), IsEmpty()) << "what is not known is no reason";
}

TEST(ReplayVerdict, TheFirstDifferenceIsTheFirstInTheTraining) {
  const std::map<std::string, std::string> original = {
      {"init", "a"},          {"first_batches", "b"}, {"weights_at/2", "c"},
      {"weights_at/10", "d"}, {"weights", "e"},       {"logits", "f"}};
  auto replay = original;
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "");
  replay["logits"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "the final predictions");
  replay["weights"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "the final weights");
  replay["weights_at/10"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "evaluation 10");
  replay["weights_at/2"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "evaluation 2");
  replay["init"] = "x";
  EXPECT_EQ(FirstDifference(PairHashes(original, replay)), "the initial weights");
}

TEST(ReplayVerdict, AHashThatOneSideLacksIsADifference) {
  const auto pairs = PairHashes({{"init", "a"}, {"logits", "b"}}, {{"init", "a"}});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(FirstDifference(pairs), "the final predictions");
}

TEST(ReplayVerdict, ACohortHasMeanSpreadAndAWidthForOneMore) {
  const Cohort cohort = SumUp({0.8, 0.9, 1.0}, 0);
  EXPECT_EQ(cohort.count, 3u);
  EXPECT_NEAR(cohort.mean, 0.9, 1e-12);
  EXPECT_NEAR(cohort.sd, 0.1, 1e-12);
  EXPECT_NEAR(cohort.half_width, 4.302652729911275 * 0.1 * std::sqrt(4.0 / 3.0), 1e-9);
  const double with_rounding = std::sqrt(0.01 + 1.0 / 12 / 100);
  EXPECT_NEAR(SumUp({0.8, 0.9, 1.0}, 10).half_width,
              4.302652729911275 * with_rounding * std::sqrt(4.0 / 3.0) + 0.05, 1e-9);
  EXPECT_EQ(IsLikely(cohort, 0.9 + 0.49), true);
  EXPECT_EQ(IsLikely(cohort, 0.9 - 0.50), false);
  EXPECT_EQ(IsLikely(cohort, std::nan("")), false);
}

TEST(ReplayVerdict, LessThanTwoMembersSayNothingAboutSpread) {
  EXPECT_EQ(IsLikely(SumUp({0.5}, 200), 0.9), std::nullopt);
  EXPECT_EQ(SumUp({0.5}, 200).sd, 0);
  EXPECT_EQ(IsLikely(SumUp({}, 200), 0.85), std::nullopt);
  EXPECT_EQ(IsLikely(SumUp({}, 200), std::nan("")), std::nullopt);
}

TEST(ReplayVerdict, EqualMembersPromiseNoMoreThanTheirTestSetShows) {
  // Two of 200 examples the same: t(0.975, 1) steps of rounding, and half a step.
  const Cohort two = SumUp({0.1, 0.1}, 200);
  EXPECT_NEAR(two.half_width, (12.706204736432095 / std::sqrt(12) * std::sqrt(1.5) + 0.5) / 200,
              1e-9);
  EXPECT_EQ(IsLikely(two, 0.12), true);
  EXPECT_EQ(IsLikely(two, 0.13), false);
  // Many equal ones: the neighbouring value at most.
  const Cohort many = SumUp(std::vector<double>(31, 0.1), 200);
  EXPECT_EQ(IsLikely(many, 0.105), true);
  EXPECT_EQ(IsLikely(many, 0.11), false);
  EXPECT_EQ(IsLikely(SumUp({0.1, 0.1}, 0), 0.9), std::nullopt) << "nothing is known of the step";
}

// Top-1 in whole examples, drawn from normals of any width: one more lies in the band in at least
// 95 of 100 cases, whatever the number of members. Three standard errors of the simulation are
// allowed for.
TEST(ReplayVerdict, TheBandHoldsWhatItPromises) {
  constexpr int kRounds = 4000;
  constexpr int kExamples = 1000;
  const double least = 0.95 - 3 * std::sqrt(0.95 * 0.05 / kRounds);
  const PhiloxStream stream(8, StreamOf("replay_band"));
  uint64_t draws = 0;
  const auto uniform = [&] { return (stream.Word(draws++) + 0.5) / 4294967296.0; };
  const auto normal = [&] {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  };
  for (const int members : {2, 3, 5, 30}) {
    for (const double sd : {0.05, 0.3, 0.5, 1.0, 3.0, 10.0}) {  // In examples.
      int held = 0;
      for (int round = 0; round < kRounds; ++round) {
        const double mean = 700 + uniform();
        const auto draw = [&] { return std::round(mean + sd * normal()) / kExamples; };
        std::vector<double> top1;
        for (int i = 0; i < members; ++i) top1.push_back(draw());
        held += IsLikely(SumUp(top1, kExamples), draw()).value() ? 1 : 0;
      }
      EXPECT_GE(static_cast<double>(held) / kRounds, least) << members << " members, SD " << sd;
    }
  }
}

}  // namespace
}  // namespace noisefloor::cli
