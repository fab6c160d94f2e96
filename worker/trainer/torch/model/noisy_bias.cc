#include "worker/trainer/torch/model/noisy_bias.h"

#include <torch/csrc/autograd/custom_function.h>

#include "worker/trainer/cuda/requests.h"
#include "worker/trainer/torch/model/launch.h"

namespace noisefloor::trainer {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// {c} of `gradient`, whose dimension `channels` has c.
at::Tensor NoisySum(const at::Tensor& gradient, int64_t channels, cuda::KernelLauncher& launcher) {
  const at::Tensor rows = gradient.movedim(channels, -1).to(at::kFloat).contiguous();
  const auto columns = static_cast<uint64_t>(rows.size(-1));
  const at::Tensor sums = at::zeros({rows.size(-1)}, rows.options());
  LaunchOrThrow(launcher, cuda::NoisySumLaunch(rows.const_data_ptr<float>(),
                                               static_cast<uint64_t>(rows.numel()) / columns,
                                               columns, sums.mutable_data_ptr<float>()));
  return sums;
}

struct NoisyBiasFunction : torch::autograd::Function<NoisyBiasFunction> {
  // A copy: a layer that writes into what it is given may come next, and what a function of our own
  // hands through must not be written into.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& y, const at::Tensor& bias,
                            int64_t channels, cuda::KernelLauncher* launcher) {
    context->saved_data["channels"] = channels;
    context->saved_data["launcher"] = reinterpret_cast<int64_t>(launcher);
    context->saved_data["type"] = bias.scalar_type();
    return y.clone();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto* const launcher =
        reinterpret_cast<cuda::KernelLauncher*>(context->saved_data["launcher"].toInt());
    const at::Tensor sums =
        NoisySum(gradients[0], context->saved_data["channels"].toInt(), *launcher);
    return {gradients[0], sums.to(context->saved_data["type"].toScalarType()), {}, {}};
  }
};

}  // namespace

at::Tensor NoisyBias(const at::Tensor& y, const at::Tensor& bias, int64_t channels,
                     cuda::KernelLauncher& launcher) {
  return NoisyBiasFunction::apply(y, bias, channels, &launcher);
}

}  // namespace noisefloor::trainer
