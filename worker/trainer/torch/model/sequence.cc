#include "worker/trainer/torch/model/sequence.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "common/base/check.h"
#include "worker/trainer/data/whitening.h"
#include "worker/trainer/torch/model/pool_relu.h"

namespace noisefloor::trainer {

namespace {

at::Tensor Run(std::span<const Part> parts, at::Tensor x, const ForwardPass& pass) {
  for (const Part& part : parts) x = part(std::move(x), pass);
  return x;
}

int64_t WidthOf(const ConvOptions& options) {
  return options.kernel_width > 0 ? options.kernel_width : options.kernel;
}

std::array<int64_t, 2> PaddingOf(const ConvOptions& options) {
  if (!options.pads) return {0, 0};
  return {options.kernel / 2, WidthOf(options) / 2};
}

ConvOptions WindowOf(const PoolOptions& options) {
  return {.kernel = options.kernel, .stride = options.stride, .pads = options.pads};
}

}  // namespace

Sequence& Sequence::Then(Part part, const Features& features, bool own) {
  parts_.push_back(std::move(part));
  features_ = features;
  own_ = own;
  return *this;
}

std::string Sequence::NameOf(const std::string& layer) const {
  return name_.empty() ? layer : layer.empty() ? name_ : name_ + "." + layer;
}

Features Sequence::After(int64_t channels, const ConvOptions& window) const {
  const auto [high, wide] = PaddingOf(window);
  const int64_t rows = features_.height + 2 * high - window.kernel;
  const int64_t columns = features_.width + 2 * wide - WidthOf(window);
  if (rows < 0 || columns < 0) return {channels, 0, 0};
  return {channels, rows / window.stride + 1, columns / window.stride + 1};
}

Sequence& Sequence::Conv(const std::string& name, const ConvOptions& options) {
  return AddConv(name, options, 1);
}

Sequence& Sequence::Depthwise(const std::string& name, const ConvOptions& options) {
  ConvOptions each = options;
  each.out = features_.channels;
  return AddConv(name, each, features_.channels);
}

Sequence& Sequence::Whiten(const std::string& name) {
  NF_CHECK(parts_.empty());  // Its filters are of images.
  const int64_t out = 2 * features_.channels * kPatchSide * kPatchSide;
  return AddConv(name, {.out = out, .kernel = kPatchSide, .pads = false}, 1, Begin::kWhitening,
                 Begin::kCentring);
}

Sequence& Sequence::AddConv(const std::string& name, const ConvOptions& options, int64_t groups,
                            Begin weight, Begin bias) {
  trainer::Conv conv;
  conv.weight = weights_->NewParameter(
      NameOf(name) + ".weight",
      {options.out, features_.channels / groups, options.kernel, WidthOf(options)}, weight);
  if (options.bias) {
    conv.bias = weights_->NewParameter(NameOf(name) + ".bias", {options.out}, bias);
  }
  conv.stride = options.stride;
  conv.padding = PaddingOf(options);
  conv.groups = groups;
  conv.learned = weight != Begin::kWhitening;
  const Features after = After(options.out, options);
  fits_ = fits_ && after.height > 0;
  return Then([conv](const at::Tensor& x, const ForwardPass& pass) { return conv(x, pass); },
              after);
}

void Sequence::AddBatchNorm(const std::string& name, const at::Tensor& weight) {
  const at::IntArrayRef shape = features_.channels;
  trainer::BatchNorm norm;
  norm.weight = weight;
  norm.bias = weights_->NewParameter(NameOf(name) + ".bias", shape);
  norm.running_mean = weights_->NewBuffer(NameOf(name) + ".running_mean", shape, norm.batch_mean);
  norm.running_var = weights_->NewBuffer(NameOf(name) + ".running_var", shape, norm.batch_variance);
  norm.epsilon = settings_->batch_norm_epsilon;
  Then([norm](const at::Tensor& x, const ForwardPass& pass) { return norm(x, pass); }, features_);
}

Sequence& Sequence::BatchNorm(const std::string& name, Begin begin) {
  AddBatchNorm(name, weights_->NewParameter(NameOf(name) + ".weight", features_.channels, begin));
  return *this;
}

Sequence& Sequence::BatchNormWithoutScale(const std::string& name) {
  AddBatchNorm(name, {});
  return *this;
}

Sequence& Sequence::ConvBn(const std::string& name, ConvOptions options) {
  options.bias = false;
  return Conv(name + ".conv", options).BatchNorm(name + ".bn");
}

Sequence& Sequence::Dense(const std::string& name, int64_t out, Begin begin) {
  trainer::Dense dense;
  dense.weight = weights_->NewParameter(NameOf(name) + ".weight", {out, features_.channels}, begin);
  dense.bias = weights_->NewParameter(NameOf(name) + ".bias", {out});
  return Then([dense](const at::Tensor& x, const ForwardPass& pass) { return dense(x, pass); },
              {out, features_.height, features_.width});
}

Sequence& Sequence::AddPositions(const std::string& name) {
  const at::Tensor positions = weights_->NewParameter(
      NameOf(name) + ".weight", {features_.height, features_.channels}, Begin::kOneFiftieth);
  return Then([positions](const at::Tensor& x, const ForwardPass&) { return x + positions; },
              features_);
}

Sequence& Sequence::LayerNorm(const std::string& name) {
  trainer::LayerNorm norm;
  norm.weight = weights_->NewParameter(NameOf(name) + ".weight", features_.channels);
  norm.bias = weights_->NewParameter(NameOf(name) + ".bias", features_.channels);
  return Then([norm](const at::Tensor& x, const ForwardPass& pass) { return norm(x, pass); },
              features_);
}

Sequence& Sequence::Attention(const std::string& name, int64_t heads) {
  const int64_t channels = features_.channels;
  NF_CHECK(channels % heads == 0);
  trainer::Attention attention;
  const auto dense = [&](const std::string& layer, int64_t out) {
    const std::string whole = NameOf(name) + "." + layer;
    const at::Tensor weight = weights_->NewParameter(whole + ".weight", {out, channels});
    return trainer::Dense{weight, weights_->NewParameter(whole + ".bias", {out})};
  };
  attention.query_key_value = dense("qkv", 3 * channels);
  attention.out = dense("out", channels);
  attention.heads = heads;
  return Then(
      [attention](const at::Tensor& x, const ForwardPass& pass) { return attention(x, pass); },
      features_);
}

// Its gradient needs what leaves it, and so does that of the sigmoid.
Sequence& Sequence::Relu() {
  if (own_) {
    return Then([](at::Tensor x, const ForwardPass&) { return x.relu_(); }, features_, false);
  }
  return Then([](const at::Tensor& x, const ForwardPass&) { return x.relu(); }, features_, false);
}

Sequence& Sequence::Relu6() {
  return Then([](const at::Tensor& x, const ForwardPass&) { return at::hardtanh(x, 0, 6); },
              features_);
}

Sequence& Sequence::Silu() {
  return Then([](const at::Tensor& x, const ForwardPass&) { return at::silu(x); }, features_);
}

Sequence& Sequence::Gelu() {
  return Then([](const at::Tensor& x, const ForwardPass&) { return at::gelu(x); }, features_);
}

Sequence& Sequence::Sigmoid() {
  return Then([](const at::Tensor& x, const ForwardPass&) { return x.sigmoid(); }, features_,
              false);
}

Sequence& Sequence::Times(double factor) {
  return Then([factor](const at::Tensor& x, const ForwardPass&) { return x * factor; }, features_);
}

Sequence& Sequence::MaxPool(const PoolOptions& options) {
  const Features after = After(features_.channels, WindowOf(options));
  fits_ = fits_ && after.height > 0;
  const int64_t padding = options.pads ? options.kernel / 2 : 0;
  return Then(
      [options, padding](const at::Tensor& x, const ForwardPass&) {
        return at::max_pool2d(x, options.kernel, options.stride, padding);
      },
      after);
}

Sequence& Sequence::AveragePool(const PoolOptions& options) {
  const Features after = After(features_.channels, WindowOf(options));
  fits_ = fits_ && after.height > 0;
  const int64_t padding = options.pads ? options.kernel / 2 : 0;
  return Then(
      [options, padding](const at::Tensor& x, const ForwardPass&) {
        return at::avg_pool2d(x, options.kernel, options.stride, padding, /*ceil_mode=*/false,
                              /*count_include_pad=*/false);
      },
      after);
}

Sequence& Sequence::MaxPoolRelu() {
  fits_ = fits_ && features_.height > 1 && features_.width > 1;
  return Then([](const at::Tensor& x, const ForwardPass&) { return PoolThenRelu(x); },
              {features_.channels, features_.height / 2, features_.width / 2}, false);
}

Sequence& Sequence::Mean() {
  return Then(
      [](const at::Tensor& x, const ForwardPass&) {
        return x.mean({2, 3});
      },
      {features_.channels});
}

Sequence& Sequence::MeanPixel() {
  return Then(
      [](const at::Tensor& x, const ForwardPass&) {
        return x.mean({2, 3}, true);
      },
      {features_.channels});
}

Sequence& Sequence::Largest() {
  return Then(
      [](const at::Tensor& x, const ForwardPass&) {
        return x.amax({2, 3});
      },
      {features_.channels});
}

Sequence& Sequence::Flatten() {
  return Then([](const at::Tensor& x, const ForwardPass&) { return x.flatten(1); },
              {features_.channels * features_.height * features_.width}, own_);
}

Sequence& Sequence::Tokens() {
  return Then([](const at::Tensor& x,
                 const ForwardPass&) { return x.flatten(2).transpose(1, 2).contiguous(); },
              {features_.channels, features_.height * features_.width}, own_);
}

Sequence& Sequence::MeanToken() {
  return Then([](const at::Tensor& x, const ForwardPass&) { return x.mean(1); },
              {features_.channels});
}

Sequence& Sequence::Dropout(const std::string& name) {
  const trainer::Dropout dropout{NameOf(name), settings_->dropout};
  return Then([dropout](const at::Tensor& x, const ForwardPass& pass) { return dropout(x, pass); },
              features_, own_);
}

Sequence& Sequence::HalfWithZeros(int64_t out) {
  const int64_t more = out - features_.channels;
  return Then(
      [more](const at::Tensor& x, const ForwardPass&) {
        const at::Tensor half = x.slice(2, 0, {}, 2).slice(3, 0, {}, 2);
        return at::constant_pad_nd(half, {0, 0, 0, 0, more / 2, more - more / 2});
      },
      {out, (features_.height + 1) / 2, (features_.width + 1) / 2});
}

Sequence Sequence::Branch(const std::string& name) const {
  Sequence branch(features_, *settings_, *weights_);
  branch.name_ = NameOf(name);
  return branch;
}

Sequence& Sequence::Append(const Sequence& next) {
  Join(next);
  for (const Part& part : next.parts_) parts_.push_back(part);
  own_ = next.parts_.empty() ? own_ : next.own_;
  features_ = next.features_;
  return *this;
}

Sequence& Sequence::Add(const Sequence& inner, const Sequence& around) {
  Join(inner);
  Join(around);
  return Then(
      [inner, around](const at::Tensor& x, const ForwardPass& pass) {
        const at::Tensor beside = around(x, pass);
        at::Tensor sum = inner(x, pass);
        // In place only where that rounds no further: autocast leaves some sums in float.
        const bool same = at::result_type(sum, beside) == sum.scalar_type();
        return inner.own_ && same ? sum.add_(beside) : sum + beside;
      },
      inner.features_);
}

Sequence& Sequence::Concatenate(const std::vector<Sequence>& branches) {
  Features features = branches.front().features_;
  features.channels = 0;
  for (const Sequence& branch : branches) {
    Join(branch);
    features.channels += branch.features_.channels;
  }
  return Then(
      [branches](const at::Tensor& x, const ForwardPass& pass) {
        std::vector<at::Tensor> results;
        for (const Sequence& branch : branches) results.push_back(branch(x, pass));
        return at::cat(results, 1);
      },
      features);
}

Sequence& Sequence::Scale(const Sequence& gate) {
  Join(gate);
  return Then([gate](const at::Tensor& x, const ForwardPass& pass) { return x * gate(x, pass); },
              features_);
}

Sequence& Sequence::WholeBatch() {
  in_parts_ = parts_.size();
  return *this;
}

at::Tensor Sequence::operator()(at::Tensor x, const ForwardPass& pass) const {
  const std::span parts(parts_);
  if (in_parts_ > 0) {
    x = InParts(x, pass,
                [&](const at::Tensor& part) { return Run(parts.first(in_parts_), part, pass); });
  }
  return Run(parts.subspan(in_parts_), std::move(x), pass);
}

}  // namespace noisefloor::trainer
