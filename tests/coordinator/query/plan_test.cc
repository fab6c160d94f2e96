// What a sweep would be, told before it is submitted.
#include "coordinator/query/plan.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/fields.h"
#include "coordinator/analysis/detectable.h"
#include "coordinator/query/query.h"
#include "tests/coordinator/query/filled_home.h"

namespace noisefloor::query {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A worker with slots of cpu-test-avx2.
FleetWorker Box(uint32_t slots, const std::string& stack) {
  Inventory inventory;
  inventory.devices = {{"cpu of box-1", "Test 9000", 0, "", ""}};
  inventory.offers = {{"cpu-test-avx2", stack, "f", "b", IdentityOf(*OwnSchema())}};
  inventory.slots.assign(slots, {{0}, 1, {0}});
  return {"box-1", std::make_shared<const Inventory>(std::move(inventory))};
}

class PlanTest : public ::testing::Test {
 protected:
  FilledHome home_;
};

TEST_F(PlanTest, APlanTakesItsTimeFromEndedMembers) {
  const std::vector<FleetWorker> fleet = {Box(2, "torch-2.11")};

  const auto plan = home_.query().PlanSweep(sample::Content(), fleet);

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->members, 12u);
  // 6000 examples, 47 batches of 128, 2 epochs; every ended member took 47 s for 94 steps.
  EXPECT_EQ(plan->steps, 12 * 94);
  EXPECT_DOUBLE_EQ(plan->expected_seconds, 12 * 47.0 / 2);
  EXPECT_THAT(plan->expected_from, HasSubstr("6 ended members"));
  EXPECT_THAT(plan->cells[0].workers, ElementsAre("box-1"));
  ASSERT_EQ(plan->plans.size(), 2u);
  EXPECT_TRUE(plan->plans[0].control);
  EXPECT_EQ(plan->plans[0].detectable_sd_ratio, 0) << "a control spreads nowhere";
  EXPECT_EQ(plan->plans[1].detectable_sd_ratio, 0) << "of three draws none up to 100";
  EXPECT_EQ(plan->plans[0].detectable_mean_shift, 0);
  EXPECT_EQ(plan->plans[1].detectable_mean_shift, *analysis::DetectableMeanDifference(3, 1));
  EXPECT_THAT(plan->warnings, Each(HasSubstr("algo frees")));  // What acts on nothing.
}

// Half of the cells may train on any class: the same slots take both.
TEST_F(PlanTest, WorkOfSeveralClassesSharesTheSlotsThatServeThem) {
  const std::vector<FleetWorker> fleet = {Box(2, "torch-2.11")};
  sweep::Sweep sweep = sample::Content();
  sweep.hardware = {"", "cpu-test-avx2"};

  const auto plan = home_.query().PlanSweep(sweep, fleet);

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_DOUBLE_EQ(plan->expected_seconds, 24 * 47.0 / 2);
}

// One class has six ended members of 47 s, another one of 94 s: of any it is the mean of both.
TEST_F(PlanTest, WhatTakesAnyClassIsExpectedToTakeTheMeanOfTheClasses) {
  scheduler::PinCell pin = sample::Pin(2);
  pin.hardware = "cpu-test-sse";
  scheduler::KeepOutcome slow = sample::Finish(7, sample::Member(2, 0));
  slow.outcome.artifacts.clear();
  slow.outcome.train_seconds = 94;
  home_.Apply({pin, sample::Grant(7, sample::Member(2, 0)), slow});
  const std::vector<FleetWorker> fleet = {Box(2, "torch-2.11")};
  sweep::Sweep sweep = sample::Content();

  EXPECT_DOUBLE_EQ(home_.query().PlanSweep(sweep, fleet)->expected_seconds, 12 * 47.0 / 2);
  sweep.hardware = {""};
  const auto any = home_.query().PlanSweep(sweep, fleet);

  ASSERT_TRUE(any.ok()) << any.status();
  EXPECT_NEAR(any->expected_seconds, 12 * (47.0 + 94.0) / 2 / 2, 1e-9);
  EXPECT_THAT(any->expected_from, HasSubstr("7 ended members"));
}

// Older ones may have run on another build: of more than a thousand they do not count.
TEST_F(PlanTest, OfManyEndedMembersTheNewestSayHowLongOneTakes) {
  const MemberId member = sample::Member(0, 0);
  scheduler::GrantLease grant = sample::Grant(0, member);
  scheduler::KeepOutcome twice_as_fast = sample::Finish(0, member);
  twice_as_fast.outcome.artifacts.clear();
  twice_as_fast.outcome.train_seconds = 23.5;
  std::vector<scheduler::Write> writes;
  for (uint32_t attempt = 2; attempt <= 1001; ++attempt) {
    grant.lease = twice_as_fast.lease = LeaseId{100 + attempt};
    grant.attempt = twice_as_fast.attempt = attempt;
    writes.push_back(grant);
    writes.push_back(twice_as_fast);
  }
  home_.Apply(writes);
  const std::vector<FleetWorker> fleet = {Box(2, "torch-2.11")};

  const auto plan = home_.query().PlanSweep(sample::Content(), fleet);

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_DOUBLE_EQ(plan->expected_seconds, 12 * 23.5 / 2);
  EXPECT_THAT(plan->expected_from, HasSubstr("1000 ended members"));
}

// Slots of GPUs have exactly as many as the members train on.
TEST_F(PlanTest, WhatTakesAnyClassIsPlannedWhereItsDevicesAre) {
  Inventory inventory = *Box(1, "torch-2.11").inventory;
  inventory.offers[0].hardware_class = "nvidia-h200-x4";
  const std::vector<FleetWorker> fleet = {
      {"four", std::make_shared<const Inventory>(std::move(inventory))}};
  for (const auto& [devices, workers, warning] :
       {std::tuple(int64_t{4}, 1u, ""),
        std::tuple(int64_t{2}, 0u, "no worker offers any class with 2 devices"),
        std::tuple(int64_t{1}, 0u, "no worker offers any class")}) {
    sweep::Sweep sweep = sample::Content();
    sweep.hardware = {""};
    PutSetting(sweep.base, "train.shards", int64_t{4});
    PutSetting(sweep.base, "train.devices", devices);

    const auto plan = home_.query().PlanSweep(sweep, fleet);

    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->cells[0].workers.size(), workers) << devices;
    if (workers == 0) {
      EXPECT_THAT(plan->warnings, Contains(HasSubstr(warning)));
    }
  }
}

TEST_F(PlanTest, APlanTakesAnotherBatchOrLengthIntoAccount) {
  const std::vector<FleetWorker> fleet = {Box(2, "torch-2.11")};
  sweep::Sweep sweep = sample::Content();
  PutSetting(sweep.base, "train.batch_size", int64_t{64});
  PutSetting(sweep.base, "train.epochs", int64_t{6});

  const auto plan = home_.query().PlanSweep(sweep, fleet);

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->steps, 12 * 94 * 6);
  EXPECT_DOUBLE_EQ(plan->expected_seconds, 12 * 47.0 * 3 / 2);
}

TEST_F(PlanTest, APlanForWhatNeverRanGuessesNothing) {
  sweep::Sweep sweep = sample::Content();
  PutSetting(sweep.base, "model.name", std::string("mlp"));
  sweep.hardware = {"cpu-other"};
  sweep.replicates = 1;

  const auto plan = home_.query().PlanSweep(sweep, {});

  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->expected_seconds, 0);
  EXPECT_THAT(plan->expected_from, HasSubstr("for 4 of 4 cells no member"));
  EXPECT_THAT(plan->warnings.at(0), HasSubstr("no worker offers cpu-other"));
  EXPECT_THAT(plan->warnings.at(1), HasSubstr("no spread can be measured"));
}

TEST_F(PlanTest, APlanCountsWhatEachOfItsNoisePlansComesTo) {
  sweep::Sweep sweep = sample::Content();  // Two rates, three replicates.
  PutSetting(sweep.base, "augment.flip", true);
  sweep.plans = {{"control", *sweep::BuiltInPlan("control"), 2, 3},
                 {"algo", *sweep::BuiltInPlan("algo"), 6, 0},
                 {"impl", *sweep::BuiltInPlan("impl"), 0, 4},
                 {"init", *sweep::BuiltInPlan("control"), 6, 0}};
  RuleOf(sweep.plans[3].rules, NoiseSource::kInit).state = SourceState::kFree;
  const auto draws = [](const Plan& plan) {
    std::vector<uint32_t> found;
    for (const PlannedPlan& one : plan.plans) found.push_back(one.draws);
    return found;
  };

  const auto plan = home_.query().PlanSweep(sweep, {});

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->members, 2u * (2 * 3 + 6 + 3 * 4 + 6));
  EXPECT_EQ(plan->plans[0].members, 12u);
  EXPECT_EQ(plan->plans[2].replicates, 3u);
  EXPECT_EQ(plan->plans[2].cells, 8u);
  EXPECT_EQ(plan->cells[0].cell.replicates, 2u);
  EXPECT_EQ(plan->steps, 60 * 94);
  EXPECT_THAT(draws(*plan), ElementsAre(3, 6, 4, 1)) << "blocks where a seeded source is fixed";

  // Without augmentation and order nothing seeded is left that the last plan fixes.
  PutSetting(sweep.base, "augment.flip", false);
  PutSetting(sweep.base, "sources.data_order.window", int64_t{1});
  EXPECT_THAT(draws(*home_.query().PlanSweep(sweep, {})), ElementsAre(3, 6, 4, 6));
}

// Replicates are the draws, of all blocks together, or the blocks are, of which a contrast needs
// three.
TEST_F(PlanTest, APlanSeesTheRatioOfSpreadsThatAContrastOfItWouldTell) {
  sweep::Sweep sweep = sample::Content();
  PutSetting(sweep.base, "augment.flip", true);
  sweep.plans = {{"algo", *sweep::BuiltInPlan("algo"), 4, 2},
                 {"impl", *sweep::BuiltInPlan("impl"), 3, 4},
                 {"init", *sweep::BuiltInPlan("control"), 6, 1},
                 {"inits", *sweep::BuiltInPlan("control"), 6, 3},
                 {"two", *sweep::BuiltInPlan("impl"), 20, 2},
                 {"one", *sweep::BuiltInPlan("impl"), 20, 1}};
  for (const size_t k : {2u, 3u}) {
    RuleOf(sweep.plans[k].rules, NoiseSource::kInit).state = SourceState::kFree;
  }

  const auto plan = home_.query().PlanSweep(sweep, {});

  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<double> ratios;
  for (const PlannedPlan& one : plan->plans) ratios.push_back(one.detectable_sd_ratio);
  EXPECT_THAT(ratios, ElementsAre(*analysis::DetectableSdRatio(8),
                                  *analysis::DetectableSdRatioOverBlocks(4, 4 * 2),
                                  *analysis::DetectableSdRatio(6),
                                  *analysis::DetectableSdRatioOverBlocks(3, 3 * 5), 0.0, 0.0));
}

TEST_F(PlanTest, APlanSaysWhichSharesItWillTell) {
  sweep::Sweep sweep = sample::Content();
  PutSetting(sweep.base, "augment.flip", true);
  sweep.plans = {{"cube", *sweep::BuiltInPlan("algo"), 8, 6}};
  LaneRules& rules = sweep.plans[0].rules;
  RuleOf(rules, NoiseSource::kInit).levels = {0, 0, 0, 0, 1, 1, 1, 1};
  RuleOf(rules, NoiseSource::kDataOrder).levels = {0, 0, 1, 1};
  RuleOf(rules, NoiseSource::kAugment).levels = {0, 1};
  EXPECT_THAT(
      home_.query().PlanSweep(sweep, {})->warnings,
      Contains("cube will tell shares of the noise: alone of init, data_order, augment; "
               "with all it acts through of init, data_order, augment; intervals are over "
               "6 blocks, about ±9 % alone and ±9 % in all of churn, ±60 % alone and ±68 % in "
               "all of the variance of top-1 (simulated, of sources that mostly act "
               "together)"));

  // A Latin square.
  sweep.plans[0].replicates = 9;
  sweep.plans[0].blocks = 1;
  RuleOf(rules, NoiseSource::kInit).levels = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  RuleOf(rules, NoiseSource::kDataOrder).levels = {0, 1, 2};
  RuleOf(rules, NoiseSource::kAugment).levels = {0, 1, 2, 1, 2, 0, 2, 0, 1};
  EXPECT_THAT(
      home_.query().PlanSweep(sweep, {})->warnings,
      Contains("cube will tell shares of the noise: alone of init, data_order, augment; "
               "with all it acts through of nothing; intervals are over draws of one "
               "block, about ±77 % alone of churn, more than ±100 % alone of the variance of "
               "top-1 (simulated, of sources that mostly act together)"));

  // Where all are free there is one block, which no other tells of.
  sweep.plans = {{"impl", *sweep::BuiltInPlan("impl"), 2, 3},
                 {"algo+impl", *sweep::BuiltInPlan("algo+impl"), 6, 0}};
  PutSetting(sweep.base, "train.shards", int64_t{4});
  EXPECT_THAT(home_.query().PlanSweep(sweep, {})->warnings,
              Contains(AllOf(HasSubstr("impl, algo+impl will tell shares of the noise"),
                             HasSubstr("not all with an interval"))));

  // All at once from one plan, nothing to take apart; beside the physical sources there is.
  sweep.plans = {{"control", *sweep::BuiltInPlan("control"), 2, 0},
                 {"algo", *sweep::BuiltInPlan("algo"), 5, 0}};
  EXPECT_THAT(home_.query().PlanSweep(sweep, {})->warnings,
              Not(Contains(HasSubstr("shares of the noise"))));
}

TEST_F(PlanTest, APlanSaysWhatMembersThatShareDrawsAreGoodFor) {
  sweep::Sweep sweep = sample::Content();
  sweep.plans = {{"crossed", *sweep::BuiltInPlan("algo"), 4, 3},
                 {"half", *sweep::BuiltInPlan("algo"), 3, 0}};
  for (sweep::NoisePlan& plan : sweep.plans) {
    RuleOf(plan.rules, NoiseSource::kInit).levels = {0, 0, 1, 1};
  }

  const auto plan = home_.query().PlanSweep(sweep, {});

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->plans[0].draws, 3u) << "a block is one draw";
  EXPECT_EQ(plan->plans[0].detectable_sd_ratio, 0) << "no spread is told of";
  EXPECT_THAT(plan->warnings,
              testing::IsSupersetOf(
                  {"members of crossed share draws of init: its report has means, with intervals "
                   "over blocks, and no spread",
                   "3 replicates of half do not complete the levels of init, which repeat every "
                   "4"}));
}

TEST_F(PlanTest, APlanLooksAtTheShardsOfEachCell) {
  sweep::Sweep sweep = sample::Content();
  sweep.plans = {{"impl", *sweep::BuiltInPlan("impl")}};
  const auto about_shards = [&](const std::vector<SettingValue>& shards) {
    sweep.axes = {{{{"train.shards", shards}}}};
    std::vector<std::string> found;
    const auto plan = home_.query().PlanSweep(sweep, {});
    if (!plan.ok()) return found;
    for (const std::string& warning : plan->warnings) {
      if (warning.starts_with("impl frees reduce_order")) found.push_back(warning);
    }
    return found;
  };

  ASSERT_EQ(IntSetting(sweep.base, "train.shards"), 1);
  EXPECT_TRUE(about_shards({int64_t{4}, int64_t{8}}).empty());
  PutSetting(sweep.base, "train.shards", int64_t{8});
  EXPECT_THAT(about_shards({int64_t{1}, int64_t{2}, int64_t{4}}),
              ElementsAre(HasSubstr("acts on nothing in 1 of its 3 cells: train.shards is 1: "),
                          HasSubstr("acts on nothing in 1 of its 3 cells: train.shards is 2: ")));
}

TEST_F(PlanTest, APlanSaysOfHowManyCellsItDoesNotCountTheSteps) {
  sweep::Sweep sweep = sample::Content();
  const auto about_steps = [&](int64_t of_birds) {
    sweep.axes = {{{{"data.name", {std::string("fashion-mnist-sample"), std::string("birds")}},
                    {"data.image_size", {int64_t{0}, int64_t{32}}},
                    {"data.train_examples", {int64_t{128}, of_birds}}}}};
    std::vector<std::string> found;
    const auto plan = home_.query().PlanSweep(sweep, {});
    if (!plan.ok()) return std::vector{std::string(plan.status().message())};
    for (const std::string& warning : plan->warnings) {
      if (warning.find("not counted") != std::string::npos) found.push_back(warning);
    }
    return found;
  };

  EXPECT_THAT(about_steps(256), ElementsAre());
  EXPECT_THAT(about_steps(0), ElementsAre(HasSubstr("of 2 of 4 cells the steps are not counted")));
}

TEST_F(PlanTest, ALoadActsOnBitsOnlyBesideWhatDependsOnTimes) {
  sweep::Sweep sweep = sample::Content();
  PutSetting(sweep.base, "sources.load.choices", std::vector<int64_t>{0, 2});
  PutSetting(sweep.base, "train.shards", int64_t{4});
  sweep.plans = {{"alone", *sweep::BuiltInPlan("control")},
                 {"beside impl", *sweep::BuiltInPlan("impl")}};
  for (sweep::NoisePlan& plan : sweep.plans) {
    RuleOf(plan.rules, NoiseSource::kLoad).state = SourceState::kFree;
  }

  const auto plan = home_.query().PlanSweep(sweep, {});

  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->warnings,
              AllOf(Contains("alone frees load, which acts on nothing: it changes times, and no "
                             "source that depends on times is free"),
                    Not(Contains(HasSubstr("beside impl frees load")))));
}

TEST_F(PlanTest, APlanNamesFreeSourcesThatActOnNothing) {
  sweep::Sweep sweep = sample::Content();
  sweep.plans = {{"control", *sweep::BuiltInPlan("control")},
                 {"algo", *sweep::BuiltInPlan("algo")}};
  PutSetting(sweep.base, "model.name", std::string("small_cnn"));
  PutSetting(sweep.base, "augment.flip", false);

  const auto plan = home_.query().PlanSweep(sweep, {});

  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(
      plan->warnings,
      AllOf(Contains("algo frees dropout, which acts on nothing: small_cnn has no dropout"),
            Contains("algo frees augment, which acts on nothing: no crop, flip or cutout is "
                     "on"),
            Not(Contains(HasSubstr("frees init"))), Not(Contains(HasSubstr("control frees")))));
}

}  // namespace
}  // namespace noisefloor::query
