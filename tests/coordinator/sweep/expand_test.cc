// Cells, lanes and seeds against values worked out by hand.
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/json.h"
#include "tests/coordinator/sweep/request.h"

namespace noisefloor::sweep {
namespace {

using test::GoodRequest;
using test::MustResolve;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr SourceState kFixed = SourceState::kFixed;
constexpr SourceState kFree = SourceState::kFree;
constexpr SourceState kOff = SourceState::kOff;

std::vector<std::string> Describe(const std::vector<Cell>& cells) {
  std::vector<std::string> lines;
  for (const Cell& cell : cells) {
    std::string line;
    for (const auto& [path, value] : cell.axes) line += ToText(value) + " ";
    lines.push_back(line + cell.plan + " " + cell.hardware + " " + std::to_string(cell.block));
  }
  return lines;
}

using States = std::vector<SourceState>;

States StatesOf(std::string_view plan) {
  States states;
  for (const LaneRule& rule : *BuiltInPlan(plan)) {
    EXPECT_TRUE(rule.levels.empty());
    states.push_back(rule.state);
  }
  return states;
}

TEST(BuiltInPlan, FreesWhatTheDesignSays) {
  EXPECT_EQ(StatesOf("control"), (States{kFixed, kFixed, kFixed, kFixed, kOff, kFixed, kFixed,
                                         kFixed, kOff, kOff, kOff}));
  EXPECT_EQ(StatesOf("algo"),
            (States{kFree, kFree, kFree, kFree, kOff, kFixed, kFixed, kFixed, kOff, kOff, kOff}));
  EXPECT_EQ(StatesOf("impl"),
            (States{kFixed, kFixed, kFixed, kFixed, kOff, kFree, kFree, kFree, kOff, kOff, kOff}));
  EXPECT_EQ(StatesOf("algo+impl"),
            (States{kFree, kFree, kFree, kFree, kOff, kFree, kFree, kFree, kOff, kOff, kOff}));
  EXPECT_EQ(BuiltInPlan("mine"), nullptr);
}

TEST(IsControl, IsTrueWhenNothingIsFree) {
  EXPECT_TRUE(IsControl(*BuiltInPlan("control")));
  EXPECT_FALSE(IsControl(*BuiltInPlan("impl")));
}

TEST(Expand, WalksTheLastAxisFasterThenPlansHardwareAndBlocks) {
  SweepRequest request = GoodRequest();
  request.axes = {{{{"train.epochs", {int64_t{1}, int64_t{2}}}}},
                  {{{"model.batch_norm", {true, false}}}}};
  request.noise = {{"control", "", {}}, {"algo", "", {}}};
  request.classes = {"x", "y"};

  const std::vector<std::string> cells = Describe(Expand(MustResolve(request)));

  ASSERT_EQ(cells.size(), 16u);
  EXPECT_THAT(std::vector(cells.begin(), cells.begin() + 6),
              ElementsAre("1 true control x 0", "1 true control y 0", "1 true algo x 0",
                          "1 true algo y 0", "1 false control x 0", "1 false control y 0"));
  EXPECT_EQ(cells[8], "2 true control x 0");
  EXPECT_EQ(cells[15], "2 false algo y 0");
}

TEST(Expand, WalksTheColumnsOfOneAxisInStep) {
  SweepRequest request = GoodRequest();
  request.axes = {{{{"train.epochs", {int64_t{1}, int64_t{2}, int64_t{3}}},
                    {"train.optimizer.learning_rate", {0.3, 0.2, 0.1}}}}};

  EXPECT_THAT(
      Describe(Expand(MustResolve(request))),
      ElementsAre("1 0.3 control cpu-a 0", "2 0.2 control cpu-a 0", "3 0.1 control cpu-a 0"));
}

TEST(Expand, RepeatsEveryCellForEachBlock) {
  SweepRequest request = GoodRequest();
  request.blocks = 3;
  request.classes = {"x", "y"};

  EXPECT_THAT(Describe(Expand(MustResolve(request))),
              ElementsAre("control x 0", "control x 1", "control x 2", "control y 0", "control y 1",
                          "control y 2"));
}

TEST(Expand, GivesAPlanItsOwnBlocksAndReplicatesAndTheOthersTheSweeps) {
  SweepRequest request = GoodRequest();
  request.noise = {{"control", "", {}, 2, 3}, {"algo", "", {}}, {"impl", "", {}, 0, 2}};
  request.replicates = 5;

  const Sweep sweep = MustResolve(request);
  const std::vector<Cell> cells = Expand(sweep);

  EXPECT_THAT(Describe(cells), ElementsAre("control cpu-a 0", "control cpu-a 1", "control cpu-a 2",
                                           "algo cpu-a 0", "impl cpu-a 0", "impl cpu-a 1"));
  std::vector<uint32_t> replicates;
  for (const Cell& cell : cells) replicates.push_back(cell.replicates);
  EXPECT_THAT(replicates, ElementsAre(2, 2, 2, 5, 5, 5));
  EXPECT_EQ(CellCount(sweep), 6u);
  EXPECT_EQ(MemberCount(sweep), 3u * 2 + 5 + 2 * 5);
}

TEST(Expand, NumbersTheCellsAndCountsThemWithoutMakingThem) {
  SweepRequest request = GoodRequest();
  request.blocks = 4;
  request.stacks = {"s", "t"};
  const Sweep sweep = MustResolve(request);

  const std::vector<Cell> cells = Expand(sweep);

  EXPECT_EQ(CellCount(sweep), 8u);
  for (uint32_t i = 0; i < cells.size(); ++i) EXPECT_EQ(cells[i].index, i);
  EXPECT_EQ(cells[4].stack, "t");
}

TEST(MemberTraining, GivesFixedSourcesOneLaneAndFreeOnesALaneForEachReplicate) {
  SweepRequest request = GoodRequest();
  request.noise = {{"init only", "", {{"init", kFree}}}};
  request.blocks = 2;
  const Sweep sweep = MustResolve(request);
  const Cell cell = Expand(sweep)[1];

  const Training member = MemberTraining(sweep, cell, 4, "cpu-a", "s", "id");

  EXPECT_EQ(member.Source(NoiseSource::kInit).lane, (Lane{1, 5}));
  EXPECT_EQ(member.Source(NoiseSource::kInit).state, kFree);
  EXPECT_EQ(member.Source(NoiseSource::kDataOrder).lane, (Lane{1, 0}));
  EXPECT_EQ(member.Source(NoiseSource::kPoke).lane, (Lane{1, 0}));
  EXPECT_EQ(member.Source(NoiseSource::kPoke).state, kOff);
  EXPECT_EQ(member.hardware_class, "cpu-a");
  EXPECT_EQ(member.stack, "s");
  EXPECT_EQ(TextSetting(member.settings, "data.identity"), "id");
}

// Two by three: the second source walks faster; from the seventh replicate on, once more.
TEST(MemberTraining, LevelsAreSharedAndRepeatInEachBlock) {
  SweepRequest request = GoodRequest();
  request.noise = {{"crossed",
                    "algo",
                    {{"init", kFree, {0, 0, 0, 1, 1, 1}}, {"data_order", kFree, {0, 1, 2}}},
                    8,
                    2}};
  const Sweep sweep = MustResolve(request);
  const Cell cell = Expand(sweep)[1];
  const SpecificationTemplate shared = TemplateOf(sweep, cell, "id");
  std::vector<uint32_t> init;
  std::vector<uint32_t> order;
  std::set<std::string> different;

  for (uint32_t replicate = 0; replicate < 8; ++replicate) {
    const Training member = MemberTraining(sweep, cell, replicate, "cpu-a", "", "id");
    EXPECT_EQ(member.Source(NoiseSource::kInit).state, kFree) << "to a trainer a draw is a draw";
    EXPECT_EQ(member.Source(NoiseSource::kInit).lane.block, 1u);
    init.push_back(member.Source(NoiseSource::kInit).lane.number);
    order.push_back(member.Source(NoiseSource::kDataOrder).lane.number);
    EXPECT_EQ(member.Source(NoiseSource::kAugment).lane.number, replicate + 1) << "as before";
    EXPECT_EQ(shared.ForReplicate(replicate), TrainingToJson(member));
    different.insert(TrainingToJson(member));
  }

  EXPECT_THAT(init, ElementsAre(1, 1, 1, 2, 2, 2, 1, 1));
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 1, 2, 3, 1, 2));
  EXPECT_EQ(different.size(), 8u);
}

TEST(SharedAmong, NamesTheSourcesOfWhichReplicatesShareALane) {
  LaneRules rules = *BuiltInPlan("algo");
  EXPECT_THAT(SharedAmong(rules, 1000), IsEmpty());
  RuleOf(rules, NoiseSource::kInit).levels = {0, 0, 1, 1};
  RuleOf(rules, NoiseSource::kDropout).levels = {3, 1, 2};
  EXPECT_THAT(SharedAmong(rules, 1), IsEmpty());
  EXPECT_THAT(SharedAmong(rules, 2), ElementsAre(NoiseSource::kInit));
  EXPECT_THAT(SharedAmong(rules, 3), ElementsAre(NoiseSource::kInit))
      << "three levels, three lanes";
  EXPECT_THAT(SharedAmong(rules, 4), ElementsAre(NoiseSource::kInit, NoiseSource::kDropout));
}

// SplitMix64's finaliser applied four times, worked out by a program of its own.
TEST(MemberTraining, DerivesSeedsFromSweepSourceAndLaneAlone) {
  SweepRequest request = GoodRequest();
  request.seed = 7;
  request.noise = {{"algo", "", {}}};
  request.classes = {"x", "y"};
  const Sweep sweep = MustResolve(request);
  const std::vector<Cell> cells = Expand(sweep);

  const Training on_x = MemberTraining(sweep, cells[0], 0, "x", "s", "");
  const Training on_y = MemberTraining(sweep, cells[1], 0, "y", "t", "");

  EXPECT_EQ(on_x.Source(NoiseSource::kInit).seed, 17074719602325123750ull);
  EXPECT_EQ(on_x.Source(NoiseSource::kKernels).seed, 13858064900649581214ull);
  EXPECT_EQ(on_x.Source(NoiseSource::kInit).seed, on_y.Source(NoiseSource::kInit).seed);
}

// Only of a trainer that has the setting.
TEST(MemberTraining, IsToldTheIdentityOfItsDataWhereItCanBe) {
  Sweep sweep = MustResolve(GoodRequest());
  sweep.base = {{"forest.trees", int64_t{3}}};
  EXPECT_EQ(MemberTraining(sweep, Expand(sweep)[0], 0, "", "", "id").settings, sweep.base);
}

TEST(MemberTraining, HasTheSettingsOfItsCell) {
  SweepRequest request = GoodRequest();
  request.axes = {{{{"train.epochs", {int64_t{5}, int64_t{6}}}}}};
  const Sweep sweep = MustResolve(request);

  EXPECT_EQ(
      IntSetting(MemberTraining(sweep, Expand(sweep)[1], 0, "", "", "").settings, "train.epochs"),
      6);
}

TEST(CanonicalText, LeavesOutNotesAndTags) {
  SweepRequest request = GoodRequest();
  const std::string text = CanonicalText(MustResolve(request));
  request.notes = "first look";
  request.tags = {{"who", "me"}};

  EXPECT_EQ(CanonicalText(MustResolve(request)), text);
}

TEST(CanonicalText, ChangesWithEverythingElse) {
  const std::string text = CanonicalText(MustResolve(GoodRequest()));
  const auto changed = [&](auto change) {
    SweepRequest request = GoodRequest();
    change(request);
    return CanonicalText(MustResolve(request)) != text;
  };

  EXPECT_TRUE(changed([](auto& r) { r.name = "second"; }));
  EXPECT_TRUE(changed([](auto& r) { r.seed = 1; }));
  EXPECT_TRUE(changed([](auto& r) { r.training = {{"train.epochs", int64_t{3}}}; }));
  EXPECT_TRUE(changed([](auto& r) { r.noise = {{"algo", "", {}}}; }));
  EXPECT_TRUE(changed([](auto& r) { r.classes = {"cpu-b"}; }));
  EXPECT_TRUE(changed([](auto& r) { r.stacks = {"s"}; }));
  EXPECT_TRUE(changed([](auto& r) { r.replicates = 2; }));
  EXPECT_TRUE(changed([](auto& r) { r.blocks = 2; }));
  EXPECT_TRUE(changed([](auto& r) { r.noise[0].replicates = 2; }));
  const auto with_levels = [](std::vector<uint32_t> levels) {
    SweepRequest request = GoodRequest();
    request.noise = {{"own", "", {{"init", {kFree, std::move(levels)}}}}};
    return CanonicalText(MustResolve(request));
  };
  EXPECT_NE(with_levels({}), with_levels({0, 1}));
  EXPECT_NE(with_levels({0, 1}), with_levels({1, 0}));
  EXPECT_NE(with_levels({0, 1}), with_levels({0, 1, 0}));
  EXPECT_EQ(with_levels({0, 1}), with_levels({0, 1, 0, 1})) << "the same of every replicate";
  EXPECT_TRUE(changed([](auto& r) { r.noise[0].blocks = 2; }));
  EXPECT_TRUE(changed([](auto& r) { r.reference_accuracy = 0.9; }));
  EXPECT_TRUE(changed([](auto& r) { r.axes = {{{{"train.epochs", {int64_t{2}}}}}}; }));
}

TEST(CanonicalText, TellsApartWhatIsVariedAndHow) {
  const auto with_axes = [](std::vector<Axis> axes) {
    SweepRequest request = GoodRequest();
    request.axes = std::move(axes);
    return CanonicalText(MustResolve(request));
  };
  const AxisColumn epochs = {"train.epochs", {int64_t{64}, int64_t{128}}};
  const AxisColumn others = {"train.epochs", {int64_t{64}, int64_t{129}}};
  const AxisColumn batches = {"train.batch_size", {int64_t{64}, int64_t{128}}};
  EXPECT_NE(with_axes({Axis{{epochs}}}), with_axes({Axis{{others}}})) << "other values";
  EXPECT_NE(with_axes({Axis{{epochs}}}), with_axes({Axis{{batches}}})) << "of another setting";
  EXPECT_NE(with_axes({Axis{{epochs}}, Axis{{batches}}}), with_axes({Axis{{epochs, batches}}}))
      << "each with each, or in step";
  EXPECT_NE(with_axes({Axis{{epochs}}, Axis{{batches}}}),
            with_axes({Axis{{batches}}, Axis{{epochs}}}))
      << "cells have other numbers";

  const auto with_plan = [](const std::string& name, const std::string& source) {
    SweepRequest request = GoodRequest();
    request.noise = {{name, "", {{source, kFree}}}};
    return CanonicalText(MustResolve(request));
  };
  EXPECT_NE(with_plan("own", "init"), with_plan("own", "data_order")) << "another source";
  EXPECT_NE(with_plan("own", "init"), with_plan("mine", "init"));
}

// The hash of a sweep that was kept before plans had numbers of their own stays what it was.
TEST(CanonicalText, IsTheSameWhetherTheSweepOrItsPlansStateTheNumbers) {
  SweepRequest request = GoodRequest();
  request.noise = {{"control", "", {}}, {"algo", "", {}}};
  request.replicates = 4;
  request.blocks = 3;
  const std::string text = CanonicalText(MustResolve(request));
  EXPECT_TRUE(text.ends_with("stack=\nreplicates=4\nblocks=3\n")) << text;

  request.replicates = 9;
  request.blocks = 1;
  for (PlanRequest& plan : request.noise) plan.replicates = 4;
  for (PlanRequest& plan : request.noise) plan.blocks = 3;
  EXPECT_EQ(CanonicalText(MustResolve(request)), text);

  request.noise[1].replicates = 5;
  const std::string differing = CanonicalText(MustResolve(request));
  request.replicates = 5;
  request.noise[1].replicates = 0;
  EXPECT_NE(differing, text);
  EXPECT_EQ(CanonicalText(MustResolve(request)), differing);
}

TEST(CanonicalText, DoesNotLetAValueLookLikeALine) {
  SweepRequest request = GoodRequest();
  request.training = {{"sources.poke.parameter", std::string("a\nseed=9\\n")}};

  EXPECT_THAT(CanonicalText(MustResolve(request)),
              testing::HasSubstr("sources.poke.parameter=a\\nseed=9\\\\n\n"));
}

// What it trains is what its subject trained, whatever its own number is.
TEST(ReplayOf, TrainsTheMemberDrawByDraw) {
  SweepRequest request = GoodRequest();
  request.noise = {{"algo", "", {}, 4, 3}};
  const Sweep original = MustResolve(request);
  const std::vector<Cell> cells = Expand(original);
  const Cell& cell = cells.at(cells.size() - 2);
  ASSERT_EQ(cell.block, 1u);
  const MemberId of = {SweepId{7}, cell.index, 2};

  const Sweep replay =
      ReplayOf(original, cell,
               {.of = of, .count = 5, .hardware = "cpu-x", .stack = "torch", .identity = "id"});

  EXPECT_EQ(replay.name, "replay-" + ToText(of));
  EXPECT_EQ(replay.kind, Kind::kReplay);
  EXPECT_EQ(replay.schema, original.schema);
  EXPECT_EQ(TextSetting(replay.base, "data.identity"), "id") << "other data are refused";
  const std::vector<Cell> its = Expand(replay);
  ASSERT_EQ(its.size(), 1u);
  EXPECT_EQ(its[0].block, 1u);
  EXPECT_EQ(its[0].replicates, 5u);
  EXPECT_EQ(its[0].hardware, "cpu-x");
  EXPECT_EQ(its[0].stack, "torch");
  EXPECT_EQ(its[0].plan, "algo");
  const std::string wanted =
      TrainingToJson(MemberTraining(original, cell, 2, "cpu-x", "torch", "id"));
  for (const uint32_t replicate : {0u, 4u}) {
    EXPECT_EQ(TrainingToJson(MemberTraining(replay, its[0], replicate, "cpu-x", "torch", "id")),
              wanted);
    EXPECT_EQ(TemplateOf(replay, its[0], "id").ForReplicate(replicate), wanted);
  }
  EXPECT_NE(TemplateOf(original, cell, "id").ForReplicate(0),
            TemplateOf(original, cell, "id").ForReplicate(4));
}

TEST(ReplayOf, IsAnotherSweepThanWhatItReplays) {
  const Sweep original = MustResolve(GoodRequest());
  const Cell cell = Expand(original).at(0);
  const auto text = [&](uint32_t replicate) {
    return CanonicalText(ReplayOf(original, cell, {.of = {SweepId{1}, 0, replicate}}));
  };
  EXPECT_NE(text(0), text(1));
  Sweep without = ReplayOf(original, cell, {.of = {SweepId{1}, 0, 0}});
  without.subject.reset();
  EXPECT_NE(CanonicalText(without), text(0));
}

TEST(Kind, HasANameThatIsReadBack) {
  for (const Kind kind : {Kind::kTrain, Kind::kReplay, Kind::kInfer, Kind::kMeasure})
    EXPECT_EQ(ParseKind(Name(kind)), kind);
  EXPECT_EQ(ParseKind("dance"), std::nullopt);
}

TEST(DataSetOfTest, OwnImagesAreAnotherSetForEachSizeAndColumns) {
  std::map<std::string, std::string, std::less<>> settings = {{"data.name", "faces"},
                                                              {"train.loss", "cross_entropy"}};
  const auto name = [&] {
    return DataSetOf([&](std::string_view path) {
      const auto at = settings.find(path);
      return at == settings.end() ? "" : at->second;
    });
  };
  EXPECT_EQ(name(), "faces");
  settings["data.image_size"] = "0";
  EXPECT_EQ(name(), "faces");
  settings["data.image_size"] = "64";
  EXPECT_EQ(name(), "faces (64 px, cross_entropy)");
  settings["data.labels"] = "smiling,old";
  settings["data.groups"] = "city";
  settings["train.loss"] = "binary_cross_entropy";
  EXPECT_EQ(name(), "faces (64 px, binary_cross_entropy; labels smiling,old; groups city)");
}

}  // namespace
}  // namespace noisefloor::sweep
