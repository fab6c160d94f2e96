#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "worker/trainer/torch/probe.h"

namespace noisefloor::trainer {

void RunProbe() {
  at::set_num_threads(1);
  const auto options = at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast);
  const at::Tensor images = at::full({8, 16, 16, 16}, 0.5, options);
  const at::Tensor weight = at::full({32, 16, 3, 3}, 0.25, options).requires_grad_(true);
  at::conv2d(images, weight, {}, /*stride=*/1, /*padding=*/1).sum().backward();
  const at::Tensor square = at::full({64, 64}, 0.5);
  at::mm(square, square);
}

}  // namespace noisefloor::trainer
