// Sweeps that evaluate weights: which members they have, and of whom.
#include "coordinator/sweep/infer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/training_json.h"
#include "coordinator/sweep/extend.h"
#include "tests/coordinator/sweep/request.h"

namespace noisefloor::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace noisefloor::test;

constexpr SweepId kOf{7};

// Of replicate `n`: a hash of its own.
GivenWeights Own(uint32_t n) {
  return {n, std::string(64, static_cast<char>('a' + n)), 10 + n, ""};
}

// The members `replicates` of a cell that is pinned to cpu-x and the stack "torch".
InferSource Source(const Cell& cell, const std::vector<uint32_t>& replicates) {
  InferSource source = {.cell = cell, .identity = "id"};
  source.cell.hardware = "cpu-x";
  source.cell.stack = "torch";
  for (const uint32_t replicate : replicates) source.weights.push_back(Own(replicate));
  return source;
}

InferWish On(std::vector<std::string> classes, std::string stack = "") {
  return {kOf, std::move(classes), std::move(stack)};
}

// Two blocks of a plan of six replicates, whose init has levels and whose other sources are free.
Sweep Original() {
  SweepRequest request = GoodRequest();
  request.noise = {{"algo", "", {{"init", {SourceState::kFree, {2, 0, 1}}}}, 6, 2}};
  request.noise[0].base = "algo";
  request.noise[0].name = "crossed";
  return MustResolve(request);
}

TEST(InferenceOf, HasEachCellOnEachClassWithTheLanesOfItsSubjects) {
  const Sweep original = Original();
  const std::vector<Cell> cells = Expand(original);
  ASSERT_EQ(cells.size(), 2u);
  // Replicates 1 and 2 of block 0 have no weights; block 1 has all of the first three.
  const Sweep infer =
      InferenceOf(original, {Source(cells[0], {0, 3, 4, 5}), Source(cells[1], {0, 1, 2})},
                  On({"cpu-a", "cpu-b"}));

  EXPECT_EQ(infer.kind, Kind::kInfer);
  EXPECT_EQ(infer.name, "infer-s7");
  const std::vector<Cell> its = Expand(infer);
  ASSERT_EQ(its.size(), 4u);
  EXPECT_EQ(CellCount(infer), 4u);
  EXPECT_EQ(MemberCount(infer), 14u);
  for (const Cell& cell : its) {
    EXPECT_EQ(cell.index, static_cast<uint32_t>(&cell - its.data()));
    EXPECT_EQ(cell.hardware, cell.index % 2 == 0 ? "cpu-a" : "cpu-b");
    EXPECT_EQ(cell.stack, "torch");
    EXPECT_EQ(cell.block, cell.index / 2);
    ASSERT_EQ(cell.replicates, cell.index < 2 ? 4u : 3u);
    const std::string identity = TextSetting(infer.base, kDataIdentity);
    EXPECT_EQ(identity, "id");
    for (uint32_t replicate = 0; replicate < cell.replicates; ++replicate) {
      const MemberId of = SubjectOf(infer, {SweepId{9}, cell.index, replicate}).value();
      EXPECT_EQ(of.sweep, kOf);
      const std::string wanted = TrainingToJson(
          MemberTraining(original, cells.at(of.cell), of.replicate, cell.hardware, "torch", "id"));
      EXPECT_EQ(
          TrainingToJson(MemberTraining(infer, cell, replicate, cell.hardware, "torch", "id")),
          wanted);
      EXPECT_EQ(TemplateOf(infer, cell, "id").ForReplicate(replicate), wanted);
    }
  }
}

TEST(InferenceOf, AMemberHasTheWeightsOfItsSubjectAndOthersHaveNone) {
  const Sweep original = Original();
  const std::vector<Cell> cells = Expand(original);
  const Sweep infer = InferenceOf(original, {Source(cells[0], {0, 4}), Source(cells[1], {5})},
                                  On({"cpu-a", "cpu-b"}));
  const auto weights = [&](uint32_t cell, uint32_t replicate) {
    return WeightsOf(infer, {SweepId{9}, cell, replicate});
  };
  EXPECT_EQ(*weights(0, 1), Own(4));
  EXPECT_EQ(*weights(1, 1), Own(4));
  EXPECT_EQ(*weights(3, 0), Own(5));
  EXPECT_EQ(weights(0, 2), nullptr);
  EXPECT_EQ(weights(4, 0), nullptr);
  EXPECT_EQ(SubjectOf(infer, {SweepId{9}, 3, 0}), (MemberId{kOf, 1, 5}));
  EXPECT_EQ(SubjectOf(infer, {SweepId{9}, 3, 1}), std::nullopt);
  EXPECT_EQ(WeightsOf(original, {kOf, 0, 0}), nullptr);
  EXPECT_EQ(SubjectOf(original, {kOf, 0, 0}), std::nullopt);
  EXPECT_EQ(AboutSweep(infer), kOf);
  EXPECT_EQ(AboutSweep(original), std::nullopt);
  const Sweep replay = ReplayOf(original, cells[0], {.of = {SweepId{3}, 0, 1}});
  EXPECT_EQ(AboutSweep(replay), SweepId{3});
  EXPECT_EQ(SubjectOf(replay, {SweepId{9}, 0, 4}), (MemberId{SweepId{3}, 0, 1}));
}

TEST(InferenceOf, EvaluatesOnOneDeviceWhatSeveralHaveTrained) {
  SweepRequest request = GoodRequest();
  request.training = {{"train.shards", int64_t{4}}, {"train.devices", int64_t{4}}};
  const Sweep original = MustResolve(request);
  const Sweep infer =
      InferenceOf(original, {Source(Expand(original)[0], {0})}, On({"nvidia-h200"}));
  EXPECT_EQ(DevicesOf(infer, Expand(infer)[0]), 1);
  EXPECT_TRUE(HasDevicesOf(infer, "nvidia-h200"));
  EXPECT_EQ(CellText(infer, Expand(infer)[0], "train.shards"), "4") << "all else is the subject's";
}

TEST(InferenceOf, HasTheSettingsOfItsSubjectsAlsoWhereAnAxisSaysThem) {
  SweepRequest request = GoodRequest();
  request.axes = {{{{"train.epochs", {int64_t{5}, int64_t{6}}}}}};
  request.reference_accuracy = 0.5;
  request.seed = 7;
  const Sweep original = MustResolve(request);
  const Cell cell = Expand(original).at(1);

  const Sweep infer = InferenceOf(original, {Source(cell, {0})}, On({"cpu-a"}));

  const std::vector<Cell> its = Expand(infer);
  ASSERT_EQ(its.size(), 1u);
  EXPECT_EQ(CellText(infer, its[0], "train.epochs"), "6");
  EXPECT_EQ(infer.schema, original.schema);
  EXPECT_EQ(infer.reference_accuracy, 0.5);
  ASSERT_NE(FindColumn(infer, "train.epochs"), nullptr);
  EXPECT_EQ(TrainingToJson(MemberTraining(infer, its[0], 0, "cpu-a", "torch", "id")),
            TrainingToJson(MemberTraining(original, cell, 0, "cpu-a", "torch", "id")));
}

// Each cell's is checked where it is evaluated.
TEST(InferenceOf, OfSubjectsWithDifferentDataNoIdentityIsTakenForAll) {
  const Sweep original = Original();
  const std::vector<Cell> cells = Expand(original);
  InferSource other = Source(cells[1], {0});
  other.identity = "another";
  const Sweep infer = InferenceOf(original, {Source(cells[0], {0}), other}, On({"cpu-a"}));
  EXPECT_EQ(TextSetting(infer.base, kDataIdentity), TextSetting(original.base, kDataIdentity));
  EXPECT_NE(TextSetting(infer.base, kDataIdentity), "id");
}

// All of the first replicates: nothing needs to be said of them by levels.
TEST(InferenceOf, PlansThatGiveOtherLanesHaveNamesOfTheirOwn) {
  const Sweep original = Original();
  const std::vector<Cell> cells = Expand(original);
  const Sweep same =
      InferenceOf(original, {Source(cells[0], {0, 1, 2}), Source(cells[1], {0, 1})}, On({"cpu-a"}));
  ASSERT_EQ(same.plans.size(), 1u);
  EXPECT_EQ(same.plans[0].name, "crossed");
  EXPECT_EQ(same.plans[0].rules, original.plans[0].rules);
  EXPECT_EQ(same.plans[0].replicates, 3u);

  const Sweep other =
      InferenceOf(original, {Source(cells[0], {3, 1}), Source(cells[1], {0, 1})}, On({"cpu-a"}));
  ASSERT_EQ(other.plans.size(), 2u);
  EXPECT_EQ(other.plans[1].name, "crossed-2");
  EXPECT_THAT(RuleOf(other.plans[0].rules, NoiseSource::kInit).levels, ElementsAre(2u, 0u));
  EXPECT_THAT(RuleOf(other.plans[0].rules, NoiseSource::kDropout).levels, ElementsAre(3u, 1u));
  EXPECT_TRUE(RuleOf(other.plans[0].rules, NoiseSource::kKernels).levels.empty()) << "it is fixed";
}

TEST(InferenceOf, TheStackIsThatOfTheCellUnlessAnotherIsWished) {
  const Sweep original = Original();
  const Cell cell = Expand(original)[0];
  const auto stack = [&](const std::string& wish) {
    return Expand(InferenceOf(original, {Source(cell, {0})}, On({"cpu-a"}, wish)))[0].stack;
  };
  EXPECT_EQ(stack(""), "torch");
  EXPECT_EQ(stack("torch-9"), "torch-9");
  EXPECT_EQ(stack("any"), "");
}

TEST(InferenceOf, OtherWeightsMembersOrClassesAreAnotherSweep) {
  const Sweep original = Original();
  const Cell cell = Expand(original)[0];
  const auto text = [&](const std::vector<uint32_t>& replicates, const std::string& on) {
    return CanonicalText(InferenceOf(original, {Source(cell, replicates)}, On({on})));
  };
  EXPECT_EQ(text({0, 1}, "cpu-a"), text({0, 1}, "cpu-a"));
  EXPECT_NE(text({0, 1}, "cpu-a"), text({0, 1}, "cpu-b"));
  EXPECT_NE(text({0, 1}, "cpu-a"), text({0, 2}, "cpu-a"));
  InferSource theirs = Source(cell, {0, 1});
  theirs.weights[1].sha256 = std::string(64, '0');
  EXPECT_NE(CanonicalText(InferenceOf(original, {theirs}, On({"cpu-a"}))), text({0, 1}, "cpu-a"));
  theirs.weights[1] = Own(1);
  theirs.weights[1].file = "theirs.safetensors";
  EXPECT_EQ(CanonicalText(InferenceOf(original, {theirs}, On({"cpu-a"}))), text({0, 1}, "cpu-a"))
      << "what a file is called changes nothing";
}

TEST(InferenceOf, IsNotExtended) {
  const Sweep original = Original();
  const Sweep infer = InferenceOf(original, {Source(Expand(original)[0], {0})}, On({"cpu-a"}));
  const auto extended = Extend(infer, {.replicates = 9});
  ASSERT_TRUE(std::holds_alternative<Problem>(extended));
  EXPECT_THAT(std::get<Problem>(extended).message, HasSubstr("an inference is not extended"));
}

}  // namespace
}  // namespace noisefloor::sweep
