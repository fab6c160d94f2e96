// The arithmetic of a training: which types its weights and its layers have.
//
// fp32, tf32  weights and layers float; tf32 is a switch of GPUs (facts/switches.h)
// fp64        weights and layers double, from the same float initial weights and images
// bf16, fp16  weights, gradients and optimiser float; LibTorch's autocast gives each operation of
//             the forward pass its type, backward has those of forward. The loss is of float logits
#pragma once

#include <ATen/ATen.h>

#include <string_view>

namespace noisefloor::trainer {

// Of parameters, buffers, gradients and the loss.
at::ScalarType WeightTypeOf(std::string_view precision);
// Of the convolutions and matrix products of a training pass.
at::ScalarType LayerTypeOf(std::string_view precision);

// While it lives, operations of this thread that autocast lists run in `layers`, and nothing else
// changes; does nothing when that is a type of weights. Casts are not kept: each pass uses a weight
// once.
class LowPrecision {
 public:
  LowPrecision(at::DeviceType device, at::ScalarType layers);
  ~LowPrecision();
  LowPrecision(const LowPrecision&) = delete;
  LowPrecision& operator=(const LowPrecision&) = delete;

 private:
  const at::DeviceType device_;
  const bool on_;
};

}  // namespace noisefloor::trainer
