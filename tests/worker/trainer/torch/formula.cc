#include "tests/worker/trainer/torch/formula.h"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <cstdlib>

#include "common/base/philox.h"

namespace noisefloor::trainer {

namespace {

void SetOne(const NamedTensor& tensor) {
  const at::NoGradGuard no_grad;
  const int64_t count = tensor.value.numel();
  std::vector<double> values = FormulaNumbers(tensor.name, count);
  const bool matrix = tensor.value.dim() > 1;
  const bool around_one = tensor.name.ends_with(".weight") || tensor.name.ends_with("running_var");
  const double scale =
      matrix ? 4.0 / std::sqrt(static_cast<double>(count / tensor.value.size(0))) : 0.2;
  for (double& value : values) value = (!matrix && around_one ? 1.0 : 0.0) + scale * value;
  const std::vector<float> floats(values.begin(), values.end());
  at::Tensor target = tensor.value;
  target.copy_(at::from_blob(const_cast<float*>(floats.data()), target.sizes(), at::kFloat));
}

}  // namespace

std::string ReferenceFolder() {
  return std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/tests/worker/trainer/torch/";
}

std::vector<double> FormulaNumbers(std::string_view name, int64_t count) {
  const auto low = static_cast<uint32_t>(StreamOf(name));
  std::vector<double> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint32_t mixed = static_cast<uint32_t>(i) * 2654435761u + low;
    mixed = (mixed ^ (mixed >> 15)) * 2246822519u;
    numbers[i] = static_cast<double>(mixed) / 4294967296.0 - 0.5;
  }
  return numbers;
}

void SetByFormula(const Model& model) {
  for (const NamedTensor& parameter : model.parameters()) SetOne(parameter);
  for (const NamedTensor& buffer : model.buffers()) SetOne(buffer);
}

at::Tensor FormulaImages(int64_t count, int64_t channels, int64_t side) {
  const at::Tensor images = at::empty({count, channels, side, side}, at::kFloat);
  const std::vector<double> numbers = FormulaNumbers("images", images.numel());
  float* out = images.mutable_data_ptr<float>();
  for (size_t i = 0; i < numbers.size(); ++i) out[i] = static_cast<float>(numbers[i]) + 0.5f;
  // Not contiguous(ChannelsLast): for one channel that leaves the strides as they are.
  const at::Tensor last = at::empty({count, side, side, channels}, at::kFloat);
  return last.permute({0, 3, 1, 2}).copy_(images);
}

at::Tensor FormulaLabels(int64_t count) {
  return at::arange(count, at::kLong).mul(3).remainder(10);
}

Dataset DrawnDataset(const ImageShape& shape, uint32_t examples) {
  const PhiloxStream stream(1, 2);
  std::vector<uint8_t> images(static_cast<size_t>(shape.pixels()) * examples);
  std::vector<int64_t> labels(examples);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<uint8_t>(stream.Word(i));
  for (uint32_t i = 0; i < examples; ++i) labels[i] = i * 3 % 10;
  Dataset dataset{.name = "drawn", .classes = 10, .shape = shape};
  dataset.train = {shape, std::move(images), std::move(labels)};
  return dataset;
}

}  // namespace noisefloor::trainer
