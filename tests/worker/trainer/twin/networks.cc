#include "tests/worker/trainer/twin/networks.h"

#include <cmath>
#include <string>
#include <utility>

#include "common/base/check.h"

namespace noisefloor::trainer::twin {

namespace {

// A vector of these needs no moves out of an initializer list.
template <typename... Parts>
Layers Of(Parts... parts) {
  Layers layers;
  (layers.push_back(std::move(parts)), ...);
  return layers;
}

// ReLU comes before the pool as in most descriptions; the values are the same either way.
Layers SmallCnn(const ModelSettings& settings, const ImageShape& shape, int64_t classes) {
  Layers layers;
  int64_t channels = shape.channels;
  int number = 0;
  for (const int64_t out : {16, 32, 32}) {
    const std::string suffix = std::to_string(++number);
    layers.push_back(MakeConv("conv" + suffix, {.in = channels, .out = out}));
    if (settings.batch_norm) {
      layers.push_back(MakeBatchNorm("bn" + suffix, out, settings.batch_norm_epsilon));
    }
    layers.push_back(MakeRelu());
    layers.push_back(MakeMaxPool());
    channels = out;
  }
  layers.push_back(MakeMean());
  layers.push_back(MakeDense("dense1", channels, 32));
  layers.push_back(MakeRelu());
  layers.push_back(MakeDense("dense2", 32, classes));
  return layers;
}

Layers MediumCnn(const ModelSettings& settings, const ImageShape& shape, int64_t classes) {
  Layers layers;
  int64_t channels = shape.channels, height = shape.height, width = shape.width;
  int number = 0;
  for (const int64_t out : {64, 128, 256, 256}) {
    const std::string suffix = std::to_string(++number);
    layers.push_back(MakeConv("conv" + suffix, {.in = channels, .out = out}));
    layers.push_back(MakeDropout("dropout" + suffix, settings.dropout));
    layers.push_back(MakeMaxPool());
    layers.push_back(MakeRelu());
    channels = out;
    height /= 2;
    width /= 2;
  }
  layers.push_back(MakeFlatten());
  layers.push_back(MakeDense("dense", channels * height * width, classes));
  return layers;
}

Layers Mlp(const ModelSettings& settings, const ImageShape& shape, int64_t classes) {
  return Of(MakeFlatten(), MakeDense("dense1", shape.pixels(), settings.hidden), MakeRelu(),
            MakeDropout("dropout1", settings.dropout),
            MakeDense("dense2", settings.hidden, settings.hidden), MakeRelu(),
            MakeDropout("dropout2", settings.dropout),
            MakeDense("dense3", settings.hidden, classes));
}

struct BlockShape {
  int64_t in = 0, out = 0, stride = 1;
};

void AddBlock(const std::string& name, const BlockShape& shape, double epsilon, Layers& layers) {
  const auto [in, out, stride] = shape;
  Layers inner =
      Of(MakeConv(name + ".conv1", {.in = in, .out = out, .stride = stride, .bias = false}),
         MakeBatchNorm(name + ".bn1", out, epsilon), MakeRelu(),
         MakeConv(name + ".conv2", {.in = out, .out = out, .bias = false}),
         MakeBatchNorm(name + ".bn2", out, epsilon));
  Layers around;
  if (in != out) {
    around = Of(MakeConv(name + ".shortcut.conv",
                         {.in = in, .out = out, .kernel = 1, .stride = stride, .bias = false}),
                MakeBatchNorm(name + ".shortcut.bn", out, epsilon));
  }
  layers.push_back(MakeResidual(std::move(inner), std::move(around)));
  layers.push_back(MakeRelu());
}

// He and others (2016) for images of 32 x 32: a stem of 3 x 3 without a pool.
Layers ResNet18(const ModelSettings& settings, const ImageShape& shape, int64_t classes) {
  const double epsilon = settings.batch_norm_epsilon;
  Layers layers = Of(MakeConv("conv1", {.in = shape.channels, .out = 64, .bias = false}),
                     MakeBatchNorm("bn1", 64, epsilon), MakeRelu());
  AddBlock("layer1.0", {64, 64, 1}, epsilon, layers);
  AddBlock("layer1.1", {64, 64, 1}, epsilon, layers);
  AddBlock("layer2.0", {64, 128, 2}, epsilon, layers);
  AddBlock("layer2.1", {128, 128, 1}, epsilon, layers);
  AddBlock("layer3.0", {128, 256, 2}, epsilon, layers);
  AddBlock("layer3.1", {256, 256, 1}, epsilon, layers);
  AddBlock("layer4.0", {256, 512, 2}, epsilon, layers);
  AddBlock("layer4.1", {512, 512, 1}, epsilon, layers);
  layers.push_back(MakeMean());
  layers.push_back(MakeDense("dense", 512, classes));
  return layers;
}

Layers LayersOf(const ModelSettings& settings, const ImageShape& shape, int64_t classes) {
  if (settings.name == "small_cnn") return SmallCnn(settings, shape, classes);
  if (settings.name == "medium_cnn") return MediumCnn(settings, shape, classes);
  if (settings.name == "mlp") return Mlp(settings, shape, classes);
  NF_CHECK(settings.name == "resnet18");
  return ResNet18(settings, shape, classes);
}

// Inputs that one output of a weight {out, in, ...} sees: He and others (2015).
double FanIn(const Array& weight) {
  return static_cast<double>(weight.values.size()) / static_cast<double>(weight.Size(0));
}
// Outputs that one input reaches: Glorot and Bengio (2010).
double FanOut(const Array& weight) {
  return static_cast<double>(weight.values.size()) / static_cast<double>(weight.Size(1));
}

void Draw(const std::string& name, const ModelSettings& settings, const InitDraws& draws,
          Array& weight) {
  std::vector<float> values(weight.values.size());
  if (settings.init == "he_normal") {
    draws.FillNormal(name, static_cast<float>(std::sqrt(2 / FanIn(weight))), values);
  } else {
    NF_CHECK(settings.init == "glorot_uniform");
    const double limit = std::sqrt(6 / (FanIn(weight) + FanOut(weight)));
    draws.FillUniform(name, static_cast<float>(limit), values);
  }
  weight.values.assign(values.begin(), values.end());
}

}  // namespace

std::unique_ptr<Layer> MakeNetwork(const ModelSettings& settings, const ImageShape& shape,
                                   int64_t classes) {
  return MakeSequence(LayersOf(settings, shape, classes));
}

void Initialise(const ModelSettings& settings, uint64_t seed, State& state) {
  const InitDraws draws(seed);
  for (auto& [name, parameter] : state.parameters) {
    if (parameter.shape.size() > 1) {
      Draw(name, settings, draws, parameter);
    } else {
      parameter = Array(parameter.shape, name.ends_with(".weight") ? 1 : 0);
    }
  }
  for (auto& [name, buffer] : state.buffers) {
    buffer = Array(buffer.shape, name.ends_with(".running_var") ? 1 : 0);
  }
}

}  // namespace noisefloor::trainer::twin
