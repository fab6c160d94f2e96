// A sweep whose replicates a pilot decides: what may say so, what becomes of it, and what stays the
// same.
#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/sweep/extend.h"
#include "coordinator/sweep/resolved_file.h"
#include "tests/coordinator/sweep/request.h"

namespace noisefloor::sweep {
namespace {

using test::GoodRequest;
using test::MustResolve;
using test::TwoOfEach;
using testing::HasSubstr;

SweepRequest Asking() {
  SweepRequest request = GoodRequest();
  request.noise = {{"control", "", {}, 2}, {"algo", "", {}}, {"impl", "", {}, 3}};
  request.replicates = 8;
  request.until = Until{UntilFigure::kChurn, 0.005, 40};
  return request;
}

std::string RefusalOf(const SweepRequest& request) {
  const auto resolved = Resolve(request, TwoOfEach());
  const auto* problems = std::get_if<std::vector<Problem>>(&resolved);
  if (problems == nullptr) return "";
  return problems->front().field + ": " + problems->front().message;
}

std::vector<uint32_t> Replicates(const Sweep& sweep) {
  std::vector<uint32_t> counts;
  for (const NoisePlan& plan : sweep.plans) counts.push_back(ReplicatesOf(sweep, plan));
  return counts;
}

TEST(UntilTest, DecidesOfPlansWhoseReplicatesAreDrawsInOneBlock) {
  SweepRequest request = Asking();
  request.noise.push_back({"levels", "", {{"init", {SourceState::kFree, {0, 1}}}}});
  request.noise.push_back({"own", "", {{"data_order", {SourceState::kFree, {}}}}});
  request.noise.push_back({"algo+impl", "", {}, 8, 2});
  const Sweep sweep = MustResolve(request);
  std::vector<std::string> decided;
  for (const NoisePlan& plan : sweep.plans) {
    if (IsForUntil(sweep, plan)) decided.push_back(plan.name);
  }
  EXPECT_THAT(decided, testing::ElementsAre("algo", "own"));
}

TEST(UntilTest, WhatCannotBeIsRefusedByName) {
  const auto refused = [](const auto& breaks) {
    SweepRequest request = Asking();
    breaks(request);
    return RefusalOf(request);
  };
  EXPECT_EQ(refused([](auto& r) { r.until->half_width = 0; }),
            "until.half_width: expected 0.0001 or more and less than 0.1 (0.005 for 0.5%), got 0");
  EXPECT_EQ(refused([](auto& r) { r.until->half_width = 0.0001; }), "");
  EXPECT_EQ(
      refused([](auto& r) { r.until->half_width = 0.1; }),
      "until.half_width: expected 0.0001 or more and less than 0.1 (0.005 for 0.5%), got 0.1");
  EXPECT_EQ(refused([](auto& r) {
              r.training = {{"evaluate.predictions", std::string("none")}};
            }),
            "until.figure: churn is of predictions, and evaluate.predictions is none");
  EXPECT_EQ(refused([](auto& r) {
              r.training = {{"evaluate.predictions", std::string("none")}};
              r.until->figure = UntilFigure::kTop1;
            }),
            "");
  EXPECT_EQ(refused([](auto& r) { r.until->most = 7; }),
            "until.most: expected 8 or more, as many replicates as plan algo begins with, got 7");
  EXPECT_EQ(refused([](auto& r) { r.until->most = 8; }), "");
  EXPECT_EQ(refused([](auto& r) { r.replicates = 4; }),
            "replicates: expected 5 or more, whose spread tells `until` how many it takes; plan "
            "algo has 4");
  EXPECT_EQ(refused([](auto& r) { r.replicates = 5; }), "");
  EXPECT_EQ(refused([](auto& r) {
              r.noise = {{"control", "", {}}, {"impl", "", {}}};
            }),
            "until: no plan has replicates to decide of: expected one that frees a seeded source "
            "(init, data_order, ...), without levels and in one block");
  EXPECT_EQ(refused([](auto& r) { r.blocks = 2; }),
            "until: no plan has replicates to decide of: expected one that frees a seeded source "
            "(init, data_order, ...), without levels and in one block");
  EXPECT_EQ(refused([](auto& r) {
              r.training = {{"measure.steps", int64_t{5}}};
            }),
            "until: expected none where steps are measured: nothing is trained");
  // As large as it may come to, not only as it begins.
  EXPECT_THAT(refused([](auto& r) {
                r.axes = {{{{"train.epochs", {int64_t{1}, int64_t{2}}}}}};
                r.until->most = 60000;
              }),
              HasSubstr("until.most: expected at most 100000 members, got 120010"));
}

TEST(UntilTest, IsPartOfWhatTheSweepIsAndWhetherItIsSettledIsNot) {
  const Sweep sweep = MustResolve(Asking());
  EXPECT_TRUE(IsUndecided(sweep));
  Sweep other = sweep;
  other.until->half_width = 0.006;
  EXPECT_NE(CanonicalText(other), CanonicalText(sweep));
  other = sweep;
  other.until->figure = UntilFigure::kTop1;
  EXPECT_NE(CanonicalText(other), CanonicalText(sweep));
  other = sweep;
  other.until->most = 41;
  EXPECT_NE(CanonicalText(other), CanonicalText(sweep));
  EXPECT_FALSE(DifferOnlyInExtent(other, sweep));
  other = Settled(sweep, {});
  EXPECT_EQ(CanonicalText(other), CanonicalText(sweep));
  EXPECT_TRUE(DifferOnlyInExtent(other, sweep));
  SweepRequest without = Asking();
  without.until.reset();
  EXPECT_EQ(CanonicalText(MustResolve(without)).find("until"), std::string::npos);
}

TEST(UntilTest, OnceSettledItHasWhatWasDecidedAndRemembersItsPilot) {
  const Sweep sweep = MustResolve(Asking());
  const Sweep settled = Settled(sweep, {{"algo", 23}, {"control", 1}});
  EXPECT_THAT(Replicates(settled), testing::ElementsAre(2u, 23u, 3u));
  EXPECT_FALSE(IsUndecided(settled));
  EXPECT_EQ(AsSubmitted(settled), sweep);
  EXPECT_THAT(ResolvedFile(settled),
              HasSubstr("until: {figure: churn, half_width: 0.005, most: 40}"));
  // The same cells in the same order, for no number of theirs changes.
  EXPECT_EQ(CellCount(settled), CellCount(sweep));
  const Sweep same = Settled(sweep, {});
  EXPECT_EQ(AsSubmitted(same), sweep);
  EXPECT_TRUE(same.before.empty());
}

TEST(UntilTest, NobodyExtendsItBeforeThat) {
  const Sweep sweep = MustResolve(Asking());
  const auto refused = Extend(sweep, {.replicates = 30});
  ASSERT_TRUE(std::holds_alternative<Problem>(refused));
  EXPECT_EQ(std::get<Problem>(refused).field, "sweep_id");
  const auto extended = Extend(Settled(sweep, {{"algo", 23}}), {.replicates = 30});
  ASSERT_TRUE(std::holds_alternative<Sweep>(extended));
  EXPECT_THAT(Replicates(std::get<Sweep>(extended)), testing::ElementsAre(30u, 30u, 30u));
  EXPECT_EQ(ExtentOf(AsSubmitted(std::get<Sweep>(extended))), ExtentOf(sweep));
  // What a person makes of it may be more than `until` could.
  const auto beyond = Extend(Settled(sweep, {{"algo", 23}}), {.replicates = 41});
  EXPECT_EQ(ResolvedFile(std::get<Sweep>(beyond)).find("until"), std::string::npos);
  EXPECT_NE(ResolvedFile(std::get<Sweep>(extended)).find("until"), std::string::npos);
}

TEST(UntilTest, FiguresHaveTheirNames) {
  EXPECT_EQ(Name(UntilFigure::kChurn), "churn");
  EXPECT_EQ(Name(UntilFigure::kTop1), "top1");
  EXPECT_EQ(ParseUntilFigure("top1"), UntilFigure::kTop1);
  EXPECT_EQ(ParseUntilFigure("churn"), UntilFigure::kChurn);
  EXPECT_EQ(ParseUntilFigure("Churn"), std::nullopt);
}

}  // namespace
}  // namespace noisefloor::sweep
