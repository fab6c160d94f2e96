// Which members of a study make ensembles, and of which cells.
#include "coordinator/report/ensembles.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;

constexpr int64_t kEnsembleExamples = 60;
constexpr int32_t kEnsembleClasses = 3;

std::vector<int16_t> NoisyOfThree(Draws& draws) {
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kEnsembleExamples; ++x) {
    answers.push_back(static_cast<int16_t>(draws.Uniform() < 0.2 ? draws.Below(3) : x % 3));
  }
  return answers;
}

void AddCell(TinyStudy& tiny, Draws& draws, const char* plan, const States& states,
             const char* hardware, int replicates, uint32_t block = 0) {
  tiny.AddCell(plan, states, hardware, block);
  for (int r = 0; r < replicates; ++r) tiny.AddMember(NoisyOfThree(draws));
}

std::vector<std::span<const float>> LogitsOf(const TinyStudy& tiny, uint32_t cell) {
  std::vector<std::span<const float>> logits;
  for (const MemberInput& member : tiny.input.members) {
    if (member.cell == cell) logits.push_back(member.predictions.values());
  }
  return logits;
}

void ExpectEqual(const Estimate& a, const Estimate& b) {
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.n, b.n);
}

TEST(EnsemblesTest, AreOfCellsWhoseMembersDifferAndSayHowManyTheyAreOf) {
  TinyStudy tiny(kEnsembleExamples, kEnsembleClasses);
  Draws draws(1);
  AddCell(tiny, draws, "control", Control(), "cpu-a", 4);
  AddCell(tiny, draws, "algo", Algo(), "cpu-a", 18);
  AddCell(tiny, draws, "algo", Algo(), "cpu-b", 1);
  const Study study = BuildStudy(tiny.input);
  ASSERT_EQ(study.ensembles.cohorts.size(), 1u);
  const CohortEnsembles& of = study.ensembles.cohorts[0];
  EXPECT_EQ(of.cell, 1u);
  EXPECT_EQ(of.members, 16);
  EXPECT_EQ(of.left_out, 2);
  EXPECT_EQ(of.note, "");
  auto logits = LogitsOf(tiny, 1);
  logits.resize(16);
  const auto expected =
      analysis::ScoreEnsembles(logits, tiny.input.evaluations[0].labels, kEnsembleClasses);
  ASSERT_EQ(of.sizes.size(), 4u);
  for (size_t k = 0; k < of.sizes.size(); ++k) {
    EXPECT_EQ(of.sizes[k].size, int64_t{1} << k);
    ExpectEqual(of.sizes[k].accuracy, expected[k].accuracy);
    ExpectEqual(of.sizes[k].log_loss, expected[k].log_loss);
    ExpectEqual(of.sizes[k].brier, expected[k].brier);
    ExpectEqual(of.sizes[k].calibration, expected[k].calibration);
  }
}

TEST(EnsemblesTest, LogitsThatAreNotFiniteOrMissingAreInNone) {
  TinyStudy tiny(kEnsembleExamples, kEnsembleClasses);
  Draws draws(2);
  AddCell(tiny, draws, "algo", Algo(), "cpu-a", 6);
  std::vector<float> broken(kEnsembleExamples * kEnsembleClasses, 1);
  broken[5] = std::numeric_limits<float>::infinity();
  tiny.input.members[1].predictions = broken;
  tiny.input.members[2].predictions = {};
  const Study study = BuildStudy(tiny.input);
  EXPECT_EQ(study.ensembles.cohorts.at(0).members, 4);
  for (size_t m = 3; m < 6; ++m) tiny.input.members[m].predictions = {};
  const Study one = BuildStudy(tiny.input);
  EXPECT_TRUE(one.ensembles.cohorts.at(0).sizes.empty());
  EXPECT_EQ(one.ensembles.cohorts.at(0).note, "fewer than two members have logits");
}

TEST(EnsemblesTest, MixingIsOfTheReplicatesThatBothSidesHave) {
  TinyStudy tiny(kEnsembleExamples, kEnsembleClasses);
  Draws draws(3);
  AddCell(tiny, draws, "algo", Algo(), "cpu-a", 7);
  AddCell(tiny, draws, "algo", Algo(), "cpu-b", 7);
  tiny.input.members[2].state = MemberState::kFailed;
  const Study study = BuildStudy(tiny.input);
  ASSERT_EQ(study.ensembles.mixing.size(), 1u);
  auto a = LogitsOf(tiny, 0);
  auto b = LogitsOf(tiny, 1);
  a.erase(a.begin() + 2);
  b.erase(b.begin() + 2);
  ExpectEqual(study.ensembles.mixing[0].gain, analysis::GainOfMixing(a, b, kEnsembleClasses));
  EXPECT_EQ(study.ensembles.mixing[0].label, study.hardware.at(0).label);
}

TEST(EnsemblesTest, OfManyReplicatesTheFirstEightAreMixed) {
  TinyStudy tiny(kEnsembleExamples, kEnsembleClasses);
  Draws draws(5);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    AddCell(tiny, draws, "algo", Algo(), hardware, 10);
  }
  const Study study = BuildStudy(tiny.input);
  auto a = LogitsOf(tiny, 0);
  auto b = LogitsOf(tiny, 1);
  a.resize(8);
  b.resize(8);
  ExpectEqual(study.ensembles.mixing.at(0).gain, analysis::GainOfMixing(a, b, kEnsembleClasses));
}

TEST(EnsemblesTest, StacksAreMixedAsClassesAre) {
  TinyStudy tiny(kEnsembleExamples, kEnsembleClasses);
  Draws draws(6);
  for (const char* stack : {"ours", "theirs"}) {
    AddCell(tiny, draws, "algo", Algo(), "cpu-a", 5);
    tiny.input.cells.back().stack = stack;
  }
  const Study study = BuildStudy(tiny.input);
  ASSERT_EQ(study.ensembles.mixing.size(), 1u);
  EXPECT_EQ(study.ensembles.mixing[0].label, study.stacks.at(0).label);
}

// Replicates of two classes have no draw in common where no seed is free: no pair is left out.
TEST(EnsemblesTest, WithoutAFreeSeedNothingIsMixed) {
  TinyStudy tiny(kEnsembleExamples, kEnsembleClasses);
  Draws draws(7);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    AddCell(tiny, draws, "impl", Impl(), hardware, 5);
  }
  const Study study = BuildStudy(tiny.input);
  EXPECT_EQ(study.ensembles.cohorts.size(), 2u);
  EXPECT_TRUE(study.ensembles.mixing.empty());
}

TEST(EnsemblesTest, MembersThatShareDrawsMakeNone) {
  TinyStudy tiny(kEnsembleExamples, kEnsembleClasses);
  Draws draws(8);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    AddCell(tiny, draws, "crossed", Algo(), hardware, 6);
  }
  for (MemberInput& member : tiny.input.members) {
    member.lanes[NoiseSource::kInit].number = member.replicate / 2 + 1;
  }
  const Study study = BuildStudy(tiny.input);
  EXPECT_TRUE(study.ensembles.cohorts.empty());
  EXPECT_TRUE(study.ensembles.mixing.empty());
}

TEST(EnsemblesTest, OfSeveralBlocksNothingIsMixed) {
  TinyStudy tiny(kEnsembleExamples, kEnsembleClasses);
  Draws draws(4);
  for (const uint32_t block : {0u, 1u}) {
    for (const char* hardware : {"cpu-a", "cpu-b"}) {
      AddCell(tiny, draws, "algo", Algo(), hardware, 4, block);
    }
  }
  const Study study = BuildStudy(tiny.input);
  EXPECT_EQ(study.ensembles.cohorts.size(), 4u);
  EXPECT_TRUE(study.ensembles.mixing.empty());
}

}  // namespace
}  // namespace noisefloor::report
