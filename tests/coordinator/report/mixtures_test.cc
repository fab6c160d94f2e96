// Members that are compared but did not run on the same software: found and named.
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/report/study.h"
#include "tests/coordinator/report/example_study.h"
#include "tests/coordinator/report/has_warning.h"

namespace noisefloor::report {
namespace {

using ::testing::ElementsAre;
using ::testing::Not;

// A study whose members on avx2 ran on a GPU instead.
ExampleStudy MakeGpuStudy() {
  ExampleStudy example = MakeExampleStudy();
  for (CellInput& cell : example.input.cells) {
    if (cell.hardware == "cpu-intel-avx2") cell.hardware = "nvidia-h200";
  }
  return example;
}

std::string WithGpu(int cudnn, int runtime, int driver) {
  return fmt::format(R"({{"gpu":{{"cudnn":{},"cuda_runtime":{},"driver":{}}}}})", cudnn, runtime,
                     driver);
}

TEST(MixturesTest, BuildsThatDifferBetweenCellsAreAWarningForEachComparison) {
  ExampleStudy example = MakeExampleStudy();
  for (uint32_t r = 0; r < 4; ++r) {
    example.Member(fmt::format("s1c4r{}", r)).trainer_build = "other";
  }

  const Study study = BuildStudy(example.input);

  EXPECT_THAT(study.warnings, HasWarning("warning", "algo: cpu-intel-avx2 against cpu-intel-avx512",
                                         "Compares different trainer builds"));
  EXPECT_THAT(study.warnings,
              HasWarning("warning", "sweep", "Stack torch-2.11-cpu was trained with 2 trainer"));
  EXPECT_THAT(study.warnings, Not(HasWarning("warning", "control", "trainer builds")));
  EXPECT_THAT(study.warnings, Not(HasWarning("error", "", "Mixes")));
}

TEST(MixturesTest, OtherStacksAreOtherBuildsWithoutAWarning) {
  ExampleStudy example = MakeExampleStudy();
  for (CellInput& cell : example.input.cells) {
    if (cell.hardware != "cpu-intel-sse") continue;
    cell.stack = cell.trainer_build = "torch-2.7-cpu";
  }
  for (MemberInput& member : example.input.members) member.trainer_build.clear();

  const Study study = BuildStudy(example.input);

  EXPECT_THAT(study.warnings, HasWarning("warning", "sse", "Compares different stacks"));
  EXPECT_THAT(study.warnings, Not(HasWarning("warning", "", "trainer builds")));
}

TEST(MixturesTest, WhatAMemberDoesNotSayIsNoMixture) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c3r1").stack_fingerprint.clear();
  example.Member("s1c3r2").trainer_build.clear();
  example.Member("s1c3r3").unit.clear();

  const Study study = BuildStudy(example.input);

  EXPECT_THAT(study.warnings, Not(HasWarning("error", "", "Mixes")));
  EXPECT_THAT(study.warnings, Not(HasWarning("note", "", "units")));
  EXPECT_EQ(study.cohorts[3].trainer_build, example.input.cells[3].trainer_build);
}

TEST(MixturesTest, ReportedFingerprintsThatDifferBetweenCellsAreAWarning) {
  ExampleStudy example = MakeExampleStudy();
  for (uint32_t r = 0; r < 4; ++r) {
    example.Member(fmt::format("s1c4r{}", r)).stack_fingerprint = "other";
  }

  EXPECT_THAT(BuildStudy(example.input).warnings,
              HasWarning("warning", "sweep", "2 different stack fingerprints"));
}

// Two stacks on one class, each of one fingerprint, are compared on purpose.
TEST(MixturesTest, StacksThatEveryClassHasDifferInTheirFingerprintsWithoutAWarning) {
  ExampleStudy example = MakeExampleStudy();
  std::erase_if(example.input.cells, [](const CellInput& cell) { return cell.index % 3 == 2; });
  std::erase_if(example.input.members,
                [](const MemberInput& member) { return member.cell % 3 == 2; });
  for (CellInput& cell : example.input.cells) {
    cell.hardware = "cpu-intel-avx2";
    if (cell.index % 3 == 1) cell.stack = cell.stack_fingerprint = "torch-2.7-cpu";
  }
  for (MemberInput& member : example.input.members) {
    if (member.cell % 3 == 1) member.stack_fingerprint = "torch-2.7";
  }
  EXPECT_THAT(BuildStudy(example.input).warnings,
              Not(HasWarning("warning", "sweep", "different stack fingerprints")));

  for (uint32_t r = 0; r < 4; ++r) {
    example.Member(fmt::format("s1c3r{}", r)).stack_fingerprint = "torch-2.11.0 of another day";
  }
  EXPECT_THAT(BuildStudy(example.input).warnings,
              HasWarning("warning", "sweep", "3 different stack fingerprints"))
      << "one of the stacks is two";
}

TEST(MixturesTest, AGpuCohortOnTwoVersionsOfItsSoftwareIsAnError) {
  ExampleStudy example = MakeGpuStudy();
  for (MemberInput& member : example.input.members) {
    member.environment_json = WithGpu(91002, 12080, 12090);
  }
  example.Member("s1c3r1").environment_json = WithGpu(91100, 12080, 12090);
  example.Member("s1c6r2").environment_json = WithGpu(91002, 12060, 13000);

  const Study study = BuildStudy(example.input);

  EXPECT_THAT(study.warnings, HasWarning("error", "cell 3", "Mixes gpu.cudnn 91002 and 91100"));
  EXPECT_THAT(study.warnings,
              HasWarning("error", "cell 6", "Mixes gpu.cuda_runtime 12060 and 12080"));
  EXPECT_THAT(study.warnings, HasWarning("error", "cell 6", "Mixes gpu.driver 12090 and 13000"));
  EXPECT_THAT(study.warnings, Not(HasWarning("error", "cell 0", "Mixes")));
}

TEST(MixturesTest, TheGpuBesideACpuThatTrainedDoesNotMatter) {
  ExampleStudy example = MakeExampleStudy();
  example.Member("s1c3r0").environment_json = WithGpu(91002, 12080, 12090);
  example.Member("s1c3r1").environment_json = WithGpu(91100, 12080, 12090);

  EXPECT_THAT(BuildStudy(example.input).warnings, Not(HasWarning("error", "", "Mixes")));
}

TEST(MixturesTest, GpuClassesOnDifferentSoftwareAreAWarning) {
  ExampleStudy example = MakeGpuStudy();
  for (CellInput& cell : example.input.cells) {
    if (cell.hardware == "cpu-intel-sse") cell.hardware = "nvidia-t4";
  }
  for (MemberInput& member : example.input.members) {
    const bool old = member.cell % 3 == 2;
    member.environment_json = WithGpu(old ? 90000 : 91002, 12080, 12090);
  }

  const Study study = BuildStudy(example.input);

  EXPECT_THAT(study.warnings, HasWarning("warning", "algo: nvidia-h200 against nvidia-t4",
                                         "Compares different gpu.cudnn (91002 against 90000)"));
  EXPECT_THAT(study.warnings, Not(HasWarning("warning", "cpu-intel-avx512", "Compares different")));
}

// Of a fact that differs from member to member.
TEST(EnvironmentTest, OfMoreThanEightValuesHowManyThereAreIsTold) {
  const auto units_of = [](size_t different) {
    ExampleStudy example = MakeExampleStudy();
    size_t k = 0;
    for (MemberInput& member : example.input.members) {
      if (member.cell % 3 == 0) member.unit = "u" + std::to_string(1 + k++ % different);
    }
    const Study study = BuildStudy(example.input);
    for (const EnvironmentFact& fact : study.environment.at(0).facts) {
      if (fact.key == "unit") return fact.values;
    }
    return std::vector<std::string>();
  };
  EXPECT_THAT(units_of(8), ElementsAre("u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"));
  EXPECT_THAT(units_of(9), ElementsAre("9 different values, u1 the first"));
}

// What differs from run to run by nature is no condition that they ran under.
TEST(EnvironmentTest, AClassIsSummedUpByWhatItRanOnAndNotByWhatWasMeasured) {
  ExampleStudy example = MakeExampleStudy();
  for (MemberInput& member : example.input.members) {
    member.environment_json =
        fmt::format(R"({{"machine":{{"cpu_model":"EPYC","load":"0.{0}"}},"gpu":{{"name":"H200"}},)"
                    R"("versions":{{"libtorch":"2.11.0"}},"aten_cpu_capability":"AVX2",)"
                    R"("load_at_end":"{0}","measured":{{"steps":"{0}"}}}})",
                    member.replicate);
  }

  const EnvironmentRow row = BuildStudy(example.input).environment.at(0);

  EXPECT_THAT(row.summaries, ElementsAre("EPYC, H200, LibTorch 2.11.0, ATen AVX2"));
  std::vector<std::string> keys;
  for (const EnvironmentFact& fact : row.facts) keys.push_back(fact.key);
  EXPECT_THAT(keys, ElementsAre("stack", "stack fingerprint, as the worker offers it",
                                "trainer build", "unit", "aten_cpu_capability", "gpu.name",
                                "machine.cpu_model", "versions.libtorch"));
}

}  // namespace
}  // namespace noisefloor::report
