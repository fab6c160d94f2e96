#include "worker/trainer/torch/model/model.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/networks.h"
#include "tests/worker/trainer/torch/capability.h"
#include "tests/worker/trainer/torch/formula.h"
#include "worker/trainer/data/whitening.h"
#include "worker/trainer/torch/model/host_tensors.h"
#include "worker/trainer/torch/model/init.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {
namespace {

constexpr ModelShape kCifar10{3, 32, 32, 10};
constexpr ModelShape kMnist{1, 28, 28, 10};

std::unique_ptr<Model> Make(const std::string& name, const ModelShape& shape = kCifar10,
                            bool batch_norm = false, double dropout = 0) {
  return MakeModel({.name = name, .batch_norm = batch_norm, .dropout = dropout, .hidden = 16},
                   shape, at::kCPU);
}

constexpr int64_t kLarge = 6'000'000;
int64_t SizeOf(const std::string& name) {
  return MakeModel({.name = name}, {3, 75, 75, 10}, at::kMeta)->ParameterCount();
}

TEST(ModelTest, ParameterCountsAreThoseOfThePapers) {
  EXPECT_EQ(Make("small_cnn")->ParameterCount(), 15722);
  EXPECT_EQ(Make("small_cnn", kCifar10, true)->ParameterCount(), 15722 + 2 * (16 + 32 + 32));
  EXPECT_EQ(Make("medium_cnn")->ParameterCount(), 971146);
  EXPECT_EQ(Make("resnet18")->ParameterCount(), 11173962);
  EXPECT_EQ(Make("resnet18", {3, 32, 32, 100})->ParameterCount(), 11220132);
  EXPECT_EQ(Make("mlp", kMnist)->ParameterCount(), 784 * 16 + 16 + 16 * 16 + 16 + 160 + 10);
}

// As published, for images of that side in colour. `all` is with running statistics, as Keras
// counts.
struct Count {
  const char* name;
  int64_t side;
  int64_t classes;
  int64_t parameters;
  int64_t all;
};
constexpr Count kCounts[] = {
    {"resnet9", 32, 10, 6573130, 6577610},  // Page's 6,573,120 and ten biases.
    {"resnet9_whitened", 32, 10, 6525506, 6529858},
    {"resnet20", 32, 10, 269722, 271098},
    {"resnet50", 224, 1000, 25557032, 25610152},
    {"resnet101", 224, 1000, 44549160, 44654504},
    {"resnet152", 224, 1000, 60192808, 60344232},
    {"vgg16", 224, 1000, 138357544, 138357544},
    {"vgg19", 224, 1000, 143667240, 143667240},
    {"densenet121", 224, 1000, 7978856, 8062504},
    {"densenet169", 224, 1000, 14149480, 14307880},
    {"densenet201", 224, 1000, 20013928, 20242984},
    {"inception_v3", 299, 1000, 23817352, 23851784},
    {"xception", 299, 1000, 22855952, 22910480},
    {"mobilenet", 224, 1000, 4231976, 4253864},
    {"efficientnet_b0", 224, 1000, 5288548, 5330571 - 7},  // 7 of a layer that standardises.
    {"vit", 32, 10, 2693194, 2693194},
};

// On the meta device, which has shapes and no numbers.
TEST(ModelTest, LargeNetworksHaveThePublishedCounts) {
  for (const auto& [name, side, classes, parameters, all] : kCounts) {
    const auto model = MakeModel({.name = name}, {3, side, side, classes}, at::kMeta);
    int64_t statistics = 0;
    for (const NamedTensor& buffer : model->buffers()) statistics += buffer.value.numel();

    EXPECT_EQ(model->ParameterCount(), parameters) << name;
    EXPECT_EQ(model->ParameterCount() + statistics, all) << name;
  }
}

TEST(ModelTest, KernelsAndWidthsAreThoseAskedFor) {
  const auto count = [](const ModelSettings& settings) {
    return MakeModel(settings, {3, 64, 64, 10}, at::kMeta)->ParameterCount();
  };
  // 172,544 pairs of channels and 3 x 16, three numbers a channel, the dense layer.
  for (const int64_t kernel : {1, 3, 5, 7}) {
    EXPECT_EQ(count({.name = "kernel_cnn", .kernel = kernel}),
              (3 * 16 + 16 * 32 + 32 * 64 + 64 * 128 + 128 * 256 + 256 * 512) * kernel * kernel +
                  3 * 1008 + 512 * 10 + 10);
  }
  EXPECT_EQ(count({.name = "resnet9", .width = 16}), 412954);
  EXPECT_EQ(MakeModel({.name = "lenet"}, {1, 32, 32, 10}, at::kMeta)->ParameterCount(), 61706);
}

// The table of common/trainer_protocol, by which a sweep is refused, against the layers.
TEST(ModelTest, EveryNetworkFitsFromItsLeastSideOn) {
  for (const KnownNetwork& network : KnownNetworks()) {
    const ModelSettings settings{.name = std::string(network.name)};
    const int64_t least = network.least_side;
    for (const int64_t side : {least - 1, least, least + 1, int64_t{224}}) {
      if (side == 0) continue;
      EXPECT_EQ(Fits(settings, {3, side, side, 10}), side >= network.least_side)
          << network.name << " " << side;
      EXPECT_EQ(CheckImages(network.name, "x", 224, side).ok(), side >= network.least_side);
    }
  }
}

TEST(ModelTest, EveryModelTakesBothImageSizesAndNamesItsWeightsOnce) {
  for (const ModelShape& shape : {kCifar10, kMnist}) {
    for (const KnownNetwork& network : KnownNetworks()) {
      if (!CheckImages(network.name, "x", shape.height, shape.width).ok()) continue;
      const std::string name(network.name);
      // reference_test.cc runs them.
      if (name != "resnet18" && SizeOf(name) > kLarge) continue;
      const auto model = Make(name, shape, /*batch_norm=*/true);
      SetByFormula(*model);

      const at::Tensor logits =
          model->Forward(FormulaImages(2, shape.channels, shape.height), {.training = false});

      EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{2, 10})) << name;
      EXPECT_TRUE(logits.isfinite().all().item<bool>()) << name;
      std::set<std::string> names;
      for (const NamedTensor& parameter : model->parameters()) names.insert(parameter.name);
      EXPECT_EQ(names.size(), model->parameters().size()) << name;
    }
  }
}

// What a network of these settings is and says while it trains.
std::pair<std::vector<std::string>, std::vector<float>> PortraitOf(const ModelSettings& settings) {
  const auto model = MakeModel(settings, kMnist, at::kCPU);
  const at::NoGradGuard no_grad;
  std::vector<std::string> names;
  for (const NamedTensor& parameter : model->parameters()) {
    // Norms pass on what they normalise: their epsilon is seen at the end of a deep network, too.
    parameter.value.detach().fill_(parameter.value.dim() == 1 ? 1.0 : 0.01);
    names.push_back(parameter.name + " " + std::to_string(parameter.value.numel()) + " " +
                    std::to_string(static_cast<int>(parameter.begin)));
  }
  // The momentum is not the network's own; it moves its running statistics (shards.h).
  if (!model->buffers().empty()) names.push_back(std::to_string(settings.batch_norm_momentum));
  const ForwardPass pass{.training = true, .dropout = DropoutDraws(5)};
  return {names, HostValues(model->Forward(FormulaImages(4, 1, 28), pass))};
}

// check_together.cc says which network reads which setting, and a sweep is refused by it.
TEST(ModelTest, ASettingIsTakenExactlyWhenItChangesTheNetwork) {
  const std::vector<std::pair<const char*, SettingValue>> changes = {
      {"model.batch_norm", false},       {"model.batch_norm_momentum", 0.5},
      {"model.batch_norm_epsilon", 0.5}, {"model.dropout", 0.5},
      {"model.hidden", int64_t{64}},     {"model.kernel", int64_t{5}},
      {"model.width", int64_t{8}},       {"model.zero_last_norm", true}};
  for (const std::string_view name : FindField("model.name")->rule.choices) {
    if (!CheckImages(name, "x", kMnist.height, kMnist.width).ok()) continue;
    // Those above take seconds a setting.
    if (SizeOf(std::string(name)) > kLarge) continue;
    Specification plain;
    plain.model.name = name;
    const auto portrait = PortraitOf(plain.model);
    for (const auto& [path, value] : changes) {
      Specification changed = plain;
      ASSERT_TRUE(SetField(changed, path, value).ok());
      EXPECT_EQ(CheckTogether(changed).empty(), PortraitOf(changed.model) != portrait)
          << name << " " << path;
    }
  }
}

TEST(ModelTest, ImagesOfOneChannelReachTheNetworkInChannelsLast) {
  const at::Tensor images = NewImages(
      2, {1, 28, 28}, Layout::kNhwc, [](std::span<float> out) { std::ranges::fill(out, 0.5f); },
      at::kCPU);
  EXPECT_EQ(images.strides(), (std::vector<int64_t>{784, 1, 28, 1}));
}

TEST(ModelTest, ImagesLieAsTheNetworkTakesThemAndAreTheSame) {
  const auto count_up = [](std::span<float> out) { std::iota(out.begin(), out.end(), 0.0f); };
  const at::Tensor of_mlp = NewImages(2, {3, 4, 4}, LayoutOf({.name = "mlp"}), count_up, at::kCPU);
  EXPECT_TRUE(of_mlp.is_contiguous());
  EXPECT_EQ(of_mlp[1][2][3][0].item<float>(), 48 + 2 * 16 + 3 * 4);
  for (const char* name : {"small_cnn", "medium_cnn", "resnet18"}) {
    const at::Tensor of_cnn = NewImages(2, {3, 4, 4}, LayoutOf({.name = name}), count_up, at::kCPU);
    EXPECT_TRUE(of_cnn.is_contiguous(at::MemoryFormat::ChannelsLast)) << name;
    EXPECT_EQ(of_cnn[1][2][3][0].item<float>(), 48 + 3 * 12 + 2) << name;
  }
}

// Nothing that works on each image for itself depends on how many go with it; what does, the dense
// layers, sees the whole batch.
TEST(EvaluationPartsTest, ChangeNoBit) {
  if (!ProcessorHasAtensCapability()) {
    GTEST_SKIP() << "SKIPPED: this processor has no " << at::get_cpu_capability();
  }
  const int before = at::get_num_threads();
  const at::NoGradGuard no_grad;
  for (const KnownNetwork& network : KnownNetworks()) {
    const std::string name(network.name);
    if (network.least_side > 32 || (name != "resnet18" && SizeOf(name) > kLarge)) continue;
    const auto model = Make(name, kCifar10, /*batch_norm=*/true);
    SetByFormula(*model);
    const at::Tensor images = FormulaImages(20, 3, 32);
    const auto logits = [&](int64_t images_at_once) {
      return HostValues(
          model->Forward(images, {.training = false, .images_at_once = images_at_once}));
    };
    for (const int threads : {1, 2}) {
      at::set_num_threads(threads);
      EXPECT_EQ(logits(8), logits(1000)) << name << " " << threads;
    }
  }
  at::set_num_threads(before);
}

// Its variance would divide by 0 and make the running one none.
TEST(LayersTest, OneValueAChannelIsNotNormalisedInTraining) {
  const auto ones = [](at::IntArrayRef shape) { return at::ones(shape); };
  const BatchNorm norm{.weight = ones({3}),
                       .bias = ones({3}),
                       .running_mean = ones({3}),
                       .running_var = ones({3}),
                       .batch_mean = ones({3}),
                       .batch_variance = ones({3})};
  EXPECT_THROW(norm(ones({1, 3, 1, 1}), {.training = true}), c10::ValueError);
  EXPECT_TRUE(at::equal(norm(ones({1, 3, 1, 1}), {.training = false}), ones({1, 3, 1, 1})));
  EXPECT_NO_THROW(norm(ones({2, 3, 1, 1}), {.training = true}));
  EXPECT_TRUE(at::equal(norm.batch_variance, at::zeros({3})));
}

TEST(LayersTest, PartsAreEvenAndInOrder) {
  std::vector<int64_t> sizes;
  const auto halve = [&](const at::Tensor& part) {
    sizes.push_back(part.size(0));
    return part.div(2);
  };
  const at::Tensor images = at::arange(260, at::kFloat).view({260, 1, 1, 1});

  EXPECT_TRUE(InParts(images, {.images_at_once = 128}, halve).equal(images.div(2)));
  EXPECT_EQ(sizes, (std::vector<int64_t>{86, 87, 87}));
  sizes.clear();
  InParts(images, {.training = true, .images_at_once = 128}, halve);
  EXPECT_EQ(sizes, (std::vector<int64_t>{260}));
}

TEST(InitTest, DrawsOnlyDependOnSeedNameAndElement) {
  const auto first = Make("small_cnn");
  const auto second = Make("small_cnn");

  InitWeights(*first, "glorot_uniform", InitDraws(1), nullptr);
  InitWeights(*second, "glorot_uniform", InitDraws(1), nullptr);
  EXPECT_EQ(HostTensors::Parameters(*first).Hash(), HostTensors::Parameters(*second).Hash());

  InitWeights(*second, "glorot_uniform", InitDraws(2), nullptr);
  EXPECT_NE(HostTensors::Parameters(*first).Hash(), HostTensors::Parameters(*second).Hash());
}

TEST(InitTest, GlorotStaysInItsLimitsAndFillsThem) {
  const auto model = Make("small_cnn");
  InitWeights(*model, "glorot_uniform", InitDraws(7), nullptr);
  for (const NamedTensor& parameter : model->parameters()) {
    const at::Tensor& value = parameter.value;
    if (value.dim() == 1) {
      EXPECT_EQ(value.abs().max().item<float>(), 0) << parameter.name;
      continue;
    }
    const double taps = value.dim() == 4 ? 9 : 1;
    const double limit = std::sqrt(6.0 / (taps * double(value.size(0) + value.size(1))));
    EXPECT_LE(value.abs().max().item<double>(), limit * 1.0000001) << parameter.name;
    EXPECT_GT(value.abs().max().item<double>(), 0.95 * limit) << parameter.name;
  }
}

TEST(InitTest, HeNormalHasItsDeviationAndBatchNormBeginsAtOne) {
  const auto model = Make("resnet18");
  InitWeights(*model, "he_normal", InitDraws(7), nullptr);
  for (const NamedTensor& parameter : model->parameters()) {
    if (parameter.name == "layer4.1.conv2.weight") {
      EXPECT_NEAR(parameter.value.std().item<double>(), std::sqrt(2.0 / (512 * 9)), 1e-4);
    }
    if (parameter.name == "bn1.weight") {
      EXPECT_EQ(parameter.value.min().item<float>(), 1);
    }
  }
}

// Wider, narrower and strided convolutions, of 3 x 3 and 1 x 1; what is drawn is Glorot's.
TEST(InitTest, DiracsFirstFiltersPassTheirChannelsOn) {
  const auto drawn = Make("resnet18"), model = Make("resnet18");
  InitWeights(*drawn, "glorot_uniform", InitDraws(7), nullptr);
  InitWeights(*model, "dirac", InitDraws(7), nullptr);
  int convolutions = 0;
  for (size_t p = 0; p < model->parameters().size(); ++p) {
    const auto& [name, value, begin] = model->parameters()[p];
    const at::Tensor before = drawn->parameters()[p].value;
    if (value.dim() != 4) {
      EXPECT_TRUE(at::equal(value, before)) << name;
      continue;
    }
    ++convolutions;
    const int64_t passed = std::min(value.size(0), value.size(1)), middle = value.size(2) / 2;
    EXPECT_TRUE(at::equal(value.narrow(0, passed, value.size(0) - passed),
                          before.narrow(0, passed, value.size(0) - passed)))
        << name;
    const at::Tensor first = value.narrow(0, 0, passed);
    EXPECT_TRUE(
        at::equal(first.select(3, middle).select(2, middle), at::eye(passed, value.size(1))))
        << name;
    EXPECT_EQ(first.abs().sum().item<double>(), static_cast<double>(passed)) << name;
  }
  EXPECT_EQ(convolutions, 20);
}

TEST(InitTest, AWhitenedStemIsMadeOfTheTrainingImagesAndNotLearned) {
  for (const ModelShape& shape : {kCifar10, kMnist}) {
    const auto model = Make("resnet9_whitened", shape), drawn = Make("resnet9_whitened", shape);
    const Split images = DrawnDataset({shape.channels, shape.height, shape.width}, 20).train;
    InitWeights(*model, "he_normal", InitDraws(7), &images);
    InitWeights(*drawn, "he_normal", InitDraws(7), nullptr);
    const Whitening whitening = WhitenPatches(images);
    const std::vector<double> rates = model->Rates(16);
    for (size_t p = 0; p < rates.size(); ++p) {
      const auto& [name, value, begin] = model->parameters()[p];
      if (name == "stem.weight") {
        EXPECT_EQ(HostValues(value), whitening.filters);
        EXPECT_EQ(rates[p], 0);
      } else if (name == "stem.bias") {
        EXPECT_EQ(HostValues(value), whitening.shifts);
        EXPECT_EQ(rates[p], 16);
      } else {
        EXPECT_TRUE(at::equal(value, drawn->parameters()[p].value)) << name;
        EXPECT_EQ(rates[p], name.ends_with(".bias") ? 16 : 1) << name;
      }
    }
    // Without images it is drawn, for members that measure.
    const at::Tensor stem = drawn->parameters().front().value;
    EXPECT_NEAR(stem.std().item<double>(), std::sqrt(2.0 / (4 * shape.channels)), 0.2);
    EXPECT_EQ(drawn->parameters()[1].value.abs().max().item<float>(), 0);
  }
}

TEST(InitTest, NetworksSayHowSomeOfTheirWeightsBegin) {
  const auto deviation = [](const Model& model, const std::string& name) {
    for (const NamedTensor& parameter : model.parameters()) {
      if (parameter.name == name) return parameter.value.std().item<double>();
    }
    return -1.0;
  };
  const auto resnet = Make("resnet50");
  InitWeights(*resnet, "he_normal", InitDraws(3), nullptr);
  EXPECT_NEAR(deviation(*resnet, "dense.weight"), 0.01, 2e-4);
  const auto vit = Make("vit");
  InitWeights(*vit, "glorot_uniform", InitDraws(3), nullptr);
  EXPECT_NEAR(deviation(*vit, "positions.weight"), 0.02, 4e-4);

  for (const bool zero : {false, true}) {
    const auto model = MakeModel({.name = "resnet20", .zero_last_norm = zero}, kCifar10, at::kCPU);
    InitWeights(*model, "he_normal", InitDraws(3), nullptr);
    for (const NamedTensor& parameter : model->parameters()) {
      if (parameter.value.dim() > 1 || !parameter.name.ends_with(".weight")) continue;
      const bool last = parameter.name.ends_with(".bn2.weight");
      EXPECT_EQ(parameter.value.max().item<float>(), zero && last ? 0 : 1) << parameter.name;
    }
  }
}

TEST(ReplicaTest, SharesWeightsButNotGradients) {
  const auto model = Make("small_cnn", kMnist, true);
  SetByFormula(*model);
  const auto replica =
      MakeModel({.name = "small_cnn", .batch_norm = true}, kMnist, at::kCPU, model.get());

  replica->Forward(FormulaImages(4, 1, 28), {.training = true}).sum().backward();

  for (size_t i = 0; i < model->parameters().size(); ++i) {
    const at::Tensor& own = model->parameters()[i].value;
    const at::Tensor& shared = replica->parameters()[i].value;
    EXPECT_EQ(own.const_data_ptr(), shared.const_data_ptr());
    EXPECT_FALSE(own.grad().defined());
    EXPECT_TRUE(shared.grad().defined());
  }
}

// Loss and gradients of 8 images by so many shards.
struct Result {
  double loss = 0;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> statistics;
};
Result Compute(const Model& model, const ModelSettings& settings, int64_t count, bool arrival) {
  GradientShards shards(
      {.in_arrival_order = arrival, .batch_norm_momentum = 0.5, .dropout = DropoutDraws(5)},
      Replicas(settings, kMnist, model, count));
  const at::Tensor images = FormulaImages(8, 1, 28);
  const at::Tensor labels = FormulaLabels(8);
  Result result;
  for (const at::Tensor& gradient : shards.Compute(8, 3, [&](int64_t first, int64_t n, size_t) {
         return Examples{images.narrow(0, first, n), labels.narrow(0, first, n)};
       })) {
    result.gradients.push_back(gradient.clone());
  }
  result.loss = shards.loss().item<double>();
  shards.UpdateRunningStatistics();
  for (const NamedTensor& buffer : model.buffers()) {
    result.statistics.push_back(buffer.value.clone());
  }
  return result;
}

// The gradient of the last bias is the mean over examples and attributes of sigmoid(z) - y.
TEST(ShardsTest, AttributesHaveTheGradientOfTheirSigmoids) {
  const ModelSettings settings{.name = "mlp", .hidden = 32};
  const auto model = MakeModel(settings, kMnist, at::kCPU);
  SetByFormula(*model);
  const at::Tensor images = FormulaImages(8, 1, 28);
  const at::Tensor truths = FormulaLabels(8 * 10).reshape({8, 10}).remainder(2).to(at::kFloat);
  at::NoGradGuard no_grad;
  const at::Tensor logits = model->Forward(images, {.training = false}).to(at::kDouble);
  const at::Tensor yes = logits.neg().exp().add(1).reciprocal();
  const at::Tensor bias = (yes - truths).sum(0).div(80);
  const double loss = -(yes.log() * truths + (1 - yes).log() * (1 - truths)).mean().item<double>();
  for (const int64_t count : {1, 2, 4}) {
    at::AutoGradMode grad(true);
    GradientShards shards({.binary = true}, Replicas(settings, kMnist, *model, count));
    const auto& gradients = shards.Compute(8, 0, [&](int64_t first, int64_t n, size_t) {
      return Examples{images.narrow(0, first, n), truths.narrow(0, first, n)};
    });
    EXPECT_NEAR(shards.loss().item<double>(), loss, 1e-6) << count;
    bool seen = false;
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (model->parameters()[i].name != "dense3.bias") continue;
      seen = true;
      EXPECT_LT((gradients[i].to(at::kDouble) - bias).abs().max().item<double>(), 1e-7) << count;
    }
    EXPECT_TRUE(seen);
  }
}

TEST(ShardsTest, MasksAndGradientsDoNotDependOnTheNumberOfShards) {
  const ModelSettings settings{.name = "mlp", .dropout = 0.5, .hidden = 32};
  const auto model = MakeModel(settings, kMnist, at::kCPU);
  SetByFormula(*model);
  const Result one = Compute(*model, settings, 1, false);

  for (const int64_t count : {2, 4, 8}) {
    const Result many = Compute(*model, settings, count, false);
    EXPECT_NEAR(many.loss, one.loss, 1e-5);
    for (size_t i = 0; i < one.gradients.size(); ++i) {
      EXPECT_TRUE(at::allclose(many.gradients[i], one.gradients[i], 1e-4, 1e-6)) << i;
    }
  }
}

TEST(ShardsTest, ByRankTheSumIsTheSameBitsEveryTimeAndArrivalSumsAgreeToRounding) {
  const ModelSettings settings{.name = "small_cnn", .batch_norm = true};
  const auto model = MakeModel(settings, kMnist, at::kCPU);
  SetByFormula(*model);
  const Result first = Compute(*model, settings, 4, false);
  for (int run = 0; run < 5; ++run) {
    const Result again = Compute(*model, settings, 4, false);
    const Result arrival = Compute(*model, settings, 4, true);
    for (size_t i = 0; i < first.gradients.size(); ++i) {
      EXPECT_TRUE(at::equal(again.gradients[i], first.gradients[i])) << i;
      EXPECT_TRUE(at::allclose(arrival.gradients[i], first.gradients[i], 1e-4, 1e-5)) << i;
    }
  }
}

// Sums of floats depend on their order: this one is the first rank's share, then the second's, ...
TEST(ShardsTest, SharesAreAddedFromTheFirstRankToTheLast) {
  const ModelSettings settings{.name = "mlp", .hidden = 32};
  const auto model = MakeModel(settings, kMnist, at::kCPU);
  SetByFormula(*model);
  std::vector<std::vector<at::Tensor>> shares;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const auto replica = MakeModel(settings, kMnist, at::kCPU, model.get());
    const at::Tensor logits =
        replica->Forward(FormulaImages(8, 1, 28).narrow(0, 2 * rank, 2), {.training = true});
    at::cross_entropy_loss(logits, FormulaLabels(8).narrow(0, 2 * rank, 2), {}, at::Reduction::Sum)
        .div(8)
        .backward();
    shares.emplace_back();
    for (const NamedTensor& parameter : replica->parameters()) {
      shares.back().push_back(parameter.value.grad());
    }
  }

  const Result result = Compute(*model, settings, 4, false);

  bool order_matters = false;
  for (size_t i = 0; i < result.gradients.size(); ++i) {
    const auto share = [&](size_t rank) { return shares[rank][i]; };
    EXPECT_TRUE(at::equal(result.gradients[i], share(0) + share(1) + share(2) + share(3))) << i;
    order_matters |= !at::equal(result.gradients[i], share(3) + share(2) + share(1) + share(0));
  }
  EXPECT_TRUE(order_matters);
}

TEST(ShardsTest, RunningStatisticsMoveByTheMeanOverTheShards) {
  const ModelSettings settings{.name = "small_cnn", .batch_norm = true};
  const auto model = MakeModel(settings, kMnist, at::kCPU);
  SetByFormula(*model);
  const at::Tensor before = model->buffers()[0].value.clone();
  const at::Tensor mean_of_conv1 = [&] {
    const at::NoGradGuard no_grad;
    const auto& parameters = model->parameters();
    return at::conv2d(FormulaImages(8, 1, 28), parameters[0].value, parameters[1].value, 1, 1)
        .mean({0, 2, 3});
  }();

  const Result result = Compute(*model, settings, 4, false);

  EXPECT_EQ(model->buffers()[0].name, "bn1.running_mean");
  EXPECT_TRUE(at::allclose(result.statistics[0], before * 0.5 + mean_of_conv1 * 0.5, 1e-4, 1e-5));
}

// Of 64 shards there are more orders than could be kept: 5000 are, and those are counted on.
TEST(ShardsTest, AnOrderOfArrivalThatIsKnownIsCountedHoweverManyThereAre) {
  const ModelSettings settings{.name = "mlp", .hidden = 4};
  const auto model = MakeModel(settings, kMnist, at::kCPU);
  SetByFormula(*model);
  GradientShards shards({.in_arrival_order = true}, Replicas(settings, kMnist, *model, 2));
  const at::Tensor images = FormulaImages(8, 1, 28), labels = FormulaLabels(8);
  const auto load = [&](int64_t first, int64_t n, size_t) {
    return Examples{images.narrow(0, first, n), labels.narrow(0, first, n)};
  };
  const auto counted = [&] {
    int64_t sum = 0;
    for (const auto& [order, count] : shards.arrival_orders()) sum += count;
    return sum;
  };
  std::map<std::string, int64_t> seen;
  while (seen.size() < 5000) seen["another " + std::to_string(seen.size())] = 1;
  shards.set_arrival_orders(seen);
  (void)shards.Compute(8, 0, load);
  EXPECT_EQ(counted(), 5000) << "one order more is not kept";

  seen.erase(seen.begin());
  seen.erase(seen.begin());
  seen["0,1"] = seen["1,0"] = 1;
  shards.set_arrival_orders(seen);
  (void)shards.Compute(8, 1, load);
  EXPECT_EQ(counted(), 5001);
  EXPECT_EQ(shards.arrival_orders().size(), 5000u);
}

TEST(ShardsTest, AnExceptionOfOneShardReachesTheCaller) {
  const ModelSettings settings{.name = "mlp", .hidden = 4};
  const auto model = MakeModel(settings, kMnist, at::kCPU);
  SetByFormula(*model);
  GradientShards shards({}, Replicas(settings, kMnist, *model, 4));
  const auto broken = [](int64_t, int64_t count, size_t) {
    return Examples{at::ones({count, 1, 5, 5}), FormulaLabels(count)};
  };
  EXPECT_THROW(shards.Compute(8, 0, broken), c10::Error);
}

}  // namespace
}  // namespace noisefloor::trainer
