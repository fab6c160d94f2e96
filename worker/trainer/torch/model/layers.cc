#include "worker/trainer/torch/model/layers.h"

#include <cmath>
#include <vector>

#include "worker/trainer/cuda/requests.h"
#include "worker/trainer/torch/model/launch.h"
#include "worker/trainer/torch/model/noisy_bias.h"

namespace noisefloor::trainer {

namespace {

// The type in which autocast adds a layer's bias: that of what comes out, to which its gradient is
// then rounded, or its own.
enum class BiasType : uint8_t { kOfResult, kOwn };

// layer(bias), where the bias is added to dimension `channels` of what comes out.
template <typename Layer>
at::Tensor WithBias(const at::Tensor& bias, BiasType type, int64_t channels,
                    const ForwardPass& pass, const Layer& layer) {
  if (!pass.noisy_sums || !bias.defined()) return layer(bias);
  const at::Tensor y = layer(bias.detach());
  const bool own = type == BiasType::kOwn;
  return NoisyBias(y, own ? bias : bias.to(y.scalar_type()), channels, *pass.launcher);
}

constexpr int64_t kOfPixels = 1;
constexpr int64_t kLast = -1;

}  // namespace

at::Tensor Conv::operator()(const at::Tensor& x, const ForwardPass& pass) const {
  return WithBias(bias, BiasType::kOfResult, kOfPixels, pass, [&](const at::Tensor& added) {
    return at::conv2d(x, learned ? weight : weight.detach(), added, stride, padding,
                      /*dilation=*/1, groups);
  });
}

at::Tensor Dense::operator()(const at::Tensor& x, const ForwardPass& pass) const {
  return WithBias(bias, BiasType::kOfResult, kLast, pass,
                  [&](const at::Tensor& added) { return at::linear(x, weight, added); });
}

at::Tensor BatchNorm::operator()(const at::Tensor& x, const ForwardPass& pass) const {
  // The running variance divides by one less than their number.
  TORCH_CHECK_VALUE(!pass.training || x.numel() > x.size(1),
                    "batch normalisation of one value a channel, of a shard of ", x.sizes(),
                    ": expected a larger train.batch_size, fewer train.shards, train.drop_last or "
                    "larger images");
  const bool cudnn = at::globalContext().userEnabledCuDNN();
  return WithBias(bias, BiasType::kOwn, kOfPixels, pass, [&](const at::Tensor& added) {
    // With momentum 1 the batch's own statistics are what is written.
    return pass.training ? at::batch_norm(x, weight, added, batch_mean, batch_variance,
                                          /*training=*/true, /*momentum=*/1.0, epsilon, cudnn)
                         : at::batch_norm(x, weight, added, running_mean, running_var,
                                          /*training=*/false, /*momentum=*/0.0, epsilon, cudnn);
  });
}

at::Tensor LayerNorm::operator()(const at::Tensor& x, const ForwardPass& pass) const {
  constexpr double kEpsilon = 1e-6;  // Of Dosovitskiy and others (2021).
  return WithBias(bias, BiasType::kOwn, kLast, pass, [&](const at::Tensor& added) {
    return at::layer_norm(x, weight.sizes(), weight, added, kEpsilon);
  });
}

at::Tensor Attention::operator()(const at::Tensor& tokens, const ForwardPass& pass) const {
  const int64_t n = tokens.size(0), count = tokens.size(1), channels = tokens.size(2);
  const int64_t each = channels / heads;
  // {3, n, heads, t, each}
  const std::vector<at::Tensor> parts = query_key_value(tokens, pass)
                                            .view({n, count, 3, heads, each})
                                            .permute({2, 0, 3, 1, 4})
                                            .unbind(0);
  const double scale = 1 / std::sqrt(static_cast<double>(each));
  const at::Tensor shares = (parts[0] * scale).matmul(parts[1].transpose(-2, -1)).softmax(-1);
  return out(shares.matmul(parts[2]).transpose(1, 2).reshape({n, count, channels}), pass);
}

at::Tensor Dropout::operator()(const at::Tensor& x, const ForwardPass& pass) const {
  if (!pass.training || probability == 0) return x;
  const auto step = static_cast<uint64_t>(pass.step);
  const auto first = static_cast<uint64_t>(pass.first_example * (x.numel() / x.size(0)));
  const auto count = static_cast<size_t>(x.numel());
  const at::Device where = pass.launcher == nullptr ? at::Device(at::kCPU) : x.device();
  const at::Tensor mask = at::empty(x.sizes(), at::TensorOptions(at::kFloat).device(where));
  float* const values = mask.mutable_data_ptr<float>();
  if (pass.launcher != nullptr) {
    LaunchOrThrow(*pass.launcher,
                  cuda::DropoutLaunch(pass.dropout, step, name, probability, first, values, count));
  } else {
    pass.dropout.Fill(step, name, probability, first, {values, count});
  }
  // The mask of a low precision's values is of float: its factor would lose digits there.
  const bool low = x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf;
  const at::Tensor product =
      x * mask.to(low ? x.options().dtype(at::kFloat) : x.options(), /*non_blocking=*/false,
                  /*copy=*/false, x.suggest_memory_format());
  return product.to(x.scalar_type());
}

at::Tensor InParts(const at::Tensor& images, const ForwardPass& pass,
                   const std::function<at::Tensor(const at::Tensor&)>& layers) {
  const int64_t count = images.size(0);
  if (pass.training || !images.is_cpu() || count <= pass.images_at_once) return layers(images);
  // Parts of sizes that differ by one at most: never a few images alone, for which libraries may
  // have kernels of their own.
  const int64_t parts = (count + pass.images_at_once - 1) / pass.images_at_once;
  std::vector<at::Tensor> results;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = i * count / parts;
    results.push_back(layers(images.narrow(0, first, (i + 1) * count / parts - first)));
  }
  return at::cat(results);
}

}  // namespace noisefloor::trainer
