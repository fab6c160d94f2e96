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

// Logits that nobody hashed may be any of those of the same weights.
TEST(ControlTest, AMissingHashIsNoOtherResult) {
  std::vector<HashedRun> runs = {RunOf("a"), RunOf("b"), RunOf("c")};
  runs[2].hashes.logits.clear();
  EXPECT_EQ(DistinctResults(runs), 1);
  runs[1].hashes.logits = "other";
  EXPECT_EQ(DistinctResults(runs), 2);
  for (HashedRun& run : runs) run.hashes.logits.clear();
  EXPECT_EQ(DistinctResults(runs), 1);
}

// Two units of two: of the six ways to give two results to four runs two fall on units.
TEST(ControlTest, UnitsThatRepeatThemselvesMayDoSoByChance) {
  const auto chance = [](const std::vector<UnitRuns>& units) { return ChanceOfUnitsAlike(units); };
  EXPECT_NEAR(chance({{2, 0}, {2, 1}}), 2.0 / 6, 1e-12);
  EXPECT_NEAR(chance({{4, 0}, {4, 1}}), 2.0 / 70, 1e-12);
  EXPECT_NEAR(chance({{1, 0}, {3, 1}}), 1.0 / 4, 1e-12);
  EXPECT_NEAR(chance({{2, 0}, {2, 0}, {2, 0}, {2, 1}}), 4.0 / 28, 1e-12);  // One of four.
  // 1 + 2 may be 3: the units of one result need not be the same.
  EXPECT_NEAR(chance({{3, 0}, {2, 1}, {1, 1}}), 2.0 / 20, 1e-12);
  EXPECT_NEAR(chance({{2, 0}, {2, 1}, {2, 2}}), 6.0 / 90, 1e-12);
  EXPECT_NEAR(chance({{3, 0}, {3, 0}}), 1, 1e-12);
  // Counted: 16! ways of 32! / 2^16 arrangements. Too many to count they are bounded.
  std::vector<UnitRuns> many;
  for (size_t i = 0; i < 16; ++i) many.push_back({2, i});
  EXPECT_GE(chance(many), std::exp(std::lgamma(17) - std::lgamma(33) + 16 * std::log(2)));
  EXPECT_LT(chance(many), 1e-10);
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
