// What a report says of a measurement, from samples whose ratio is known.
#include "coordinator/report/determinism_cost.h"

#include <cmath>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/report/cost_text.h"

namespace noisefloor::report {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A member whose deterministic steps take `factor` as long as those of the plan, times e^0.1 in odd
// rounds and e^-0.1 in even ones. The machine is slower in each round than in the one before.
MemberInput Member(uint32_t cell, uint32_t replicate, double factor, int rounds = 4) {
  MemberInput member;
  member.id = "s1c" + std::to_string(cell) + "r" + std::to_string(replicate);
  member.cell = cell;
  member.replicate = replicate;
  member.state = MemberState::kDone;
  for (int round = 1; round <= rounds; ++round) {
    const double plan = 0.010 * round;
    const double wobble = std::exp(round % 2 == 1 ? 0.1 : -0.1);
    member.curves["plan/wall_seconds"].push_back({round, 0, plan});
    member.curves["deterministic/wall_seconds"].push_back({round, 0, plan * factor * wobble});
  }
  member.hashes.deterministic_weights = "a";
  member.hashes.plan_weights = "b";
  return member;
}

CellInput Cell(uint32_t index, const std::string& network, const std::string& hardware) {
  CellInput cell;
  cell.index = index;
  cell.axes = {{"model.name", network}, {"model.kernel", "7"}};
  cell.plan = "impl";
  cell.sources = {{NoiseSource::kKernels, SourceState::kFree},
                  {NoiseSource::kAutotune, SourceState::kFree}};
  cell.hardware = hardware;
  cell.stack = "torch-2.11-cu130";
  return cell;
}

CellInput OnAProcessor(uint32_t index) {
  CellInput cell = Cell(index, "mlp", "cpu-intel-avx2");
  cell.idle = {{NoiseSource::kKernels, "one choice of kernels"},
               {NoiseSource::kAutotune, "one choice of kernels"}};
  return cell;
}

StudyInput Input() {
  StudyInput input;
  input.sweep.id = "s1";
  input.sweep.name = "cost";
  input.sweep.notes = "elsewhere 7.46";
  input.sweep.settings = {{"model.name", "small_cnn", false}, {"measure.steps", "4", true}};
  input.cells = {Cell(0, "vgg16", "nvidia-v100")};
  input.members = {Member(0, 0, 1.5)};
  return input;
}

constexpr const char* kKernels =
    R"({"device": "cuda", "profiled_steps": 2,
        "arms": {"deterministic": [["gemm", 6, 0.03], ["copy", 2, 0.01]], "plan": [["wgrad", 4, 0.02]]},
        "primitives": {}})";

TEST(DeterminismCostTest, APlantedFactorIsFoundWithItsInterval) {
  const CostStudy study = BuildCost(Input(), {kKernels});
  ASSERT_EQ(study.rows.size(), 1u);
  const CostRow& row = study.rows[0];
  EXPECT_EQ(row.network, "vgg16");
  EXPECT_EQ(row.settings, "kernel=7");
  EXPECT_NEAR(*row.ratio.value, 1.5, 1e-12);
  // SD of the logarithms 0.1 sqrt(4 / 3), standard error that by 2, t(3; 0.975) = 3.18245.
  EXPECT_NEAR(*row.ratio.low, 1.5 * std::exp(-3.18245 * 0.1 * std::sqrt(4.0 / 3) / 2), 1e-6);
  EXPECT_NEAR(*row.ratio.high, 1.5 * std::exp(3.18245 * 0.1 * std::sqrt(4.0 / 3) / 2), 1e-6);
  EXPECT_EQ(row.ratio.n, 4);
  EXPECT_NEAR(row.plan_seconds, 0.025, 1e-12) << "the median of 10, 20, 30 and 40 ms";
  EXPECT_EQ(row.pays_from, 2);
  EXPECT_EQ(row.bits, "different");
  EXPECT_EQ(row.vacuous, "");
  EXPECT_THAT(
      study.headlines,
      ElementsAre("A deterministic step takes 1.500 [1.248, 1.803] times as long (vgg16, "
                  "kernel=7 on nvidia-v100; n = 4 rounds of one process) as one as the plan "
                  "says.",
                  "At this ratio one deterministic run takes 15 % of the time of 10 runs as "
                  "the plan says. It answers for one draw of the seeded sources, without "
                  "the noise of the machine; other draws must be trained in either way."));
  EXPECT_TRUE(study.warnings.empty());
}

TEST(DeterminismCostTest, KernelsAreToldPerStepWithTheirShare) {
  const CostStudy study = BuildCost(Input(), {kKernels});
  const auto& kernels = study.rows[0].kernels.at("deterministic");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "gemm");
  EXPECT_DOUBLE_EQ(kernels[0].launches, 3);
  EXPECT_DOUBLE_EQ(kernels[0].seconds, 0.015);
  EXPECT_DOUBLE_EQ(kernels[0].share, 0.75);
  EXPECT_EQ(study.rows[0].kernels.at("plan")[0].name, "wgrad");
}

TEST(DeterminismCostTest, OfSeveralMembersTheIntervalIsOverMembers) {
  StudyInput input = Input();
  input.members = {Member(0, 0, 1.5 * std::exp(0.1)), Member(0, 1, 1.5 * std::exp(-0.1))};
  const CostStudy study = BuildCost(input, {kKernels, kKernels});
  EXPECT_NEAR(*study.rows[0].ratio.value, 1.5, 1e-12);
  EXPECT_EQ(study.rows[0].ratio.n, 2);
  EXPECT_NEAR(*study.rows[0].ratio.high, 1.5 * std::exp(1.27062), 1e-4);
  EXPECT_DOUBLE_EQ(study.rows[0].kernels.at("deterministic")[0].launches, 3);
}

TEST(DeterminismCostTest, BitsThatDifferInOneMemberDiffer) {
  StudyInput input = Input();
  for (const size_t equal : {0, 1}) {
    input.members = {Member(0, 0, 1.5), Member(0, 1, 1.5)};
    EXPECT_EQ(BuildCost(input, {"", ""}).rows[0].bits, "different");
    input.members[equal].hashes.plan_weights = "a";
    EXPECT_EQ(BuildCost(input, {"", ""}).rows[0].bits, "different") << equal;
    input.members[1 - equal].hashes.plan_weights = "a";
    EXPECT_EQ(BuildCost(input, {"", ""}).rows[0].bits, "equal");
  }
}

// The largest of many lies apart by chance: it is an end of the range, and nothing rests on it.
TEST(DeterminismCostTest, OfSeveralRowsTheMeanAndTheRangeAreTold) {
  StudyInput input = Input();
  input.cells.push_back(Cell(1, "resnet50", "nvidia-v100"));
  input.members.push_back(Member(1, 0, 4.5));
  EXPECT_THAT(
      BuildCost(input, {"", ""}).headlines,
      ElementsAre("A deterministic step takes 2.598 times as long as one as the plan says, the "
                  "geometric mean of 2 rows (1.500 to 4.500).",
                  "At this mean one deterministic run takes 26 % of the time of 10 runs as the "
                  "plan says. It answers for one draw of the seeded sources, without the noise of "
                  "the machine; other draws must be trained in either way."));
}

TEST(DeterminismCostTest, WhatCostsNothingByConstructionIsVacuous) {
  StudyInput input = Input();
  input.cells = {OnAProcessor(0), Cell(1, "vgg16", "nvidia-v100"), Cell(2, "mlp", "nvidia-v100")};
  input.cells[2].sources = {};
  input.members = {Member(0, 0, 1.0), Member(1, 0, 2.5), Member(2, 0, 1.1)};
  for (const size_t same : {0, 2}) input.members[same].hashes.plan_weights = "a";
  const CostStudy study = BuildCost(input, {"", "", ""});
  EXPECT_EQ(study.rows[0].vacuous, "one choice of kernels");
  EXPECT_EQ(study.rows[0].bits, "equal");
  EXPECT_EQ(study.rows[1].vacuous, "");
  EXPECT_EQ(study.rows[2].vacuous, "the plan frees no physical source: both arms are the same");
  ASSERT_EQ(study.headlines.size(), 3u);
  EXPECT_THAT(study.headlines[0], HasSubstr("2.500"));
  EXPECT_EQ(study.headlines[2],
            "Vacuous in 2 rows of 3: there both arms do the same by construction and end in equal "
            "bits, and their ratio, 1.000 to 1.100, is what the clock of this machine can tell "
            "apart.");
  EXPECT_TRUE(study.warnings.empty());

  input.members[0].hashes.plan_weights = "c";
  EXPECT_THAT(BuildCost(input, {"", "", ""}).warnings,
              ElementsAre("mlp on cpu-intel-avx2: the arms should be the same (one choice of "
                          "kernels) and end in different bits"));
}

TEST(DeterminismCostTest, AnOrderOfSumsThatActsIsNoVacuousSource) {
  StudyInput input = Input();
  input.cells = {OnAProcessor(0)};
  input.cells[0].sources[NoiseSource::kReduceOrder] = SourceState::kFree;
  EXPECT_EQ(BuildCost(input, {""}).rows[0].vacuous, "");
  input.cells[0].idle[NoiseSource::kReduceOrder] = "one shard";
  EXPECT_EQ(BuildCost(input, {""}).rows[0].vacuous, "one choice of kernels; one shard");
}

TEST(DeterminismCostTest, DeterminismPaysFromMoreRunsThanTheRatio) {
  const auto pays = [](double ratio) {
    analysis::Estimate estimate;
    estimate.value = ratio;
    return PaysFrom(estimate);
  };
  EXPECT_EQ(pays(0.98), 2);
  EXPECT_EQ(pays(1.07), 2);
  EXPECT_EQ(pays(2.0), 3);
  EXPECT_EQ(pays(7.46), 8);
  EXPECT_EQ(PaysFrom({}), std::nullopt);
}

TEST(DeterminismCostTest, RoundsThatOneArmLacksAndMembersThatAreNotDoneAreLeftOut) {
  StudyInput input = Input();
  input.members[0].curves["plan/wall_seconds"].pop_back();
  input.members.push_back(Member(0, 1, 9));
  input.members.back().state = MemberState::kDiverged;
  const CostStudy study = BuildCost(input, {"not json", ""});
  EXPECT_EQ(study.rows[0].ratio.n, 3);
  EXPECT_EQ(study.rows[0].diverged, 1);
  EXPECT_THAT(study.warnings,
              ElementsAre("s1c0r0: its kernels are not what a trainer writes",
                          "vgg16 on nvidia-v100: 1 member diverged; times of what is not finite "
                          "are not shown"));
}

TEST(DeterminismCostTest, KernelsThatCouldNotBeNamedAreMissed) {
  const CostStudy study = BuildCost(
      Input(), {R"({"profiled_steps": 2, "arms": {}, "primitives": {}, "error": "no profiler"})"});
  EXPECT_THAT(study.warnings, ElementsAre("s1c0r0: not all of its kernels are named: no profiler"));
  EXPECT_TRUE(BuildCost(Input(), {kKernels}).warnings.empty());
}

TEST(DeterminismCostTest, AThrottledGpuIsWarnedOf) {
  StudyInput input = Input();
  auto& reasons = input.members[0].curves["gpu/throttle_reasons"];
  reasons = {{1, 0, 0x1}, {2, 0, 0x2 | 0x10}};
  EXPECT_TRUE(BuildCost(input, {""}).warnings.empty()) << "idle, clocks set and in step";
  // Power, the hardware, heat as the driver and as the hardware sees it, a power brake.
  for (const int reason : {0x4, 0x8, 0x20, 0x40, 0x80}) {
    reasons.resize(2);
    reasons.push_back({3, 0, static_cast<double>(reason)});
    EXPECT_THAT(BuildCost(input, {""}).warnings,
                ElementsAre("s1c0r0: its GPU was throttled (power, heat or hardware) in 1 of 3 "
                            "samples of its clocks"))
        << reason;
  }
}

TEST(DeterminismCostTest, WithoutResultsThereIsNothingToClaim) {
  StudyInput input = Input();
  input.members[0].state = MemberState::kWaiting;
  const CostStudy study = BuildCost(input, {""});
  EXPECT_FALSE(study.rows[0].ratio.value);
  EXPECT_TRUE(study.headlines.empty());
  EXPECT_THAT(RenderCostTables(study), HasSubstr("vgg16, kernel=7  nvidia-v100"));
}

TEST(CostTextTest, TablesSayRatiosKernelsAndWhatWasFoundElsewhere) {
  const std::string text = RenderCostTables(BuildCost(Input(), {kKernels}));
  EXPECT_THAT(text, HasSubstr("1.500 [1.248, 1.803]"));
  EXPECT_THAT(text, HasSubstr("2 runs"));
  EXPECT_THAT(text, HasSubstr("wgrad"));
  EXPECT_THAT(text, HasSubstr("75 %"));
  EXPECT_THAT(text, HasSubstr("elsewhere 7.46"));
  EXPECT_THAT(text, Not(HasSubstr("vacuous here")));
  EXPECT_THAT(text, Not(HasSubstr("oneDNN")));
}

TEST(CostTextTest, AGpusOwnTimesHaveARatioOfTheirOwn) {
  StudyInput input = Input();
  for (int round = 1; round <= 4; ++round) {
    input.members[0].curves["plan/device_seconds"].push_back({round, 0, 1.0});
    input.members[0].curves["deterministic/device_seconds"].push_back({round, 0, 3.0});
  }
  const CostStudy study = BuildCost(input, {""});
  EXPECT_NEAR(*study.rows[0].device_ratio.value, 3, 1e-12);
  EXPECT_THAT(RenderCostTables(study), HasSubstr("GPU's ratio"));
  EXPECT_THAT(CostToCsv(study), HasSubstr(",device_ratio,3"));
}

// A round whose device time one arm lacks has wall times all the same.
TEST(CostTextTest, AGpusTimesStandByTheirOwnRounds) {
  StudyInput input = Input();
  for (int round = 1; round <= 4; ++round) {
    input.members[0].curves["plan/device_seconds"].push_back({round, 0, 1.0 * round});
    input.members[0].curves["deterministic/device_seconds"].push_back({round, 0, 3.0 * round});
  }
  auto& device = input.members[0].curves["deterministic/device_seconds"];
  device.erase(device.begin() + 1);
  const CostStudy study = BuildCost(input, {""});
  const std::string csv = CostToCsv(study);
  const auto row = [](const std::string& arm, int round, const std::string& seconds) {
    return fmt::format("s1c0r0,{},,{},device_seconds,{},,,1,\n", arm, round, seconds);
  };
  for (const int round : {1, 3, 4}) {
    EXPECT_THAT(csv, HasSubstr(row("deterministic", round, std::to_string(3 * round))));
    EXPECT_THAT(csv, HasSubstr(row("plan", round, std::to_string(round))));
  }
  EXPECT_THAT(csv, Not(HasSubstr(",2,device_seconds,")));
  EXPECT_THAT(csv, HasSubstr("s1c0r0,plan,,2,wall_seconds,"));
  const auto json = nlohmann::json::parse(CostToJson(study));
  EXPECT_EQ(json["rows"][0]["samples"][0]["device_rounds"], nlohmann::json({1, 3, 4}));
}

TEST(CostTextTest, JsonHasEverySampleAndTheNamesOfTheFields) {
  const auto json = nlohmann::json::parse(CostToJson(BuildCost(Input(), {kKernels})));
  const auto& row = json["rows"][0];
  EXPECT_NEAR(row["ratio"]["value"].get<double>(), 1.5, 1e-12);
  EXPECT_EQ(row["pays_from"], 2);
  EXPECT_EQ(row["samples"][0]["member"], "s1c0r0");
  EXPECT_EQ(row["samples"][0]["rounds"].size(), 4u);
  EXPECT_DOUBLE_EQ(row["samples"][0]["plan"][3].get<double>(), 0.04);
  EXPECT_EQ(row["kernels"]["plan"][0]["name"], "wgrad");
  EXPECT_TRUE(row["device_ratio"]["value"].is_null());
  EXPECT_EQ(json["steps"], 4);
}

TEST(CostTextTest, CsvHasARowForEachTimedStep) {
  const std::string csv = CostToCsv(BuildCost(Input(), {kKernels}));
  EXPECT_THAT(csv,
              HasSubstr("\nstep,0,vgg16,kernel=7,nvidia-v100,torch-2.11-cu130,impl,s1c0r0,plan,"
                        ",4,wall_seconds,0.04,,,1,\n"));
  EXPECT_THAT(csv, HasSubstr("\nkernel,0,vgg16,kernel=7,nvidia-v100,torch-2.11-cu130,impl,,"
                             "deterministic,gemm,,launches,3,,,1,\n"));
  size_t lines = 0;
  for (const char c : csv) lines += c == '\n' ? 1 : 0;
  EXPECT_EQ(lines, 1u + 1 + 8 + 3 * 3);
}

TEST(CostTextTest, EveryNumberStandsInItsColumn) {
  const std::string text = RenderCostTables(BuildCost(Input(), {kKernels}));

  // The medians of 15 e^0.1, 30 e^-0.1, 45 e^0.1 and 60 e^-0.1 ms, and of 10, 20, 30 and 40.
  EXPECT_THAT(text, ContainsRegex("impl +4 +38\\.439 +25\\.000 +1\\.500 \\[1\\.248, 1\\.803\\] "
                                  "+different +15 % +2 runs"));
  EXPECT_THAT(text, ContainsRegex("gemm +3 +15000 +75 % +- +- +-"));
  EXPECT_THAT(text, ContainsRegex("wgrad +- +- +- +2 +10000 +100 %"));
}

TEST(CostTextTest, EveryNumberStandsUnderItsName) {
  CostStudy study;
  CostRow& row = study.rows.emplace_back();
  row.members = 7;
  row.done = 4;
  row.diverged = 2;
  row.deterministic_seconds = 0.75;
  row.plan_seconds = 0.5;
  row.kernels["plan"] = {{.name = "gemm", .launches = 3, .seconds = 0.015625, .share = 0.375}};

  const auto json = nlohmann::json::parse(CostToJson(study))["rows"][0];
  EXPECT_EQ(json["members"], 7);
  EXPECT_EQ(json["done"], 4);
  EXPECT_EQ(json["diverged"], 2);
  EXPECT_EQ(json["deterministic_seconds"], 0.75);
  EXPECT_EQ(json["plan_seconds"], 0.5);
  const auto& kernel = json["kernels"]["plan"][0];
  EXPECT_EQ(kernel["launches"], 3);
  EXPECT_EQ(kernel["seconds"], 0.015625);
  EXPECT_EQ(kernel["share"], 0.375);
  const std::string csv = CostToCsv(study);
  EXPECT_THAT(csv, HasSubstr("plan,gemm,,launches,3,,,1,\n"));
  EXPECT_THAT(csv, HasSubstr("plan,gemm,,seconds,0.015625,,,1,\n"));
  EXPECT_THAT(csv, HasSubstr("plan,gemm,,share,0.375,,,1,\n"));
}

TEST(CostTextTest, ThePageEndsNoElementEarly) {
  StudyInput input = Input();
  input.sweep.notes = "</pre><script>1</script> & more";
  const std::string page = RenderCostPage(BuildCost(input, {""}));
  EXPECT_THAT(page, HasSubstr("&lt;/pre>&lt;script>1&lt;/script> &amp; more"));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace noisefloor::report
