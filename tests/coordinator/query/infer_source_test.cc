// Which members can be evaluated elsewhere, and with which weights.
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/query/query.h"
#include "coordinator/sweep/infer.h"
#include "tests/coordinator/query/filled_home.h"

namespace noisefloor::query {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class InferSourceTest : public testing::Test {
 protected:
  absl::StatusOr<InferSources> Find(const scheduler::Selection& selection = {}, bool own = true) {
    return home_.query().FindInferSources({SweepId{1}, selection, own});
  }
  // "cell: replicates, ..."
  static std::vector<std::string> Said(const InferSources& sources) {
    std::vector<std::string> said;
    for (const sweep::InferSource& source : sources.cells) {
      std::string& text = said.emplace_back(std::to_string(source.cell.index) + ":");
      for (const sweep::GivenWeights& given : source.weights) {
        text += " " + std::to_string(given.replicate);
      }
    }
    return said;
  }

  FilledHome home_;
};

TEST_F(InferSourceTest, ThoseThatAreDoneHaveTheirWeightsPinsAndData) {
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(Said(*found), ElementsAre("0: 0 1 2", "1: 0 1 2"));
  EXPECT_EQ(found->left_out, 6u) << "those that wait";
  EXPECT_EQ(found->sweep.name, "two-rates");
  const sweep::InferSource& algo = found->cells[1];
  EXPECT_EQ(algo.cell.hardware, "cpu-test-avx2");
  EXPECT_EQ(algo.cell.stack, "torch-2.11");
  EXPECT_EQ(algo.cell.plan, "algo");
  EXPECT_EQ(algo.identity, sample::kIdentity);
  const BlobName& weights = home_.Blob("s1c1r2", "weights");
  EXPECT_EQ(algo.weights[2].sha256, weights.sha256);
  EXPECT_EQ(algo.weights[2].size_bytes, weights.size_bytes);
  EXPECT_EQ(algo.weights[2].file, "");
}

TEST_F(InferSourceTest, WhoseWeightsMadeRoomOrAreNotThereIsLeftOut) {
  home_.Apply(
      {scheduler::CollectArtifacts{{{LeaseId{5}, "weights", "weights.file"}}, sample::At(99)}});
  std::filesystem::remove(home_.blobs().PathOf(home_.Blob("s1c1r2", "weights").sha256));
  auto found = Find({.cells = {1}});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(Said(*found), ElementsAre("1: 0"));
  EXPECT_EQ(found->left_out, 2u);
  found = Find({.members = {{1, 1}, {1, 2}}});
  EXPECT_EQ(Message(found.status()),
            "s1: none of the members asked for is done and has its weights");
}

// Of each point of the axes one, whose network and test set are meant.
TEST_F(InferSourceTest, ForTheWeightsOfOthersOneOfEachNetworkWillDo) {
  auto found = Find({}, false);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(Said(*found), ElementsAre("0: 0")) << "cells 0 and 1 differ in their plan alone";
  EXPECT_EQ(found->cells[0].weights[0].sha256, "");
  found = Find({.plans = {"algo"}}, false);
  EXPECT_THAT(Said(*found), ElementsAre("1: 0"));
}

// Of whoever trained them, too: its answers are half of each pair.
TEST_F(InferSourceTest, WhatIsMissingOfTheTrainedMembersIsSaidInTheReport) {
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  scheduler::KeepSweep infer = sample::Keep(2);
  infer.content =
      sweep::InferenceOf(found->sweep, found->cells, {SweepId{1}, {"cpu-test-avx2"}, ""});
  infer.cells = sweep::Expand(infer.content);
  infer.specification_sha256 = Sha256Hex(sweep::CanonicalText(infer.content));
  home_.Apply({infer});
  const StudyQuestion question = {.sweep = SweepId{2}, .form = StudyForm::kJson};
  const auto whole = home_.query().GetStudy(question);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_THAT(*whole, Not(HasSubstr("s1c1r1: ")));

  std::filesystem::remove(home_.blobs().PathOf(home_.Blob("s1c1r1", "predictions").sha256));

  const auto study = home_.query().GetStudy(question);
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_THAT(*study, AllOf(HasSubstr("s1c1r1: "), HasSubstr("Its predictions are left out.")));
}

TEST_F(InferSourceTest, WhatThereIsNotIsNamed) {
  EXPECT_THAT(Message(Find({.plans = {"impl"}}).status()), HasSubstr("s1 has no plan impl"));
  EXPECT_THAT(Message(home_.query().FindInferSources({SweepId{9}, {}, true}).status()),
              HasSubstr("s9: no such sweep"));
  EXPECT_EQ(home_.query().FindWeights(std::string(64, 'a')).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace noisefloor::query
