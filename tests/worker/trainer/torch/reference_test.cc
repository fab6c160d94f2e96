// The networks' gradients and the optimisers' steps against what PyTorch's Python computes in
// float64 (reference/*.json, made by make_reference.py).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/networks.h"
#include "tests/worker/trainer/torch/formula.h"
#include "worker/trainer/torch/optim/optimizer.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {
namespace {

Json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

// In logical order.
std::vector<double> Doubles(const at::Tensor& tensor) {
  const at::Tensor host = tensor.detach().to(at::kDouble).contiguous();
  const double* data = host.const_data_ptr<double>();
  return {data, data + host.numel()};
}

// The largest difference to the reference, in units of the tensor's root mean square; `samples` of
// it were picked at most.
double WorstDifference(const std::vector<double>& values, const Json& expected, size_t samples) {
  double square_sum = 0, sum = 0;
  for (const double value : values) {
    square_sum += value * value;
    sum += value;
  }
  const auto count = static_cast<double>(values.size());
  const double unit = std::max(expected["norm"].get<double>() / std::sqrt(count), 1e-6);
  const size_t step = std::max<size_t>(1, values.size() / samples);
  double worst = std::abs(std::sqrt(square_sum) - expected["norm"].get<double>()) / unit;
  worst = std::max(worst, std::abs(sum - expected["sum"].get<double>()) / (unit * count));
  for (size_t i = 0; i < expected["samples"].size(); ++i) {
    const double difference = values[i * step] - expected["samples"][i].get<double>();
    worst = std::max(worst, std::abs(difference) / unit);
  }
  return worst;
}

// One case of make_reference.py, computed by the trainer's own parts.
class Case {
 public:
  explicit Case(const Json& json)
      : json_(json),
        shape_{json["channels"], json["side"], json["side"], 10},
        type_(json.value("type", "float32") == "float64" ? at::kDouble : at::kFloat),
        model_(MakeModel(Settings(), shape_, at::kCPU, nullptr, type_)),
        images_(FormulaImages(json["batch"], json["channels"], json["side"]).to(type_)),
        labels_(FormulaLabels(json["batch"])) {
    SetByFormula(*model_);
  }

  void Run() {
    GradientShards shards({.label_smoothing = json_.value("label_smoothing", 0.0)},
                          Replicas(Settings(), shape_, *model_));
    Optimizer optimizer(OptimizerOf(), model_->ParameterTensors(), model_->Rates(1));
    const auto load = [&](int64_t first, int64_t count, size_t) {
      return Examples{images_.narrow(0, first, count), labels_.narrow(0, first, count)};
    };
    for (int64_t step = 0; step < json_["steps"].get<int64_t>(); ++step) {
      const auto& gradients = shards.Compute(json_["batch"], step, load);
      if (step == 0) {
        loss_ = shards.loss().item<double>();
        for (const at::Tensor& gradient : gradients) gradients_.push_back(Doubles(gradient));
      }
      optimizer.Step(gradients, json_["optimizer"]["learning_rate"]);
      shards.UpdateRunningStatistics();
    }
  }

  void ExpectReference() const {
    EXPECT_NEAR(loss_, json_["loss"].get<double>(), InDoubles() ? kOfDoubles : 2e-6);
    EXPECT_EQ(gradients_.size(), json_["gradients"].size());
    for (size_t i = 0; i < gradients_.size(); ++i) {
      const std::string& name = model_->parameters()[i].name;
      ASSERT_TRUE(json_["gradients"].contains(name)) << name;
      // The bias of a convolution before batch norm has no gradient but rounding; what is not
      // learned has none.
      const double norm = json_["gradients"][name]["norm"];
      if (norm == 0) EXPECT_EQ(gradients_[i], std::vector<double>(gradients_[i].size())) << name;
      if (norm < 1e-12) continue;
      EXPECT_LT(WorstDifference(gradients_[i], json_["gradients"][name], Samples()),
                GradientLimit())
          << name;
    }
    std::vector<NamedTensor> all = model_->parameters();
    all.insert(all.end(), model_->buffers().begin(), model_->buffers().end());
    EXPECT_EQ(all.size(), json_["after"].size());
    for (const NamedTensor& tensor : all) {
      EXPECT_LT(WorstDifference(Doubles(tensor.value), json_["after"][tensor.name], Samples()),
                InDoubles() ? kOfDoubles : 2e-5)
          << tensor.name;
    }
  }

 private:
  // By the order of sums alone, which 152 layers make larger (1.2e-9); loss, gradients, weights
  // after a step.
  static constexpr double kOfDoubles = 1e-8;

  bool InDoubles() const { return type_ == at::kDouble; }
  size_t Samples() const { return InDoubles() ? 4 : 64; }
  // Among a million inputs of ReLUs one lies so near to zero that rounding puts it on the other
  // side; in ResNet-18 that moves the gradients of the layers before it by a thousandth.
  double GradientLimit() const {
    if (InDoubles()) return kOfDoubles;
    return json_["model"] == "resnet18" ? 5e-3 : 2e-4;
  }

  ModelSettings Settings() const {
    return {.name = json_["model"],
            .batch_norm = json_["batch_norm"],
            .hidden = json_.value("hidden", int64_t{128}),
            .kernel = json_.value("kernel", int64_t{3}),
            .width = json_.value("width", int64_t{64})};
  }
  OptimizerSettings OptimizerOf() const {
    const Json& optimizer = json_["optimizer"];
    return {.name = optimizer["name"],
            .momentum = optimizer.value("momentum", 0.0),
            .nesterov = optimizer.value("nesterov", false),
            .weight_decay = optimizer.value("weight_decay", 0.0),
            .epsilon = optimizer.value("epsilon", 1e-7)};
  }

  const Json json_;
  const ModelShape shape_;
  const at::ScalarType type_;
  const std::unique_ptr<Model> model_;
  const at::Tensor images_, labels_;
  double loss_ = 0;
  std::vector<std::vector<double>> gradients_;
};

class ReferenceTest : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceTest, GradientsAndStepsAgreeWithPythonToRounding) {
  at::set_num_threads(1);
  const Json json = ReadJson(ReferenceFolder() + "reference/" + GetParam() + ".json");
  Case one(json);

  one.Run();

  one.ExpectReference();
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceTest,
                         testing::Values("small_cnn_sgd", "small_cnn_bn_nesterov",
                                         "medium_cnn_momentum", "mlp_adam", "resnet18_sgd"),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(
    InDoubles, ReferenceTest,
    testing::Values("small_cnn_float64", "small_bn_float64", "medium_cnn_float64", "mlp_float64",
                    "resnet18_float64", "kernel1_float64", "kernel3_float64", "kernel5_float64",
                    "kernel7_float64", "lenet_float64", "resnet9_float64",
                    "resnet9_whitened_float64", "resnet20_float64", "resnet50_float64",
                    "resnet101_float64", "resnet152_float64", "vgg16_float64", "vgg19_float64",
                    "densenet121_float64", "densenet169_float64", "densenet201_float64",
                    "inception_v3_float64", "xception_float64", "mobilenet_float64",
                    "efficientnet_b0_float64", "vit_float64"),
    [](const auto& info) { return info.param; });

// Every network has a case in doubles, and every file is somebody's case.
TEST(ReferenceFilesTest, EveryNetworkHasACaseInDoubles) {
  std::set<std::string> seen;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ReferenceFolder() + "reference")) {
    const Json json = ReadJson(entry.path());
    if (json.value("type", "float32") == "float64") seen.insert(json["model"].get<std::string>());
    ++files;
  }
  EXPECT_EQ(seen.size(), KnownNetworks().size());
  EXPECT_EQ(files, 5u + 26u) << "a file without a case above";
}

// Both from Python in float64: they differ by the order of sums alone. A value of a tensor may
// differ by `kAgain` of the tensor's norm, or of 1e-3 where that is smaller (a gradient that is
// rounding).
constexpr double kAgain = 1e-9;

void ExpectSameSummary(const Json& old, const Json& fresh) {
  const double norm = old["norm"];
  const double limit = kAgain * std::max(norm, 1e-3);
  EXPECT_NEAR(norm, fresh["norm"].get<double>(), limit);
  // A sum of n values of this norm is at most sqrt(n) times it, and that for n up to 2.4 million.
  EXPECT_NEAR(old["sum"].get<double>(), fresh["sum"].get<double>(), 1600 * limit);
  ASSERT_EQ(old["samples"].size(), fresh["samples"].size());
  for (size_t i = 0; i < old["samples"].size(); ++i) {
    const double sample = old["samples"][i];
    // Written with nine digits.
    EXPECT_NEAR(sample, fresh["samples"][i].get<double>(), limit + 2e-9 * std::abs(sample)) << i;
  }
}

void ExpectSameSummaries(const Json& old, const Json& fresh) {
  ASSERT_EQ(old.size(), fresh.size());
  for (const auto& [name, summary] : old.items()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(fresh.contains(name));
    ExpectSameSummary(summary, fresh[name]);
  }
}

TEST(ReferenceFilesTest, ScriptMakesTheSameFilesAgain) {
  const char* python = std::getenv("NOISEFLOOR_PYTHON_TORCH");
  if (python == nullptr)
    GTEST_SKIP() << "SKIPPED: set NOISEFLOOR_PYTHON_TORCH to a Python with torch";
  const std::string folder = testing::TempDir() + "/reference_again";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);

  const std::string command =
      std::string(python) + " " + ReferenceFolder() + "make_reference.py " + folder;
  ASSERT_EQ(std::system(command.c_str()), 0) << command;

  for (const auto& entry : std::filesystem::directory_iterator(ReferenceFolder() + "reference")) {
    SCOPED_TRACE(entry.path().filename());
    Json old = ReadJson(entry.path());
    Json fresh = ReadJson(folder + "/" + entry.path().filename().string());
    EXPECT_NEAR(old["loss"].get<double>(), fresh["loss"].get<double>(), kAgain);
    for (const char* part : {"gradients", "after"}) ExpectSameSummaries(old[part], fresh[part]);
    for (const char* compared : {"loss", "gradients", "after"}) {
      old.erase(compared);
      fresh.erase(compared);
    }
    EXPECT_EQ(old, fresh);  // The case itself.
  }
}

}  // namespace
}  // namespace noisefloor::trainer
