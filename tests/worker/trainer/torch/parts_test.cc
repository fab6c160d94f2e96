// Optimiser, poke, switches, memory, threads of evaluation, dropout.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/philox.h"
#include "tests/worker/trainer/torch/formula.h"
#include "worker/trainer/torch/facts/switches.h"
#include "worker/trainer/torch/model/host_tensors.h"
#include "worker/trainer/torch/optim/optimizer.h"
#include "worker/trainer/torch/optim/poke.h"
#include "worker/trainer/torch/optim/update.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/memory.h"

namespace noisefloor::trainer {
namespace {

at::Tensor Numbers(const char* name, int64_t count) {
  const std::vector<double> values = FormulaNumbers(name, count);
  return at::from_blob(const_cast<double*>(values.data()), {count}, at::kDouble).to(at::kFloat);
}

TEST(OptimizerTest, FusedSgdIsThePlainFormulaToRounding) {
  at::Tensor weight = Numbers("w", 1000);
  const at::Tensor gradient = Numbers("g", 1000);
  at::Tensor plain = weight.to(at::kDouble);
  at::Tensor momentum = at::zeros_like(plain);
  Optimizer optimizer({.momentum = 0.9, .weight_decay = 0.01}, {weight});

  for (int step = 0; step < 5; ++step) {
    optimizer.Step({gradient}, 0.1);
    momentum = momentum * 0.9 + gradient.to(at::kDouble) + plain * 0.01;
    plain = plain - momentum * 0.1;
  }

  EXPECT_LT((weight.to(at::kDouble) - plain).abs().max().item<double>(), 1e-6);
}

TEST(OptimizerTest, FusedAdamIsThePlainFormulaToRounding) {
  at::Tensor weight = Numbers("w", 1000);
  const at::Tensor gradient = Numbers("g", 1000);
  const at::Tensor g = gradient.to(at::kDouble);
  at::Tensor plain = weight.to(at::kDouble);
  at::Tensor m = at::zeros_like(plain), v = at::zeros_like(plain);
  Optimizer optimizer({.name = "adam", .epsilon = 1e-3}, {weight});

  for (int step = 1; step <= 5; ++step) {
    optimizer.Step({gradient}, 0.01);
    m = m * 0.9 + g * 0.1;
    v = v * 0.999 + g * g * 0.001;
    const at::Tensor root = (v / (1 - std::pow(0.999, step))).sqrt() + 1e-3;
    plain = plain - (m / (1 - std::pow(0.9, step))) / root * 0.01;
  }

  EXPECT_LT((weight.to(at::kDouble) - plain).abs().max().item<double>(), 1e-6);
}

// cuDNN and LibTorch fill in the strides of a dimension with one element as they like.
TEST(OptimizerTest, StridesOfDimensionsWithOneElementDoNotMatter) {
  const at::Tensor narrow = Numbers("w", 12).view({4, 3, 1, 1});
  for (const at::Tensor& weight : {narrow, Numbers("v", 36).view({4, 1, 3, 3})}) {
    at::Tensor moved = weight.clone();
    at::Tensor same = weight.clone();
    const at::Tensor gradient = at::full_like(weight, 0.5);
    std::vector<int64_t> strides = gradient.strides().vec();
    for (size_t dim = 0; dim < strides.size(); ++dim) {
      if (gradient.size(static_cast<int64_t>(dim)) == 1) strides[dim] = 1000;
    }
    Optimizer({.momentum = 0.9}, {same}).Step({gradient}, 0.1);

    Optimizer({.momentum = 0.9}, {moved})
        .Step({gradient.as_strided(gradient.sizes(), strides)}, 0.1);

    EXPECT_TRUE(at::equal(moved, same));
    EXPECT_TRUE(at::allclose(moved, weight - 0.05));
  }
}

// Three steps, the state carried over to an optimiser just made, two more: the bits of five. The
// first step of SGD takes the gradient as momentum as it is, so its counter matters, too.
TEST(OptimizerTest, ItsStateCarriedOverGoesOnToTheSameBits) {
  for (const OptimizerSettings& settings :
       {OptimizerSettings{}, OptimizerSettings{.momentum = 0.9, .weight_decay = 0.01},
        OptimizerSettings{.momentum = 0.9, .nesterov = true}, OptimizerSettings{.name = "adam"},
        OptimizerSettings{.name = "adamw", .weight_decay = 0.01},
        OptimizerSettings{.formula = "keras", .momentum = 0.9, .nesterov = true},
        OptimizerSettings{.name = "adam", .formula = "keras"}}) {
    at::Tensor whole = Numbers("w", 1000);
    at::Tensor first = whole.clone();
    Optimizer undisturbed(settings, {whole});
    Optimizer before(settings, {first});
    for (int step = 0; step < 3; ++step) {
      const at::Tensor gradient = Numbers("g", 1000) * (step + 1);
      undisturbed.Step({gradient}, 0.1);
      before.Step({gradient}, 0.1);
    }
    at::Tensor second = first.clone();
    Optimizer after(settings, {second});
    OptimizerState state;
    before.Export(state);
    ASSERT_TRUE(after.Import(state).ok());
    for (int step = 3; step < 5; ++step) {
      const at::Tensor gradient = Numbers("g", 1000) * (step + 1);
      undisturbed.Step({gradient}, 0.1);
      after.Step({gradient}, 0.1);
    }
    EXPECT_TRUE(at::equal(whole, second)) << settings.name << " " << settings.momentum;
  }
}

// Of a state that does not fit nothing is taken.
TEST(UpdateTest, AStateOfAnotherKindIsRefusedWhole) {
  TrainSettings train;
  train.optimizer.momentum = 0.9;
  train.precision = "fp16";
  const at::Tensor weight = Numbers("w", 10);
  Update update(train, {weight}, {});
  const auto refused = [&](const std::function<void(OptimizerState&)>& change) {
    OptimizerState state = update.Export();
    state.tensors = {{"first/0", at::ones({10})}};
    state.counters["skipped"] = 5;
    change(state);
    const absl::Status status = update.Import(state);
    EXPECT_EQ(update.skipped(), 0);
    EXPECT_TRUE(at::equal(update.Export().tensors[0].value, at::zeros({10})));
    return Message(status);
  };
  EXPECT_EQ(refused([](OptimizerState& s) { s.counters["steps"] = -1; }), "steps: below 0");
  EXPECT_EQ(refused([](OptimizerState& s) { s.counters.erase("scale_steps"); }),
            "scale_steps: missing");
  EXPECT_EQ(refused([](OptimizerState& s) { s.counters["averaged"] = 1; }),
            "it has more than these settings keep");
  EXPECT_EQ(refused([](OptimizerState& s) {
              s.tensors.push_back({"second/0", at::ones({10})});
            }),
            "it has more than these settings keep");
  EXPECT_EQ(refused([](OptimizerState& s) { s.tensors[0].value = at::ones({10}, at::kDouble); }),
            "first/0: of another shape or type than the parameter's");
  OptimizerState below = update.Export();
  below.counters["scale_exponent"] = -3;
  EXPECT_TRUE(update.Import(below).ok());
  EXPECT_EQ(update.loss_scale(), train.loss_scale.initial / 8);
}

TEST(OptimizerDeathTest, AnotherMemoryLayoutIsABug) {
  at::Tensor weight = Numbers("w", 36).view({4, 1, 3, 3});
  const at::Tensor turned = weight.transpose(2, 3);
  EXPECT_DEATH(Optimizer({}, {weight}).Step({turned}, 0.1), "SameLayout");
}

Specification PokeSpecification(SourceState state) {
  Specification specification;
  specification.Source(NoiseSource::kPoke) = {state, {0, 3}, 1234};
  specification.sources.poke_element = 5;
  return specification;
}

std::unique_ptr<Model> FormulaModel() {
  auto model = MakeModel({.name = "small_cnn", .batch_norm = false}, {3, 32, 32, 10}, at::kCPU);
  SetByFormula(*model);
  return model;
}

TEST(PokeTest, MovesOneElementInLogicalOrderByOneUlpAwayFromZero) {
  const auto model = FormulaModel();
  const std::vector<float> before = HostValues(model->parameters()[0].value);
  const auto poke = ResolvePoke(PokeSpecification(SourceState::kFixed), *model);
  ASSERT_TRUE(poke.ok());
  EXPECT_EQ(poke->parameter, "conv1.weight");

  ApplyPoke(*poke, *model);

  const std::vector<float> after = HostValues(model->parameters()[0].value);
  for (size_t i = 0; i < before.size(); ++i) {
    const float away = std::copysign(INFINITY, before[i]);
    EXPECT_EQ(after[i], i == 5 ? std::nextafterf(before[i], away) : before[i]) << i;
  }
}

TEST(PokeTest, MovesADoubleToTheNextDouble) {
  const auto model = FormulaModel();
  model->ToType(at::kDouble);
  const auto element = [&] {
    return model->parameters()[0].value.detach().flatten()[5].item<double>();
  };
  const double before = element();

  ApplyPoke({.on = true, .parameter = "conv1.weight", .element = 5}, *model);

  EXPECT_NE(before, 0);
  EXPECT_EQ(element(), std::nextafter(before, before < 0 ? -2.0 : 2.0));
}

TEST(PokeTest, OffDoesNothingFreeDrawsTheElementFromItsSeed) {
  const auto model = FormulaModel();
  EXPECT_FALSE(ResolvePoke(PokeSpecification(SourceState::kOff), *model)->on);
  Specification free = PokeSpecification(SourceState::kFree);
  const int64_t first = ResolvePoke(free, *model)->element;
  free.Source(NoiseSource::kPoke).seed = 99;
  EXPECT_NE(ResolvePoke(free, *model)->element, first);
}

TEST(PokeTest, FreeReachesEveryElementOfTheParameter) {
  const auto model = FormulaModel();  // 432 elements in conv1.weight.
  Specification free = PokeSpecification(SourceState::kFree);
  std::set<int64_t> drawn;
  for (uint64_t seed = 0; seed < 8000; ++seed) {
    free.Source(NoiseSource::kPoke).seed = seed;
    const int64_t element = ResolvePoke(free, *model)->element;
    const PhiloxCounter words = PhiloxStream(seed, 0).Block(0);
    const auto bits = static_cast<unsigned __int128>(words[1]) << 32 | words[0];
    ASSERT_EQ(element, static_cast<int64_t>(bits * 432 >> 64)) << seed;
    drawn.insert(element);
  }
  EXPECT_EQ(drawn.size(), 432u);
}

// In the order of the network it is another one.
TEST(PokeTest, WithoutAParameterItIsTheFirstWeightByName) {
  const auto model = MakeModel({.name = "vit"}, {3, 32, 32, 10}, at::kCPU);
  std::vector<std::string> names;
  for (const NamedTensor& parameter : model->parameters()) {
    if (parameter.value.dim() > 1) names.push_back(parameter.name);
  }
  ASSERT_EQ(names.front(), "patches.weight");
  EXPECT_EQ(ResolvePoke(PokeSpecification(SourceState::kFixed), *model)->parameter,
            *std::ranges::min_element(names));
}

TEST(PokeTest, UnknownParameterAndElementAreRefusedByName) {
  const auto model = FormulaModel();
  Specification specification = PokeSpecification(SourceState::kFixed);
  specification.sources.poke_element = 432;
  EXPECT_EQ(Message(ResolvePoke(specification, *model).status()),
            "sources.poke.element: 432, but 'conv1.weight' has 432 elements");
  specification.sources.poke_parameter = "conv9.weight";
  EXPECT_EQ(Message(ResolvePoke(specification, *model).status()),
            "sources.poke.parameter: the model has no parameter 'conv9.weight'; its first is "
            "'conv1.weight'");
}

std::string ReadOf(const std::vector<SwitchReading>& readings, const std::string& name) {
  for (const SwitchReading& reading : readings) {
    if (reading.name == name) return reading.read;
  }
  return "missing";
}

TEST(SwitchesTest, EverySwitchReadsAsAskedInEachPlan) {
  for (const bool deterministic : {false, true}) {
    for (const bool autotune : {true, false}) {
      const auto readings =
          SetSwitches({.deterministic = deterministic, .autotune = autotune, .threads = 1});
      EXPECT_TRUE(CheckReadings(readings).ok()) << Message(CheckReadings(readings));
      EXPECT_GE(readings.size(), 25u);
      EXPECT_EQ(ReadOf(readings, "deterministic_algorithms"), deterministic ? "on" : "off");
      EXPECT_EQ(ReadOf(readings, "cudnn_benchmark"), autotune ? "on" : "off");
    }
  }
}

// What each switch must say, whatever is asked for: a wrong wish that is granted is wrong, too.
TEST(SwitchesTest, EverySwitchHasTheValueThatTheReadmePromises) {
  for (const bool deterministic : {false, true}) {
    for (const bool autotune : {true, false}) {
      const std::string fixed = deterministic ? "on" : "off";
      const std::map<std::string, std::string> expected = {
          {"deterministic_algorithms", fixed},
          {"deterministic_warn_only", "off"},
          {"fill_uninitialised_memory", "off"},
          {"onednn_deterministic", fixed},
          {"onednn", "on"},
          {"nnpack", "off"},
          {"fp16_reduction_cpu", "off"},
          {"cudnn", "on"},
          {"cudnn_deterministic", fixed},
          {"cudnn_benchmark", autotune ? "on" : "off"},
          {"cudnn_benchmark_limit", "10"},
          {"float32_matmul_precision", "highest"},
          {"tf32_cublas", "off"},
          {"tf32_cudnn", "off"},
          {"tf32_onednn", "off"},
          {"fp16_reduction_cublas", "off"},
          {"bf16_reduction_cublas", "off"},
          {"fp16_accumulation_cublas", "off"},
          {"sdp_math", "on"},
          {"sdp_flash", "off"},
          {"sdp_memory_efficient", "off"},
          {"sdp_cudnn", "off"},
          {"sdp_overrideable", "off"},
          {"sdp_reduced_precision", "off"},
          {"flush_denormals", "off"},
          {"threads", "2"},
          {"threads_between_operations", "1"},
          {"aten_cpu_capability", at::get_cpu_capability()},
      };
      std::map<std::string, std::string> asked, read;
      for (const SwitchReading& reading : SetSwitches({.deterministic = deterministic,
                                          .autotune = autotune,
                                          .threads = 2,
                                          .aten_capability = at::get_cpu_capability()})) {
        asked[reading.name] = reading.asked;
        read[reading.name] = reading.read;
      }
      EXPECT_EQ(asked, expected);
      EXPECT_EQ(read, expected);
    }
  }
  at::set_num_threads(1);
}

TEST(SwitchesTest, AReadingThatDiffersIsRefusedByName) {
  const std::string impossible = "AVX1024";
  const auto readings = SetSwitches({.threads = 1, .aten_capability = impossible});
  EXPECT_EQ(Message(CheckReadings(readings)),
            "switch aten_cpu_capability: asked AVX1024, reads " + at::get_cpu_capability());
}

TEST(SwitchesTest, FreeSourcesLetKernelsAndAutotuneGo) {
  Specification specification;
  EXPECT_TRUE(PlanSwitches(specification, 2).deterministic);
  EXPECT_FALSE(PlanSwitches(specification, 2).autotune);
  specification.Source(NoiseSource::kKernels).state = SourceState::kFree;
  specification.Source(NoiseSource::kAutotune).state = SourceState::kFree;
  EXPECT_FALSE(PlanSwitches(specification, 2).deterministic);
  EXPECT_TRUE(PlanSwitches(specification, 2).autotune);
}

TEST(MemoryTest, BlocksAreAlignedWritableAndKeptForTheSameSize) {
  UseKeptMemory();
  for (const int64_t bytes : {1, 100, 65536, 1 << 20, (1 << 22) + 5}) {
    at::Tensor tensor = at::empty({bytes}, at::kByte);
    void* data = tensor.mutable_data_ptr();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    std::memset(data, 0xAB, static_cast<size_t>(bytes));
    tensor = at::Tensor();
    if (bytes < 65536) continue;
    const at::Tensor again = at::empty({bytes}, at::kByte);
    EXPECT_EQ(again.const_data_ptr(), data) << bytes;
  }
  ReleaseKeptMemory();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 200; ++n) at::full({n * 1000 + 1}, 1.0f);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Leaves a process with a block that is kept, and with less room than another one takes.
[[noreturn]] void AskForWhatIsKept() {
  constexpr int64_t kBytes = int64_t{1} << 28;
  UseKeptMemory();
  at::empty({kBytes}, at::kByte);
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t used = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  limit.rlim_cur = used + kBytes / 4;
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  std::_Exit(at::empty({kBytes / 4 * 3}, at::kByte).numel() > 0 ? 0 : 3);
}

TEST(MemoryDeathTest, WhatIsKeptIsGivenBackForWhatFindsNoRoom) {
  EXPECT_EXIT(AskForWhatIsKept(), testing::ExitedWithCode(0), "");
}

// Says on which threads it was asked.
class Witness final : public Model {
 public:
  at::Tensor Forward(const at::Tensor& images, const ForwardPass&) const override {
    MutexLock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    return at::zeros({images.size(0), 2});
  }
  std::set<std::thread::id> Asked() const {
    MutexLock lock(mutex_);
    return threads_;
  }

 private:
  mutable Mutex mutex_;
  mutable std::set<std::thread::id> threads_ ABSL_GUARDED_BY(mutex_);
};

// Two by two pixels; six images.
class EvaluatorTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<float>> Predict(const EvaluationPlan& plan, const Model& model) {
    return PredictOn(team_, plan, model);
  }
  absl::StatusOr<std::vector<float>> PredictOn(ThreadTeam& team, const EvaluationPlan& plan,
                                               const Model& model) {
    return Evaluator(plan, split_, augmenter_, team).Predict(model, 2, at::kCPU);
  }

 private:
  const ImageShape shape_{1, 2, 2};
  const Split split_{shape_, std::vector<uint8_t>(6 * 4), std::vector<int64_t>(6)};
  const Augmenter augmenter_{shape_, {}, Layout::kNhwc};
  ThreadTeam team_{1, [] {}};
};

TEST_F(EvaluatorTest, UsesThreadsThatHaveNotTrainedWhenItIsTold) {
  const std::thread::id trains = std::this_thread::get_id();
  const Witness same, fresh;

  EXPECT_EQ(*Predict({.batch_size = 2}, same), std::vector<float>(12));
  EXPECT_EQ(*Predict({.batch_size = 2, .fresh_threads = true}, fresh), std::vector<float>(12));

  EXPECT_TRUE(same.Asked().contains(trains));
  EXPECT_FALSE(fresh.Asked().empty());
  EXPECT_FALSE(fresh.Asked().contains(trains));
}

// Another thread chooses another number in the middle, as a rank does that has no batch.
class Disturbed final : public Model {
 public:
  at::Tensor Forward(const at::Tensor& images, const ForwardPass&) const override {
    std::thread([] { at::set_num_threads(3); }).join();
    at::parallel_for(0, 8, 1, [](int64_t, int64_t) {});
    threads_ = at::get_num_threads();
    return at::zeros({images.size(0), 2});
  }
  int threads() const { return threads_; }

 private:
  mutable int threads_ = 0;
};

TEST_F(EvaluatorTest, TheNumberOfThreadsIsItsOwnOnThreadsThatHaveNotWorkedYet) {
  const int before = at::get_num_threads();
  const Disturbed model;
  EXPECT_TRUE(Predict({.batch_size = 6, .threads = 1, .fresh_threads = true}, model).ok());
  at::set_num_threads(before);
  EXPECT_EQ(model.threads(), 1);
}

// Training goes on with its own number on every thread of the team.
TEST_F(EvaluatorTest, ThreadsGoBackToTheNumberThatTrains) {
  const int before = at::get_num_threads();
  ThreadTeam team(2, [] {});
  const Witness model;
  EXPECT_TRUE(
      PredictOn(team, {.batch_size = 3, .threads = 1, .training = {.threads = 3}}, model).ok());
  std::vector<int> threads(2);
  team.Run([&](int64_t rank) { threads[static_cast<size_t>(rank)] = at::get_num_threads(); });
  at::set_num_threads(before);
  EXPECT_EQ(threads, (std::vector<int>{3, 3}));
}

// Says whether kernels are fixed while it is asked.
class KernelWitness final : public Model {
 public:
  at::Tensor Forward(const at::Tensor& images, const ForwardPass&) const override {
    fixed_ = at::globalContext().deterministicAlgorithms() &&
             at::globalContext().deterministicCuDNN() && !at::globalContext().benchmarkCuDNN();
    warns_ = at::globalContext().deterministicAlgorithmsWarnOnly();
    return at::zeros({images.size(0), 2});
  }
  bool fixed() const { return fixed_; }
  bool warns() const { return warns_; }

 private:
  mutable bool fixed_ = false, warns_ = false;
};

TEST_F(EvaluatorTest, KernelsThatAreFreeForTrainingAreFixedForTests) {
  const SwitchPlan free{.deterministic = false, .autotune = true, .threads = 1};
  const KernelWitness witness;
  EXPECT_TRUE(Predict({.batch_size = 6, .training = free}, witness).ok());
  EXPECT_TRUE(witness.fixed());
  EXPECT_TRUE(witness.warns()) << "without the variable that vouches for cuBLAS";
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms()) << "training goes on";
  EXPECT_TRUE(at::globalContext().benchmarkCuDNN());
  EXPECT_TRUE(Predict({.batch_size = 6, .training = {.threads = 1}}, witness).ok());
  EXPECT_TRUE(witness.fixed());
  EXPECT_FALSE(witness.warns()) << "what does not repeat is no test";
  EXPECT_TRUE(CheckReadings(SetSwitches({.threads = 1})).ok());
}

TEST_F(EvaluatorTest, ASwitchThatReadsOtherwiseIsAnErrorAndNothingIsPredicted) {
  const Witness witness;
  const auto logits = Predict({.training = {.aten_capability = "AVX1024"}}, witness);
  EXPECT_EQ(logits.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Message(logits.status()),
            "switch aten_cpu_capability: asked AVX1024, reads " + at::get_cpu_capability());
  EXPECT_TRUE(witness.Asked().empty());
}

// Neither by its gradient nor by weight decay; the other parameter moves.
TEST(OptimizerTest, ARateOfZeroLeavesAParameterAlone) {
  for (const std::string name : {"sgd", "adam", "adamw"}) {
    for (const std::string formula : {"torch", "keras"}) {
      const at::Tensor still = Numbers("still", 20), moves = Numbers("moves", 20);
      const at::Tensor before = still.clone(), was = moves.clone();
      Optimizer optimizer({.name = name,
                           .formula = formula,
                           .momentum = name == "sgd" ? 0.9 : 0.0,
                           .weight_decay = 0.1},
                          {still, moves}, {0, 1});
      for (int step = 0; step < 3; ++step) {
        optimizer.Step({Numbers("g", 20), Numbers("h", 20)}, 0.1);
      }
      EXPECT_TRUE(at::equal(still, before)) << name << " " << formula;
      EXPECT_FALSE(at::equal(moves, was)) << name << " " << formula;
    }
  }
}

TEST(DropoutTest, MasksFollowLogicalOrderWhateverTheMemoryLayout) {
  const Dropout dropout{"dropout1", 0.5};
  const ForwardPass pass{.training = true, .step = 2, .dropout = DropoutDraws(9)};
  const at::Tensor plain = at::ones({4, 3, 5, 5});
  const at::Tensor last = plain.contiguous(at::MemoryFormat::ChannelsLast);

  const at::Tensor masked = dropout(last, pass);

  EXPECT_TRUE(at::equal(dropout(plain, pass), masked));
  EXPECT_TRUE(masked.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::equal(dropout(plain, {.training = false}), plain));
  const double kept = masked.gt(0).to(at::kFloat).mean().item<double>();
  EXPECT_NEAR(kept, 0.5, 0.1);
}

}  // namespace
}  // namespace noisefloor::trainer
