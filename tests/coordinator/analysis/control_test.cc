#include "coordinator/analysis/control.h"

#include <vector>

#include "gtest/gtest.h"

namespace noisefloor::analysis {
namespace {

HashedRun RunOf(const std::string& id) { return {id, {"i", "b", "w", "l", {"w1", "w2", "w3"}}}; }

TEST(ControlTest, EqualHashesAreIdentical) {
  const std::vector<HashedRun> runs = {RunOf("a"), RunOf("b"), RunOf("c")};

  const BitCheck check = CheckBits(runs);

  EXPECT_EQ(check.verdict, BitVerdict::kIdentical);
  EXPECT_EQ(check.stage, "");
  EXPECT_EQ(DistinctResults(runs), 1);
}

TEST(ControlTest, TheEarliestStageOfAnyRunIsNamed) {
  std::vector<HashedRun> runs = {RunOf("a"), RunOf("b"), RunOf("c")};
  runs[1].hashes.weights = "other";
  runs[2].hashes.weights_at = {"w1", "x", "y"};
  runs[2].hashes.weights = "another";

  const BitCheck check = CheckBits(runs);

  EXPECT_EQ(check.verdict, BitVerdict::kDifferent);
  EXPECT_EQ(check.stage, "weights at evaluation 2");
  EXPECT_EQ(check.evaluation, 2);
  EXPECT_EQ(check.run, "c");
  EXPECT_EQ(DistinctResults(runs), 3);
}

TEST(ControlTest, EveryStageIsCompared) {
  const auto verdict_with = [](const auto& change) {
    std::vector<HashedRun> runs = {RunOf("a"), RunOf("b")};
    change(runs[1].hashes);
    return CheckBits(runs).stage;
  };
  EXPECT_EQ(verdict_with([](Hashes& h) { h.init = "x"; }), "init");
  EXPECT_EQ(verdict_with([](Hashes& h) { h.first_batches = "x"; }), "first batches");
  EXPECT_EQ(verdict_with([](Hashes& h) { h.weights_at[0] = "x"; }), "weights at evaluation 1");
  EXPECT_EQ(verdict_with([](Hashes& h) { h.weights = "x"; }), "weights");
  EXPECT_EQ(verdict_with([](Hashes& h) { h.logits = "x"; }), "logits");
}

TEST(ControlTest, OneRunProvesNothing) {
  const BitCheck check = CheckBits(std::vector<HashedRun>{RunOf("a")});

  EXPECT_EQ(check.verdict, BitVerdict::kUnproved);
  EXPECT_EQ(check.missing, "needs two runs, there are 1");
}

TEST(ControlTest, AMissingHashIsNoProof) {
  std::vector<HashedRun> runs = {RunOf("a"), RunOf("b")};
  runs[1].hashes.logits.clear();
  EXPECT_EQ(CheckBits(runs).verdict, BitVerdict::kUnproved);
  EXPECT_EQ(CheckBits(runs).missing, "b has no hash of its logits");

  runs = {RunOf("a"), RunOf("b")};
  runs[0].hashes.weights_at.pop_back();
  EXPECT_EQ(CheckBits(runs).missing, "a has no hash of its weights at evaluation 3");

  const std::vector<HashedRun> empty = {{"a", {}}, {"b", {}}};
  EXPECT_EQ(CheckBits(empty).verdict, BitVerdict::kUnproved);
  EXPECT_EQ(CheckBits(empty).missing, "no member has a hash of its weights");
  EXPECT_EQ(DistinctResults(empty), 0);
}

// Equal weights do not prove equal answers: evaluation has its own arithmetic.
TEST(ControlTest, WithoutLogitsInAnyRunNothingIsProved) {
  std::vector<HashedRun> runs = {RunOf("a"), RunOf("b"), RunOf("c")};
  for (HashedRun& run : runs) run.hashes.logits.clear();

  EXPECT_EQ(CheckBits(runs).verdict, BitVerdict::kUnproved);
  EXPECT_EQ(CheckBits(runs).missing, "no member has a hash of its logits");
}

TEST(ControlTest, ADifferenceIsSeenEvenWhereTheFirstRunHasNoHash) {
  std::vector<HashedRun> runs = {RunOf("a"), RunOf("b"), RunOf("c")};
  runs[0].hashes.init.clear();
  runs[2].hashes.init = "x";

  const BitCheck check = CheckBits(runs);

  EXPECT_EQ(check.verdict, BitVerdict::kDifferent);
  EXPECT_EQ(check.run, "c");
}

TEST(ControlTest, RunsWithoutEvaluationsCanBeIdentical) {
  std::vector<HashedRun> runs = {RunOf("a"), RunOf("b")};
  for (HashedRun& run : runs) run.hashes.weights_at.clear();

  EXPECT_EQ(CheckBits(runs).verdict, BitVerdict::kIdentical);
}

}  // namespace
}  // namespace noisefloor::analysis
