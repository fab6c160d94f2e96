// Optimisers, clipping, averages, loss scales and precisions against what Python computes
// (optim_reference/*.json, made by make_optim_reference.py and, of Keras, make_keras_reference.py).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/trainer_protocol/json_reader.h"
#include "tests/worker/trainer/torch/formula.h"
#include "worker/trainer/torch/model/host_tensors.h"
#include "worker/trainer/torch/model/precision.h"
#include "worker/trainer/torch/optim/update.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {
namespace {

using Tensors = std::vector<at::Tensor>;

Json Reference(const std::string& name) {
  std::ifstream file(ReferenceFolder() + "optim_reference/" + name + ".json");
  return Json::parse(file);
}

Tensors FormulaTensors(const std::string& prefix) {
  Tensors tensors;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{5, 7}, std::vector<int64_t>{6}}) {
    const std::string name = prefix + "/" + std::to_string(tensors.size());
    const at::Tensor tensor = at::empty(shape, at::kDouble);
    const std::vector<double> values = FormulaNumbers(name, tensor.numel());
    std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<double>());
    tensors.push_back(tensor);
  }
  return tensors;
}

TrainSettings SettingsOf(const Json& json) {
  TrainSettings train;
  train.clip_norm = json.value("clip_norm", 0.0);
  train.average_decay = json.value("average_decay", 0.0);
  train.optimizer = {.name = json["name"],
                     .formula = json.value("formula", "torch"),
                     .momentum = json.value("momentum", 0.0),
                     .nesterov = json.value("nesterov", false),
                     .bias_rate = json.value("bias_rate", 1.0),
                     .weight_decay = json.value("weight_decay", 0.0),
                     .decayed = json.value("decayed", "all"),
                     .beta1 = json.value("beta1", 0.9),
                     .beta2 = json.value("beta2", 0.999),
                     .epsilon = json.value("epsilon", 1e-7)};
  return train;
}

const std::vector<double> kRates = {0.1, 0.1, 0.05, 0.05, 0.02, 0.01, 0.01};

void ExpectNear(const Tensors& tensors, const Json& expected, double limit) {
  std::vector<double> values;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor host = tensor.contiguous();
    values.insert(values.end(), host.const_data_ptr<double>(),
                  host.const_data_ptr<double>() + host.numel());
  }
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i].get<double>(), limit) << "element " << i;
  }
}

// In double the formulas' differences are those of the order of operations alone.
void ExpectSteps(const Json& one) {
  SCOPED_TRACE(one.dump().substr(0, 120));
  const Tensors weights = FormulaTensors("weight");
  const TrainSettings train = SettingsOf(one);
  Tensors averages;
  if (train.average_decay > 0) averages = FormulaTensors("weight");
  Update update(train, weights, averages, {1, train.optimizer.bias_rate});  // The vector is a bias.
  const Tensors& shown = averages.empty() ? weights : averages;
  for (size_t step = 0; step < kRates.size(); ++step) {
    update.Step(FormulaTensors("gradient/" + std::to_string(step)), kRates[step]);
    if (step == 0) ExpectNear(shown, one["after"][0], 1e-13);
  }
  ExpectNear(shown, one["after"][1], 1e-12);
}

TEST(OptimReferenceTest, StepsInDoubleAreThoseOfPyTorch) {
  const Json cases = Reference("optimizers");
  EXPECT_EQ(cases.size(), 9u);
  for (const Json& one : cases) ExpectSteps(one);
}

TEST(OptimReferenceTest, StepsInDoubleAreThoseOfKeras) {
  const Json cases = Reference("keras_optimizers");
  EXPECT_EQ(cases.size(), 4u);
  for (const Json& one : cases) ExpectSteps(one);
}

// Coupled decay is not Keras' own: its L2 regularisers add the same to the gradient.
TEST(OptimReferenceTest, KerasFormulasTakeCoupledDecayAsPartOfTheGradient) {
  for (const std::string name : {"sgd", "adam"}) {
    TrainSettings train;
    train.optimizer = {.name = name, .formula = "keras", .momentum = name == "sgd" ? 0.9 : 0.0};
    const Tensors plain = FormulaTensors("weight"), decayed = FormulaTensors("weight");
    Update without(train, plain, {});
    train.optimizer.weight_decay = 0.25;
    train.optimizer.decayed = "matrices";
    Update with(train, decayed, {});
    for (int step = 0; step < 3; ++step) {
      Tensors gradients = FormulaTensors("gradient/0");
      gradients[0] = gradients[0] + plain[0] * 0.25;  // The matrix alone.
      without.Step(gradients, 0.1);
      with.Step(FormulaTensors("gradient/0"), 0.1);
    }
    for (size_t i = 0; i < plain.size(); ++i) {
      EXPECT_LT((plain[i] - decayed[i]).abs().max().item<double>(), 1e-14) << name << i;
    }
  }
}

TEST(OptimReferenceTest, LossScaleAndSkippedStepsAreThoseOfGradScaler) {
  const at::Tensor weight = at::ones({3});
  TrainSettings train;
  train.precision = "fp16";
  train.loss_scale = {.initial = 1024, .growth_interval = 2};
  Update update(train, {weight}, {});
  int64_t step = 0;
  for (const Json& row : Reference("loss_scale")) {
    EXPECT_EQ(update.loss_scale(), row["scale"].get<double>()) << step;
    const std::vector<double> numbers = FormulaNumbers("scaled/" + std::to_string(step), 3);
    at::Tensor gradient =
        at::tensor(at::ArrayRef<double>(numbers)).to(at::kFloat) * update.loss_scale();
    if (step == 1 || step == 2 || step == 6) gradient = gradient * INFINITY;
    update.Step({gradient}, 0.5);
    for (int64_t i = 0; i < 3; ++i) {  // To the bit: scales are powers of two.
      EXPECT_EQ(weight[i].item<float>(), row["weights"][i].get<float>()) << step;
    }
    ++step;
  }
  EXPECT_EQ(step, 9);
  EXPECT_EQ(update.skipped(), 3);
}

TEST(LossScaleTest, StopsAtTheLargestFloat) {
  LossScale scale({.initial = 65536, .growth_interval = 1});
  for (int i = 0; i < 1000; ++i) scale.After(/*finite=*/true);
  EXPECT_EQ(scale.scale(), std::ldexp(1.0, 127));
}

// The limit is the gradient's own, not that of what the scale made of it.
TEST(UpdateTest, AGradientIsClippedWithoutItsScale) {
  TrainSettings train;
  train.precision = "fp16";
  train.loss_scale.initial = 1024;
  train.clip_norm = 1;
  const at::Tensor weight = at::zeros({2});
  Update update(train, {weight}, {});
  update.Step({at::tensor({3.0f * 1024, 4.0f * 1024})}, 1.0);  // Of norm 5.
  EXPECT_NEAR(weight[0].item<float>(), -0.6, 1e-5);
  EXPECT_NEAR(weight[1].item<float>(), -0.8, 1e-5);
  update.Step({at::tensor({0.0f, 0.5f * 1024})}, 1.0);  // Within the limit.
  EXPECT_NEAR(weight[0].item<float>(), -0.6, 1e-5);
  EXPECT_NEAR(weight[1].item<float>(), -1.3, 1e-5);
}

TEST(UpdateTest, WhatIsExportedGoesOnToTheSameBits) {
  for (const std::string name : {"sgd", "adam", "adamw"}) {
    TrainSettings train;
    train.precision = "fp16";
    train.loss_scale = {.initial = 256, .growth_interval = 2};
    train.clip_norm = 100;
    train.average_decay = 0.9;
    train.optimizer = {.name = name, .momentum = name == "sgd" ? 0.9 : 0.0};
    const auto floats = [](const std::string& prefix) {
      Tensors tensors = FormulaTensors(prefix);
      for (at::Tensor& tensor : tensors) tensor = tensor.to(at::kFloat);
      return tensors;
    };
    const Tensors weights = floats("weight"), averages = floats("weight");
    Update update(train, weights, averages);
    for (int step = 0; step < 3; ++step) update.Step(floats("gradient/0"), 0.1);

    OptimizerState state = update.Export();
    for (NamedTensor& tensor : state.tensors) tensor.value = tensor.value.clone();
    const Tensors resumed = {weights[0].clone(), weights[1].clone()};
    const Tensors averaged = floats("gradient/1");  // Any: the state has them.
    Update again(train, resumed, averaged);
    ASSERT_TRUE(again.Import(state).ok());

    EXPECT_EQ(again.loss_scale(), update.loss_scale());
    for (int step = 0; step < 3; ++step) {
      update.Step(floats("gradient/2"), 0.05);
      again.Step(floats("gradient/2"), 0.05);
    }
    EXPECT_EQ(again.loss_scale(), update.loss_scale());
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_TRUE(at::equal(weights[i], resumed[i])) << name;
      EXPECT_TRUE(at::equal(averages[i], averaged[i])) << name;
    }
    state.tensors.pop_back();
    EXPECT_EQ(Message(again.Import(state)), "average/1: missing");
    state.counters.erase("steps");
    EXPECT_EQ(Message(again.Import(state)), "steps: missing");
  }
}

// Loss and gradients of the first step and all weights after two, by the trainer's own parts.
struct Trained {
  double loss = 0;
  std::vector<NamedTensor> gradients, after;
};

Trained TrainAsReference(const Json& json, const std::string& precision) {
  at::set_num_threads(1);
  const ModelShape shape{json["channels"], json["side"], json["side"], 10};
  const ModelSettings settings{.name = json["model"],
                               .batch_norm = json["batch_norm"],
                               .hidden = json.value("hidden", int64_t{128})};
  const auto model = MakeModel(settings, shape, at::kCPU);
  model->ToType(WeightTypeOf(precision));
  SetByFormula(*model);
  GradientShards shards({.layers = LayerTypeOf(precision)}, Replicas(settings, shape, *model));
  TrainSettings train = SettingsOf(json["optimizer"]);
  train.precision = precision;
  train.loss_scale.initial = 1024;
  Update update(train, model->ParameterTensors(), {});
  const at::Tensor images = FormulaImages(8, shape.channels, shape.height);
  const at::Tensor labels = FormulaLabels(8);
  Trained trained;
  for (int64_t step = 0; step < 2; ++step) {
    const Tensors& gradients = shards.Compute(
        8, step,
        [&](int64_t first, int64_t count, size_t) {
          return Examples{images.narrow(0, first, count), labels.narrow(0, first, count)};
        },
        update.loss_scale());
    if (step == 0) {
      trained.loss = shards.loss().item<double>();
      for (size_t i = 0; i < gradients.size(); ++i) {
        trained.gradients.push_back(
            {model->parameters()[i].name, gradients[i] / update.loss_scale()});
      }
    }
    update.Step(gradients, json["learning_rate"]);
    shards.UpdateRunningStatistics();
  }
  trained.after = model->parameters();
  trained.after.insert(trained.after.end(), model->buffers().begin(), model->buffers().end());
  return trained;
}

// The largest difference of the norm and of six samples, in units of the root mean square.
double WorstDifferenceOf(const at::Tensor& tensor, const Json& expected) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous().flatten();
  const double norm = expected["norm"];
  const double unit = std::max(norm / std::sqrt(static_cast<double>(flat.numel())), 1e-9);
  double worst = std::abs(flat.norm().item<double>() - norm) / unit;
  const int64_t apart = std::max<int64_t>(1, flat.numel() / 6);
  for (size_t i = 0; i < expected["samples"].size(); ++i) {
    const double value = flat[static_cast<int64_t>(i) * apart].item<double>();
    worst = std::max(worst, std::abs(value - expected["samples"][i].get<double>()) / unit);
  }
  return worst;
}

struct Limits {
  double loss, gradient, after;
};

// In double only the order of sums differs. In the low precisions processors sum in different
// orders and round each layer to 8 or 11 bits, so that values near a boundary fall to either side
// of it and ReLUs switch: the gradients of a batch of 8 differ by some per cent of their size.
Limits LimitsOf(const std::string& precision) {
  if (precision == "fp64") return {1e-13, 1e-10, 1e-11};
  if (precision == "bf16") return {2e-2, 0.5, 0.05};
  return {2e-3, 0.1, 0.01};
}

TEST(OptimReferenceTest, NetworksInEachPrecisionAreThoseOfPyTorch) {
  const Json cases = Reference("networks");
  EXPECT_EQ(cases.size(), 9u);
  for (const Json& one : cases) {
    const std::string precision = one["precision"];
    SCOPED_TRACE(one["model"].get<std::string>() + " " + precision);
    Limits limits = LimitsOf(precision);
    if (one["model"] == "vit") limits.gradient *= 3;  // 38 layers round one after the other.
    const Trained trained = TrainAsReference(one, precision);

    EXPECT_NEAR(trained.loss, one["loss"].get<double>(), limits.loss);
    EXPECT_EQ(trained.gradients.size(), one["gradients"].size());
    for (const NamedTensor& gradient : trained.gradients) {
      EXPECT_EQ(gradient.value.scalar_type(), WeightTypeOf(precision)) << gradient.name;
      const Json& expected = one["gradients"][gradient.name];
      // The bias of a convolution before batch norm has no gradient but rounding.
      if (one["batch_norm"] && gradient.name.starts_with("conv") &&
          gradient.name.ends_with(".bias")) {
        continue;
      }
      EXPECT_LT(WorstDifferenceOf(gradient.value, expected), limits.gradient) << gradient.name;
    }
    EXPECT_EQ(trained.after.size(), one["after"].size());
    for (const NamedTensor& tensor : trained.after) {
      EXPECT_LT(WorstDifferenceOf(tensor.value, one["after"][tensor.name]), limits.after)
          << tensor.name;
    }
  }
}

// The same process variables, processor and libraries on both sides: the same operations in the
// same types give the same bits.
TEST(OptimReferenceTest, GradientsInBf16AreThoseOfPythonsAutocastBitForBit) {
  const char* python = std::getenv("NOISEFLOOR_PYTHON_TORCH");
  if (python == nullptr)
    GTEST_SKIP() << "SKIPPED: set NOISEFLOOR_PYTHON_TORCH to a Python with torch";
  const std::string path = testing::TempDir() + "/bf16_bits.json";
  const std::string command =
      std::string(python) + " " + ReferenceFolder() + "make_optim_reference.py --bits " + path;
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(path);
  const Json bits = Json::parse(file);
  const Json cases = Reference("networks");
  for (size_t i = 0; i < bits.size(); ++i) {
    const Trained trained = TrainAsReference(cases[3 * i], "bf16");
    for (const NamedTensor& gradient : trained.gradients) {
      const auto theirs = bits[i][gradient.name].get<std::vector<int32_t>>();
      const auto ours = HostValues(gradient.value);
      ASSERT_EQ(ours.size(), theirs.size()) << gradient.name;
      size_t others = 0;
      for (size_t k = 0; k < theirs.size(); ++k) {
        others += std::bit_cast<int32_t>(ours[k]) != theirs[k] ? 1 : 0;
      }
      // Sums of heads that lie elsewhere may be made in another order: a value at the edge.
      EXPECT_LE(others, cases[3 * i]["model"] == "vit" ? theirs.size() / 1000 : 0) << gradient.name;
    }
  }
}

TEST(OptimReferenceTest, ScriptMakesTheSameFilesAgain) {
  const char* python = std::getenv("NOISEFLOOR_PYTHON_TORCH");
  if (python == nullptr)
    GTEST_SKIP() << "SKIPPED: set NOISEFLOOR_PYTHON_TORCH to a Python with torch";
  const std::string folder = testing::TempDir() + "/optim_reference_again";
  std::filesystem::create_directories(folder);
  const std::string command =
      std::string(python) + " " + ReferenceFolder() + "make_optim_reference.py " + folder;
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  for (const char* name : {"optimizers", "schedules"}) {
    std::ifstream file(folder + "/" + name + ".json");
    const Json fresh = Json::parse(file).flatten(), old = Reference(name).flatten();
    ASSERT_EQ(old.size(), fresh.size());
    for (const auto& [path, value] : old.items()) {
      if (!value.is_number_float()) {
        EXPECT_EQ(value, fresh[path]) << name << path;
        continue;
      }
      EXPECT_NEAR(value.get<double>(), fresh[path].get<double>(), 1e-12) << name << path;
    }
  }
}

// Says whether convolutions of a GPU may round to TF32 while it is asked.
class PrecisionWitness final : public Model {
 public:
  at::Tensor Forward(const at::Tensor& images, const ForwardPass&) const override {
    const at::Context& context = at::globalContext();
    seen_ = context.allowTF32CuDNN() || context.allowTF32CuBLAS();
    return at::zeros({images.size(0), 2});
  }
  bool seen() const { return seen_; }

 private:
  mutable bool seen_ = true;
};

TEST(PrecisionTest, Tf32IsOnForTrainingAndOffForTests) {
  const SwitchPlan plan{.tf32 = true, .threads = 1};
  const auto readings = SetSwitches(plan);
  EXPECT_TRUE(CheckReadings(readings).ok()) << Message(CheckReadings(readings));
  for (const SwitchReading& reading : readings) {
    if (reading.name == "float32_matmul_precision") {
      EXPECT_EQ(reading.read, "high");
    }
    if (reading.name == "tf32_cublas" || reading.name == "tf32_cudnn") {
      EXPECT_EQ(reading.read, "on") << reading.name;
    }
  }
  const ImageShape shape{1, 2, 2};
  const Split split{shape, std::vector<uint8_t>(4), std::vector<int64_t>(1)};
  const Augmenter augmenter{shape, {}, Layout::kNhwc};
  ThreadTeam team{1, [] {}};
  const PrecisionWitness witness;

  EXPECT_TRUE(
      Evaluator({.training = plan}, split, augmenter, team).Predict(witness, 2, at::kCPU).ok());

  EXPECT_FALSE(witness.seen());
  EXPECT_TRUE(at::globalContext().allowTF32CuDNN()) << "training goes on";
  EXPECT_TRUE(CheckReadings(SetSwitches({.threads = 1})).ok());
  EXPECT_FALSE(at::globalContext().allowTF32CuDNN());
}

// What autocast makes of each operation that networks here are made of, on a processor.
TEST(PrecisionTest, EachOperationHasTheTypeThatTheReadmeSays) {
  const at::Tensor x = at::ones({2, 4, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor w = at::ones({4, 4, 3, 3}), c = at::ones({4}), m = at::ones({5, 4});
  for (const at::ScalarType low : {at::kBFloat16, at::kHalf}) {
    const LowPrecision scope(at::kCPU, low);
    const at::Tensor conv = at::conv2d(x, w, c, 1, 1);
    const at::Tensor norm = at::batch_norm(conv, c, c, c, c, false, 0.0, 1e-3, false);
    const at::Tensor rows = norm.mean({2, 3});
    for (const at::Tensor& one : {conv, norm, norm.relu(), at::max_pool2d(norm, {2, 2}),
                                  at::avg_pool2d(norm, {4, 4}), rows, at::linear(x.mean({2, 3}), m),
                                  at::linear(rows, m, at::ones({5})), at::matmul(m, m.t())}) {
      EXPECT_EQ(one.scalar_type(), low);
    }
    const auto factor = static_cast<float>(1.0 / (1.0 - 0.3));
    const Dropout dropout{"dropout1", 0.3};
    const at::Tensor values = at::arange(1, 201, at::kFloat).view({2, 100}).to(low);
    const at::Tensor dropped = dropout(values, {.training = true});
    EXPECT_EQ(dropped.scalar_type(), low);
    // Times the float factor, and then rounded once.
    const at::Tensor kept = dropped.ne(0), product = (values.to(at::kFloat) * factor).to(low);
    EXPECT_GT(kept.sum().item<int64_t>(), 100);
    EXPECT_TRUE(at::equal(dropped.masked_select(kept), product.masked_select(kept)));
  }
  EXPECT_EQ(at::conv2d(x, w, c, 1, 1).scalar_type(), at::kFloat) << "the scope has ended";
}

}  // namespace
}  // namespace noisefloor::trainer
