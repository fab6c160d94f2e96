// Every broken request is refused whole, with the exact field and words.
#include <cmath>
#include <functional>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/sweep/problems.h"
#include "tests/coordinator/sweep/request.h"

namespace noisefloor::sweep {

void PrintTo(const Problem& problem, std::ostream* out) {
  *out << problem.field << ": " << problem.message;
}

namespace {

using testing::ElementsAre;

struct Broken {
  const char* name;
  std::function<void(SweepRequest&)> breaks;
  const char* expected;  // "field: message", of the only problem.
};

std::string Text(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    text += (text.empty() ? "" : "\n") + problem.field + ": " + problem.message;
  }
  return text;
}

void AddAxis(SweepRequest& request, std::vector<AxisColumn> columns) {
  request.axes.push_back({std::move(columns)});
}

const std::vector<SettingValue> kTwoRates = {0.1, 0.2};

const Broken kBroken[] = {
    {"NoName", [](auto& r) { r.name = ""; },
     "name: expected 1 to 100 letters, digits, '-', '_' or '.', got an empty text"},
    {"NameWithSpace", [](auto& r) { r.name = "my sweep"; },
     "name: expected 1 to 100 letters, digits, '-', '_' or '.', got \"my sweep\""},
    {"NameTooLong", [](auto& r) { r.name = std::string(101, 'x'); },
     "name: expected 1 to 100 letters, digits, '-', '_' or '.', got "
     "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\""},
    {"KindOnAnAxis",
     [](auto& r) {
       AddAxis(r, {{"measure.steps", {int64_t{0}, int64_t{5}}}});
     },
     "axes.measure.steps: expected one number for the whole sweep: with 0 it trains, with more it "
     "measures"},
    {"UnknownSetting",
     [](auto& r) {
       r.training = {{"train.epoch", int64_t{1}}};
     },
     "train.epoch: unknown key train.epoch; did you mean train.epochs?"},
    {"FarFromAnySetting",
     [](auto& r) {
       r.training = {{"zzzzzzzzzzzzzzzzzz", int64_t{1}}};
     },
     "zzzzzzzzzzzzzzzzzz: unknown key zzzzzzzzzzzzzzzzzz"},
    {"SettingBelowItsLeast",
     [](auto& r) {
       r.training = {{"train.epochs", int64_t{-1}}};
     },
     "train.epochs: expected an integer from 0 to 100000, got -1"},
    {"SettingOfAnotherKind",
     [](auto& r) {
       r.training = {{"train.epochs", std::string("many")}};
     },
     "train.epochs: expected an integer from 0 to 100000, got many"},
    {"ChoiceUnknown",
     [](auto& r) {
       r.training = {{"model.name", std::string("vgg")}};
     },
     "model.name: expected one of small_cnn, medium_cnn, resnet18, mlp, kernel_cnn, lenet, "
     "resnet9, resnet9_whitened, "
     "resnet20, resnet50, resnet101, resnet152, vgg16, vgg19, densenet121, densenet169, "
     "densenet201, inception_v3, xception, mobilenet, efficientnet_b0, vit, got vgg"},
    {"LevelsOfAPhysicalSource",
     [](auto& r) {
       r.noise = {{"own", "", {{"kernels", SourceState::kFree, {0, 1}}}}};
     },
     "noise[0].kernels: expected off, fixed or free: kernels has no draws that levels could share"},
    {"LevelsOfAFixedSource",
     [](auto& r) {
       r.noise = {{"own", "", {{"init", SourceState::kFixed, {0, 1}}}}};
     },
     "noise[0].init: expected no levels of a source that is fixed"},
    {"OneLevel",
     [](auto& r) {
       r.noise = {{"own", "", {{"init", SourceState::kFree, {3, 3}}}}};
     },
     "noise[0].init.levels: expected two different levels or more; with one, it is fixed"},
    {"LevelTooHigh",
     [](auto& r) {
       r.noise = {{"own", "", {{"init", SourceState::kFree, {0, 100000}}}}};
     },
     "noise[0].init.levels: expected levels from 0 to 99999, got 100000"},
    {"TooManyLevels",
     [](auto& r) {
       std::vector<uint32_t> levels(10001);
       std::iota(levels.begin(), levels.end(), 0u);
       r.noise = {{"own", "", {{"init", SourceState::kFree, levels}}}};
     },
     "noise[0].init.levels: expected at most 10000 levels, got 10001"},
    {"SettingTwice",
     [](auto& r) {
       r.training.push_back({"train.epochs", int64_t{3}});
     },
     "train.epochs: is given twice"},
    {"AxisWithoutColumns", [](auto& r) { AddAxis(r, {}); },
     "axes[0]: expected at least one setting, got none"},
    {"AxisWithoutValues",
     [](auto& r) {
       AddAxis(r, {{"train.epochs", {}}});
     },
     "axes.train.epochs: expected at least one value, got none"},
    {"AxisOfUnknownSetting",
     [](auto& r) {
       AddAxis(r, {{"train.epoch", {int64_t{1}}}});
     },
     "axes.train.epoch: unknown key train.epoch; did you mean train.epochs?"},
    {"AxisWithOneWrongValue",
     [](auto& r) {
       AddAxis(r, {{"train.epochs", {int64_t{1}, std::string("x")}}});
     },
     "axes.train.epochs[1]: expected an integer from 0 to 100000, got x"},
    {"AxisWithAValueTwice",
     [](auto& r) {
       AddAxis(r, {{"train.epochs", {int64_t{1}, int64_t{1}}}});
     },
     "axes.train.epochs[1]: 1 is given twice"},
    {"ZipOfUnequalLengths",
     [](auto& r) {
       AddAxis(r, {{"train.optimizer.learning_rate", kTwoRates}, {"train.epochs", {int64_t{1}}}});
     },
     "axes.train.epochs: walks in step with train.optimizer.learning_rate: expected 2 values, "
     "got 1"},
    {"ZipWithAPointTwice",
     [](auto& r) {
       AddAxis(r, {{"train.epochs", {int64_t{1}, int64_t{2}, int64_t{1}}},
                   {"train.batch_size", {int64_t{64}, int64_t{64}, int64_t{64}}}});
     },
     "axes.train.epochs[2]: 1 is given twice"},
    {"SettingOnTwoAxes",
     [](auto& r) {
       AddAxis(r, {{"train.epochs", {int64_t{1}}}});
       AddAxis(r, {{"train.epochs", {int64_t{2}}}});
     },
     "axes.train.epochs: expected each setting on one axis, got it on two"},
    {"TooManyAxes", [](auto& r) { r.axes.resize(21); }, "axes: expected at most 20 axes, got 21"},
    {"NoPlans", [](auto& r) { r.noise.clear(); }, "noise: expected 1 to 100 noise plans, got 0"},
    {"TooManyPlans", [](auto& r) { r.noise.resize(101); },
     "noise: expected 1 to 100 noise plans, got 101"},
    {"UnknownPlan",
     [](auto& r) {
       r.noise = {{"contrl", "", {}}};
     },
     "noise[0]: expected control, algo, impl, algo+impl or a plan with rules, got \"contrl\"; did "
     "you mean control?"},
    {"PlanTwice",
     [](auto& r) {
       r.noise = {{"algo", "", {}}, {"algo", "", {}}};
     },
     "noise[1]: expected different names, got \"algo\" again"},
    {"OwnPlanWithABuiltInName",
     [](auto& r) {
       r.noise = {{"algo", "", {{"init", SourceState::kFree}}}};
     },
     "noise[0].name: algo is a built-in plan; give your own plan another name"},
    {"OwnPlanWithoutAName",
     [](auto& r) {
       r.noise = {{"", "", {{"init", SourceState::kFree}}}};
     },
     "noise[0].name: expected one line of 1 to 100 characters, got an empty text"},
    {"OwnPlanWithALongName",
     [](auto& r) {
       r.noise = {{std::string(101, 'p'), "algo", {}}};
     },
     "noise[0].name: expected one line of 1 to 100 characters, got "
     "\"pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp...\""},
    {"OwnPlanWithALineBreakInItsName",
     [](auto& r) {
       r.noise = {{"a\nb", "algo", {}}};
     },
     "noise[0].name: expected one line of 1 to 100 characters, got \"a?b\""},
    {"UnknownBase",
     [](auto& r) {
       r.noise = {{"mine", "algos", {}}};
     },
     "noise[0].base: expected control, algo, impl or algo+impl, got \"algos\"; did you mean algo?"},
    {"UnknownSource",
     [](auto& r) {
       r.noise = {{"mine", "", {{"data-order", SourceState::kFree}}}};
     },
     "noise[0].data-order: unknown noise source; did you mean data_order?"},
    {"SourceTwice",
     [](auto& r) {
       r.noise = {{"mine", "", {{"init", SourceState::kFree}, {"init", SourceState::kFixed}}}};
     },
     "noise[0].init: is given twice"},
    {"NoClasses", [](auto& r) { r.classes.clear(); },
     "hardware: expected all, any or at least one hardware class, got none"},
    {"ClassTwice",
     [](auto& r) {
       r.classes = {"cpu-a", "cpu-a"};
     },
     "hardware[1]: \"cpu-a\" is given twice"},
    {"ClassThatIsNoName", [](auto& r) { r.classes = {"cpu a"}; },
     "hardware[0]: expected 1 to 100 letters, digits, '-', '_' or '.', got \"cpu a\""},
    {"TooManyClasses", [](auto& r) { r.classes.resize(101); },
     "hardware: expected at most 100 names, got 101"},
    {"StackTwice",
     [](auto& r) {
       r.stacks = {"t", "t"};
     },
     "stacks[1]: \"t\" is given twice"},
    {"StackWithoutName", [](auto& r) { r.stacks = {""}; },
     "stacks[0]: expected 1 to 100 letters, digits, '-', '_' or '.', got an empty text"},
    {"NoReplicates", [](auto& r) { r.replicates = 0; },
     "replicates: expected an integer from 1 to 100000, got 0"},
    {"TooManyReplicates", [](auto& r) { r.replicates = 100001; },
     "replicates: expected an integer from 1 to 100000, got 100001"},
    {"NoBlocks", [](auto& r) { r.blocks = 0; },
     "blocks: expected an integer from 1 to 10000, got 0"},
    {"TooManyCells",
     [](auto& r) {
       r.blocks = 10000;
       r.classes = {"cpu-a", "cpu-b"};
     },
     "axes: expected at most 10000 cells, got more: at least 20000"},
    {"TooManyMembers",
     [](auto& r) {
       r.blocks = 1000;
       r.replicates = 101;
     },
     "replicates: expected at most 100000 members, got 101000 in 1000 cells"},
    {"TooManyMembersOfOnePlan",
     [](auto& r) {
       r.noise = {{"control", "", {}, 99999, 1}, {"algo", "", {}, 2, 1}};
     },
     "replicates: expected at most 100000 members, got 100001 in 2 cells"},
    {"TooManyCellsOfOnePlan",
     [](auto& r) {
       r.noise = {{"control", "", {}, 0, 9999}, {"algo", "", {}, 0, 2}};
     },
     "axes: expected at most 10000 cells, got more: at least 10001"},
    {"PlanWithTooManyReplicates",
     [](auto& r) {
       r.noise = {{"control", "", {}, 100001, 0}};
     },
     "noise[0].replicates: expected an integer from 1 to 100000, got 100001"},
    {"PlanWithTooManyBlocks",
     [](auto& r) {
       r.noise = {{"control", "", {}, 0, 10001}};
     },
     "noise[0].blocks: expected an integer from 1 to 10000, got 10001"},
    {"ReferenceAboveOne", [](auto& r) { r.reference_accuracy = 1.5; },
     "reference_accuracy: expected a number above 0 and at most 1, got 1.5"},
    {"ReferenceOfNothing", [](auto& r) { r.reference_accuracy = 0; },
     "reference_accuracy: expected a number above 0 and at most 1, got 0"},
    {"ReferenceThatIsNoNumber", [](auto& r) { r.reference_accuracy = std::nan(""); },
     "reference_accuracy: expected a number above 0 and at most 1, got nan"},
    {"NotesTooLong", [](auto& r) { r.notes = std::string(10001, 'n'); },
     "notes: expected at most 10000 characters, got 10001"},
    {"TagTooLong",
     [](auto& r) {
       r.tags = {{"k", std::string(201, 'v')}};
     },
     "tags.k: expected at most 200 characters, got 201"},
    {"TooManyTags",
     [](auto& r) {
       for (int i = 0; i < 101; ++i) r.tags["t" + std::to_string(i)] = "v";
     },
     "tags: expected at most 100 tags, got 101"},
    {"TagWithoutName",
     [](auto& r) {
       r.tags = {{"", "v"}};
     },
     "tags.: expected one line of 1 to 100 characters, got an empty text"},
    {"BatchNotDivisibleByShards",
     [](auto& r) {
       r.training = {{"train.shards", int64_t{3}}, {"train.drop_last", true}};
     },
     "train.batch_size: 128 is not divisible by train.shards 3; the nearest that are: 126 or 129"},
    {"TwoShardsCannotReorder",
     [](auto& r) {
       r.training = {{"train.shards", int64_t{2}}};
       r.noise = {{"impl", "", {}}};
     },
     "train.shards: with 2 shards the order of a sum changes nothing (a + b = b + a); "
     "reduce_order: free needs 1 shard (no effect) or at least 3"},
    {"ThreadsWithoutChoices",
     [](auto& r) {
       r.noise = {{"threads", "", {{"threads", SourceState::kFree}}}};
     },
     "sources.threads.choices: the source threads is free: a list of thread counts to draw from "
     "is needed"},
    {"ADialWithoutASize",
     [](auto& r) {
       r.noise = {{"dialed", "algo", {{"dial", SourceState::kFree}}}};
     },
     "sources.dial.size: the source dial is free: a size above 0 is needed"},
    {"ALoadOfUnknownSize",
     [](auto& r) {
       r.noise = {{"loaded", "", {{"load", SourceState::kFixed}}}};
     },
     "sources.load.choices: the source load is fixed: a list of numbers of busy threads to draw "
     "from is needed"},
    {"ASettingThatTheNetworkDoesNotRead",
     [](auto& r) {
       r.training = {{"model.dropout", 0.5}};
     },
     "model.dropout: small_cnn has no dropout; expected 0, the default"},
    {"AnAxisThatTheNetworkDoesNotRead",
     [](auto& r) {
       r.training = {{"model.name", std::string("resnet18")}};
       AddAxis(r, {{"model.batch_norm", {true, false}}});
     },
     "axes.model.batch_norm: resnet18 has no batch normalisation to switch off; expected true, the "
     "default"},
    {"APokeAfterTheEnd",
     [](auto& r) {
       r.training = {{"train.epochs", int64_t{1}}, {"sources.poke.step", int64_t{47}}};
       r.noise = {{"poked", "", {{"poke", SourceState::kFixed}}}};
     },
     "sources.poke.step: 47 asked, the training has 47 steps, counted from 0: the poke would never "
     "happen"},
    {"MoreEvaluationsThanCanBeKept",
     [](auto& r) {
       r.training = {{"train.epochs", int64_t{10000}}};
     },
     "evaluate.every_epochs: 10000 evaluations asked; expected at most 9996; set it to 2 or more"},
    {"AnAxisThatOneCellCannotHave",
     [](auto& r) {
       AddAxis(r, {{"train.optimizer.nesterov", {false, true}}});
     },
     "axes.train.optimizer.nesterov: needs train.optimizer.momentum above 0"},
};

class BrokenRequest : public testing::TestWithParam<Broken> {};

TEST_P(BrokenRequest, IsRefusedWithItsPlaceAndWhatWasExpected) {
  SweepRequest request = test::GoodRequest();
  GetParam().breaks(request);

  const auto resolved = Resolve(request, test::TwoOfEach());

  ASSERT_TRUE(std::holds_alternative<std::vector<Problem>>(resolved));
  EXPECT_EQ(Text(std::get<std::vector<Problem>>(resolved)), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Each, BrokenRequest, testing::ValuesIn(kBroken),
                         [](const auto& info) { return info.param.name; });

// What is wrong with it; empty: nothing.
std::string Refusal(const std::function<void(SweepRequest&)>& change) {
  SweepRequest request = test::GoodRequest();
  change(request);
  const auto resolved = Resolve(request, test::TwoOfEach());
  const auto* problems = std::get_if<std::vector<Problem>>(&resolved);
  return problems == nullptr ? "" : Text(*problems);
}

TEST(Resolve, TakesWhatIsAsLargeAsItMayBe) {
  EXPECT_EQ(Refusal([](auto& r) { r.name = std::string(100, 'x'); }), "");
  EXPECT_EQ(Refusal([](auto& r) { r.replicates = 100000; }), "");
  EXPECT_EQ(Refusal([](auto& r) { r.blocks = 10000; }), "");
  EXPECT_EQ(Refusal([](auto& r) { r.reference_accuracy = 1; }), "");
  EXPECT_EQ(Refusal([](auto& r) { r.notes = std::string(10000, 'n'); }), "");
  EXPECT_EQ(Refusal([](auto& r) {
              r.noise = {{std::string(100, 'p'), "algo", {}, 99999, 1}, {"impl", "", {}, 1, 1}};
            }),
            "");
  EXPECT_EQ(Refusal([](auto& r) {
              for (int i = 100; i < 200; ++i) {
                r.tags[std::string(97, 't') + std::to_string(i)] = std::string(200, 'v');
              }
            }),
            "");
}

// One setting may have a value twice where another in step with it has two.
TEST(Resolve, TakesAnAxisOfDifferentPoints) {
  EXPECT_EQ(Refusal([](auto& r) {
              AddAxis(r, {{"train.epochs", {int64_t{1}, int64_t{1}}},
                          {"train.batch_size", {int64_t{64}, int64_t{128}}}});
            }),
            "");
}

TEST(Quoted, CutsLongTextsAndHidesWhatCannotBeShown) {
  EXPECT_EQ(Quoted("a\tb"), "\"a?b\"");
  EXPECT_EQ(Quoted(std::string(61, 'x')), "\"" + std::string(60, 'x') + "...\"");
  EXPECT_EQ(Quoted(""), "an empty text");
}

TEST(Problems, TellsTheSameThingOnce) {
  Problems problems;
  problems.Add("name", "wrong");
  problems.Add("name", "wrong");

  EXPECT_EQ(problems.Take().size(), 1u);
}

TEST(Resolve, TellsEveryProblemInTheOrderOfTheFields) {
  SweepRequest request = test::GoodRequest();
  request.name = "";
  request.training = {{"train.epochs", int64_t{-1}}};
  request.replicates = 0;

  const auto problems = std::get<std::vector<Problem>>(Resolve(request, {}));

  std::vector<std::string> fields;
  for (const Problem& problem : problems) fields.push_back(problem.field);
  EXPECT_THAT(fields, ElementsAre("name", "train.epochs", "replicates"));
}

TEST(Resolve, MeansTheConnectedClassesByAll) {
  SweepRequest request = test::GoodRequest();
  request.hardware = HardwareKind::kAll;

  EXPECT_THAT(test::MustResolve(request).hardware, ElementsAre("cpu-a", "cpu-b"));
}

// What trains on `devices`, on all of these classes.
std::variant<Sweep, std::vector<Problem>> OnAll(const std::vector<SettingValue>& devices,
                                                std::vector<std::string> classes) {
  SweepRequest request = test::GoodRequest();
  request.training = {{"train.shards", int64_t{4}}};
  request.hardware = HardwareKind::kAll;
  request.axes = {{{{"train.devices", devices}}}};
  if (devices.size() == 1) {
    request.axes.clear();
    request.training.emplace_back("train.devices", devices.front());
  }
  return Resolve(request, {std::move(classes), {}, {}});
}

TEST(Resolve, MeansTheClassesWithItsDevicesByAll) {
  const std::vector<std::string> classes = {"cpu-a", "nvidia-h100", "nvidia-h100-x4",
                                            "nvidia-h200-x4"};
  EXPECT_THAT(std::get<Sweep>(OnAll({int64_t{1}}, classes)).hardware,
              ElementsAre("cpu-a", "nvidia-h100"));
  EXPECT_THAT(std::get<Sweep>(OnAll({int64_t{4}}, classes)).hardware,
              ElementsAre("cpu-a", "nvidia-h100-x4", "nvidia-h200-x4"));
  EXPECT_THAT(std::get<Sweep>(OnAll({int64_t{1}, int64_t{4}}, classes)).hardware,
              ElementsAre("cpu-a"));
  EXPECT_EQ(
      Text(std::get<std::vector<Problem>>(OnAll({int64_t{2}}, {"nvidia-h100", "nvidia-h200-x4"}))),
      "hardware: all means the classes with as many devices as train.devices says, and there is "
      "none, only nvidia-h100, nvidia-h200-x4; noisefloor-worker --gpus-per-slot makes others");
}

TEST(Resolve, RefusesAClassWithAnotherNumberOfDevicesWhereverItIsNamed) {
  SweepRequest request = test::GoodRequest();
  request.training = {{"train.shards", int64_t{4}}, {"train.devices", int64_t{4}}};
  request.classes = {"cpu-a", "nvidia-h100-x4", "nvidia-h100-x2"};
  EXPECT_EQ(Text(std::get<std::vector<Problem>>(Resolve(request, {}))),
            "train.devices: 4 asked, nvidia-h100-x2 has 2 GPUs; expected 2, or the class "
            "nvidia-h100-x4");
  request.classes.pop_back();
  request.training.emplace_back("train.precision", std::string("tf32"));
  EXPECT_EQ(Text(std::get<std::vector<Problem>>(Resolve(request, {}))),
            "train.precision: tf32 is an arithmetic of GPUs, cpu-a has none; expected fp32, bf16, "
            "fp16 or fp64")
      << "what only the class can say is said of each kind of it";
  request.training.pop_back();
  const Sweep sweep = test::MustResolve(request);
  EXPECT_TRUE(HasDevicesOf(sweep, "nvidia-a100-x4"));
  EXPECT_FALSE(HasDevicesOf(sweep, "nvidia-a100"));
  EXPECT_EQ(DevicesOf(sweep, Expand(sweep).front()), 4);
}

TEST(Resolve, RefusesAllWhenNobodyIsConnected) {
  SweepRequest request = test::GoodRequest();
  request.hardware = HardwareKind::kAll;

  EXPECT_EQ(
      Text(std::get<std::vector<Problem>>(Resolve(request, {}))),
      "hardware: all means every class of the connected workers and of pools, and there is none; "
      "start a worker or name the classes");
}

TEST(Resolve, LeavesAnyHardwareAndStackOpen) {
  SweepRequest request = test::GoodRequest();
  request.hardware = HardwareKind::kAny;

  const Sweep sweep = test::MustResolve(request);

  EXPECT_THAT(sweep.hardware, ElementsAre(""));
  EXPECT_THAT(sweep.stacks, ElementsAre(""));
}

TEST(Resolve, TakesAWholeNumberWhereANumberIsExpected) {
  SweepRequest request = test::GoodRequest();
  request.axes = {{{{"train.optimizer.learning_rate", {int64_t{1}, 0.5}}}}};

  const Sweep sweep = test::MustResolve(request);

  EXPECT_EQ(sweep.axes[0].columns[0].values[0], SettingValue(1.0));
}

TEST(Resolve, StopsCountingProblemsAtAHundred) {
  SweepRequest request = test::GoodRequest();
  for (int i = 0; i < 500; ++i) request.training.push_back({"no." + std::to_string(i), int64_t{1}});

  EXPECT_EQ(std::get<std::vector<Problem>>(Resolve(request, {})).size(), 100u);
}

TEST(Resolve, BuildsAPlanOnItsBase) {
  SweepRequest request = test::GoodRequest();
  request.noise = {{"order held", "algo", {{"data_order", SourceState::kFixed}}}};

  const Sweep sweep = test::MustResolve(request);

  std::vector<SourceState> states;
  for (const LaneRule& rule : sweep.plans[0].rules) states.push_back(rule.state);
  EXPECT_THAT(states, ElementsAre(SourceState::kFree, SourceState::kFixed, SourceState::kFree,
                                  SourceState::kFree, SourceState::kOff, SourceState::kFixed,
                                  SourceState::kFixed, SourceState::kFixed, SourceState::kOff,
                                  SourceState::kOff, SourceState::kOff));
}

TEST(Resolve, KeepsTheShortestListOfLevelsThatSaysTheSame) {
  const auto kept = [](std::vector<uint32_t> levels) {
    SweepRequest request = test::GoodRequest();
    request.noise = {{"own", "", {{"init", SourceState::kFree, std::move(levels)}}}};
    return RuleOf(test::MustResolve(request).plans[0].rules, NoiseSource::kInit).levels;
  };
  EXPECT_THAT(kept({0, 1, 0, 1, 0, 1}), ElementsAre(0, 1));
  EXPECT_THAT(kept({0, 1, 0, 1, 0}), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(kept({0, 0, 1, 0, 0, 1}), ElementsAre(0, 0, 1));
  EXPECT_THAT(kept({0, 0, 1, 1}), ElementsAre(0, 0, 1, 1));
}

// A stack is known by what somebody told of its settings.
TEST(Resolve, TheSettingsAreThoseOfTheStack) {
  const auto forest = std::make_shared<const SettingsSchema>(
      std::vector<SettingRule>{{"forest.trees", SettingKind::kInt, "", 1, 9, {}, int64_t{4}}});
  Known known = test::TwoOfEach();
  known.stacks["forest"] = forest;
  SweepRequest request = test::GoodRequest();
  request.stacks = {"forest"};

  EXPECT_EQ(Text(std::get<std::vector<Problem>>(Resolve(request, known))),
            "train.epochs: unknown key train.epochs");
  request.training = {{"forest.trees", int64_t{7}}};
  const Sweep sweep = std::get<Sweep>(Resolve(request, known));
  EXPECT_EQ(sweep.base, (Settings{{"forest.trees", int64_t{7}}}));
  EXPECT_EQ(sweep.schema, forest->identity());
  request.stacks = {"forest", "s"};
  EXPECT_EQ(Text(std::get<std::vector<Problem>>(Resolve(request, known))),
            "stacks[1]: s has other settings than forest: one sweep cannot be for both; submit one "
            "for each");
  request.stacks = {"forests"};
  request.training = {};
  EXPECT_EQ(
      Text(std::get<std::vector<Problem>>(Resolve(request, known))),
      "stacks[0]: nobody has offered the stack forests here, so that its settings are not known; "
      "`noisefloor run --trainer \"forests=COMMAND\"` brings it, or a worker with that option; did "
      "you mean forest?");
  Known later = known;
  later.gone["forests"] = "worker w had it last, on 2026-01-02";
  EXPECT_EQ(Text(std::get<std::vector<Problem>>(Resolve(request, later))),
            "stacks[0]: nobody offers the stack forests any more: worker w had it last, on "
            "2026-01-02; `noisefloor run --trainer \"forests=COMMAND\"` brings it, or a worker "
            "with that option");
  EXPECT_EQ(StacksWith(known, *forest), std::vector<std::string>{"forest"});
  EXPECT_EQ(SchemaOf(known, "torch-2.11-cu130"), OwnSchema());
  EXPECT_EQ(SchemaOf(known, ""), OwnSchema());
}

}  // namespace
}  // namespace noisefloor::sweep
