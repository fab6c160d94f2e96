#include "worker/trainer/torch/layers.h"

namespace noisefloor::trainer {

at::Tensor BatchNorm::operator()(const at::Tensor& x, const ForwardPass& pass) const {
  // With momentum 1 the batch's own statistics are what is written.
  return pass.training
             ? at::batch_norm(x, weight, bias, batch_mean, batch_variance, /*training=*/true,
                              /*momentum=*/1.0, epsilon, at::globalContext().userEnabledCuDNN())
             : at::batch_norm(x, weight, bias, running_mean, running_var, /*training=*/false,
                              /*momentum=*/0.0, epsilon, at::globalContext().userEnabledCuDNN());
}

at::Tensor Dropout::operator()(const at::Tensor& x, const ForwardPass& pass) const {
  if (!pass.training || probability == 0) return x;
  const int64_t each = x.numel() / x.size(0);
  const at::Tensor mask = at::empty(x.sizes(), at::kFloat);
  pass.dropout.Fill(static_cast<uint64_t>(pass.step), name, probability,
                    static_cast<uint64_t>(pass.first_example * each),
                    {mask.mutable_data_ptr<float>(), static_cast<size_t>(x.numel())});
  return x *
         mask.to(x.options(), /*non_blocking=*/false, /*copy=*/false, x.suggest_memory_format());
}

}  // namespace noisefloor::trainer
