// A kept sweep made larger: what was there keeps its place, and all of it is what the larger sweep
// is that is submitted at once.
#include "coordinator/sweep/extend.h"

#include <map>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/sweep/request.h"

namespace noisefloor::sweep {
namespace {

using test::GoodRequest;
using test::MustResolve;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SweepRequest Small() {
  SweepRequest request = GoodRequest();
  request.axes = {{{{"train.epochs", {int64_t{1}, int64_t{2}}}}}};
  request.noise = {{"control", "", {}}, {"algo", "", {}}, {"impl", "", {}, 2, 1}};
  request.classes = {"cpu-a", "cpu-c"};
  request.stacks = {"s", "t"};
  request.replicates = 3;
  request.blocks = 2;
  return request;
}

Sweep MustExtend(const Sweep& sweep, const Extension& wish) {
  auto extended = Extend(sweep, wish);
  if (const auto* problem = std::get_if<Problem>(&extended)) ADD_FAILURE() << problem->message;
  return std::get<Sweep>(std::move(extended));
}

std::string Refusal(const Sweep& sweep, const Extension& wish) {
  const auto extended = Extend(sweep, wish);
  const auto* problem = std::get_if<Problem>(&extended);
  return problem == nullptr ? "" : problem->field + ": " + problem->message;
}

// The specification of every member, by what it is rather than by its number.
using Twin = std::tuple<std::string, std::string, uint32_t, std::string, std::string, uint32_t>;
std::map<Twin, std::string> TwinsOf(const Sweep& sweep) {
  std::map<Twin, std::string> twins;
  for (const Cell& cell : Expand(sweep)) {
    const SpecificationTemplate shared = TemplateOf(sweep, cell, "");
    for (uint32_t r = 0; r < cell.replicates; ++r) {
      std::string axes;
      for (const auto& [path, value] : cell.axes) axes += path + ToText(value);
      const bool is_new =
          twins
              .emplace(Twin{axes, cell.plan, cell.block, cell.hardware, cell.stack, r},
                       shared.ForReplicate(r))
              .second;
      EXPECT_TRUE(is_new) << cell.index;
    }
  }
  return twins;
}

TEST(Extend, HasTheMembersOfTheLargerSweepSubmittedAtOnceAndKeepsItsOwnNumbers) {
  const Sweep small = MustResolve(Small());
  SweepRequest larger = Small();
  larger.classes = {"cpu-a", "cpu-b", "cpu-c"};
  larger.noise = {{"control", "", {}, 3, 3}, {"algo", "", {}, 7, 4}, {"impl", "", {}, 3, 3}};
  const Sweep at_once = MustResolve(larger);

  Sweep grown = MustExtend(small, {.replicates = 7, .blocks = 4, .plans = {"algo"}});
  grown = MustExtend(grown, {.replicates = 3, .blocks = 3, .plans = {"impl", "control"}});
  grown = MustExtend(grown, {.hardware = {"cpu-b", "cpu-a"}});

  EXPECT_EQ(TwinsOf(grown), TwinsOf(at_once));
  EXPECT_EQ(CanonicalText(grown), CanonicalText(at_once));
  EXPECT_EQ(MemberCount(grown), MemberCount(at_once));
  const std::vector<Cell> before = Expand(small);
  const std::vector<Cell> after = Expand(grown);
  ASSERT_EQ(after.size(), CellCount(at_once));
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].index, i);
    EXPECT_EQ(
        std::tie(before[i].plan, before[i].block, before[i].hardware, before[i].stack,
                 before[i].axes),
        std::tie(after[i].plan, after[i].block, after[i].hardware, after[i].stack, after[i].axes))
        << i;
  }
  EXPECT_EQ(CanonicalText(AsSubmitted(grown)), CanonicalText(small));
  EXPECT_EQ(TwinsOf(AsSubmitted(grown)), TwinsOf(small));
}

TEST(Extend, TwiceIsOnce) {
  const Sweep small = MustResolve(Small());
  const Extension wish = {.replicates = 5, .blocks = 3, .hardware = {"cpu-b"}};
  const Sweep once = MustExtend(small, wish);
  const Sweep twice = MustExtend(once, wish);

  EXPECT_EQ(CanonicalText(twice), CanonicalText(once));
  EXPECT_EQ(twice.before, once.before);
  EXPECT_EQ(MustExtend(small, {}).before, small.before);
}

// Replicates bring no cells, so nothing need be remembered of how they came.
TEST(Extend, ManyTimesReplicatesAreRememberedOnce) {
  Sweep sweep = MustResolve(Small());
  for (uint32_t replicates = 4; replicates < 100; ++replicates) {
    sweep = MustExtend(sweep, {.replicates = replicates});
  }
  EXPECT_EQ(sweep.before.size(), 1u);
  EXPECT_EQ(AsSubmitted(sweep).replicates, 3u);
}

TEST(Extend, RefusesWhatWouldBeSmallerOrIsNotThere) {
  const Sweep small = MustResolve(Small());
  EXPECT_THAT(Refusal(small, {.replicates = 2}),
              HasSubstr("replicates: plan control has 3 replicates, and a sweep gets no smaller"));
  EXPECT_EQ(Refusal(small, {.replicates = 2, .plans = {"impl"}}), "");
  EXPECT_THAT(Refusal(small, {.blocks = 1, .plans = {"algo"}}),
              HasSubstr("blocks: plan algo has 2 blocks"));
  EXPECT_THAT(Refusal(small, {.replicates = 9, .plans = {"alg"}}),
              HasSubstr("the sweep has no plan \"alg\"; did you mean algo?"));
  EXPECT_THAT(Refusal(small, {.hardware = {"no class"}}), HasSubstr("hardware: "));
  EXPECT_THAT(Refusal(small, {.hardware = {"nvidia-h100-x4"}}),
              HasSubstr("hardware: nvidia-h100-x4 has another number of devices than "
                        "train.devices"));
  EXPECT_THAT(Refusal(small, {.replicates = 90000}), HasSubstr("expected at most 100000 members"));
  SweepRequest any = Small();
  any.hardware = HardwareKind::kAny;
  any.classes.clear();
  EXPECT_THAT(Refusal(MustResolve(any), {.hardware = {"cpu-b"}}),
              HasSubstr("takes any hardware class already"));
  const Sweep replay = ReplayOf(small, Expand(small)[0], {.of = {SweepId{1}, 0, 0}});
  EXPECT_THAT(Refusal(replay, {.replicates = 9}), HasSubstr("a replay is not extended"));
}

TEST(Lacking, SaysTheExtensionsAfterWhichNothingIsLacking) {
  const Sweep small = MustResolve(Small());
  EXPECT_THAT(*Lacking(small, small), IsEmpty());
  SweepRequest other = Small();
  other.replicates = 2;  // Fewer are no lack.
  other.noise = {{"control", "", {}}, {"algo", "", {}, 20, 3}, {"impl", "", {}, 2, 1}};
  other.classes = {"cpu-c", "cpu-b"};
  const Sweep wanted = MustResolve(other);
  ASSERT_TRUE(DifferOnlyInExtent(small, wanted));

  const std::vector<Extension> lacking = *Lacking(small, wanted);

  EXPECT_THAT(lacking, ElementsAre(Extension{20, 3, {"cpu-b"}, {"algo"}}));
  Sweep grown = small;
  for (const Extension& one : lacking) grown = MustExtend(grown, one);
  EXPECT_THAT(*Lacking(grown, wanted), IsEmpty());
  other.replicates = 30;
  other.noise = Small().noise;
  other.noise.back().replicates = other.noise.back().blocks = 0;
  other.classes = Small().classes;
  EXPECT_THAT(
      *Lacking(small, MustResolve(other)),
      ElementsAre(Extension{30, 0, {}, {"algo", "control"}}, Extension{30, 2, {}, {"impl"}}));
  other.hardware = HardwareKind::kAny;
  EXPECT_FALSE(Lacking(small, MustResolve(other)).has_value());
}

TEST(DifferOnlyInExtent, IsFalseWhereTrainingsDiffer) {
  const Sweep small = MustResolve(Small());
  const auto differs = [&](const std::function<void(SweepRequest&)>& change) {
    SweepRequest other = Small();
    change(other);
    return !DifferOnlyInExtent(small, MustResolve(other));
  };
  EXPECT_FALSE(differs([](SweepRequest& r) { r.notes = "others"; }));
  EXPECT_FALSE(differs([](SweepRequest& r) { r.replicates = 50; }));
  EXPECT_TRUE(differs([](SweepRequest& r) { r.name = "other"; }));
  EXPECT_TRUE(differs([](SweepRequest& r) { r.seed = 5; }));
  EXPECT_TRUE(differs([](SweepRequest& r) { r.stacks = {"s"}; }));
  EXPECT_TRUE(differs([](SweepRequest& r) { r.reference_accuracy = 0.5; }));
  EXPECT_TRUE(differs([](SweepRequest& r) { r.noise.pop_back(); }));
  EXPECT_TRUE(differs([](SweepRequest& r) { r.axes[0].columns[0].values[1] = int64_t{3}; }));
  EXPECT_TRUE(differs([](SweepRequest& r) {
    r.training.push_back({"data.test_examples", int64_t{7}});
  }));
}

}  // namespace
}  // namespace noisefloor::sweep
