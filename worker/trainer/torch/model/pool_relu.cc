#include "worker/trainer/torch/model/pool_relu.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace noisefloor::trainer {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

PoolShape ShapeOf(const at::Tensor& x) { return {x.size(2), x.size(3), x.size(1)}; }

at::Tensor NewOutput(const at::Tensor& x, at::ScalarType type) {
  const PoolShape shape = ShapeOf(x);
  return at::empty({x.size(0), shape.channels, shape.windows_high(), shape.windows_wide()},
                   x.options().dtype(type), at::MemoryFormat::ChannelsLast);
}

// Calls `work` for ranges of the rows of windows of all images, on the threads of an operation.
template <typename Work>
void ForRows(int64_t images, const PoolShape& shape, const Work& work) {
  const int64_t row = std::max<int64_t>(1, 2 * shape.width * shape.channels);
  const int64_t grain = std::max<int64_t>(1, at::internal::GRAIN_SIZE / row);
  at::parallel_for(0, images * shape.windows_high(), grain, work);
}

// `winners`: undefined when no gradient will be asked for.
at::Tensor Forward(const at::Tensor& x, const at::Tensor& winners) {
  const PoolShape shape = ShapeOf(x);
  const at::Tensor result = NewOutput(x, at::kFloat);
  const float* from = x.const_data_ptr<float>();
  auto* to = result.mutable_data_ptr<float>();
  auto* kept = winners.defined() ? winners.mutable_data_ptr<uint8_t>() : nullptr;
  const PoolRelu& form = PoolReluFor(InstructionSetOfAten(), shape.channels);
  ForRows(x.size(0), shape,
          [&](int64_t first, int64_t last) { form.forward(shape, from, first, last, to, kept); });
  return result;
}

at::Tensor Backward(const at::Tensor& gradient, const at::Tensor& winners, at::IntArrayRef sizes) {
  const at::Tensor result = at::empty(sizes, gradient.options(), at::MemoryFormat::ChannelsLast);
  const PoolShape shape = ShapeOf(result);
  const at::Tensor given = gradient.contiguous(at::MemoryFormat::ChannelsLast);
  const float* from = given.const_data_ptr<float>();
  const auto* kept = winners.const_data_ptr<uint8_t>();
  auto* to = result.mutable_data_ptr<float>();
  const PoolRelu& form = PoolReluFor(InstructionSetOfAten(), shape.channels);
  ForRows(result.size(0), shape,
          [&](int64_t first, int64_t last) { form.backward(shape, from, kept, first, last, to); });
  return result;
}

struct PoolReluFunction : torch::autograd::Function<PoolReluFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    const at::Tensor winners = NewOutput(x, at::kByte);
    context->save_for_backward({winners});
    context->saved_data["sizes"] = x.sizes();
    return Forward(x, winners);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {Backward(gradients[0], context->get_saved_variables()[0],
                     context->saved_data["sizes"].toIntVector())};
  }
};

// Not with fewer than one window: what LibTorch says of that, it shall say.
bool HasOneForm(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.dim() == 4 && x.size(2) > 1 &&
         x.size(3) > 1 && x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

InstructionSet InstructionSetOfAten() {
  static const std::string capability = at::get_cpu_capability();
  if (capability == "AVX512") return InstructionSet::kAvx512;
  return capability == "AVX2" ? InstructionSet::kAvx2 : InstructionSet::kSse;
}

at::Tensor PoolThenRelu(const at::Tensor& x) {
  if (!HasOneForm(x)) return at::max_pool2d(x, {2, 2}).relu_();
  if (at::GradMode::is_enabled() && x.requires_grad()) return PoolReluFunction::apply(x);
  return Forward(x, {});
}

}  // namespace noisefloor::trainer
