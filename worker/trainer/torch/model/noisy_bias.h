// Noise on purpose: `sources.kernels.kind: noisy`.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace noisefloor::cuda {
class KernelLauncher;
}  // namespace noisefloor::cuda

namespace noisefloor::trainer {

// The values of `y`, what a layer makes with the values of `bias`, which it adds to dimension
// `channels`. The gradient of y is passed on to the layer as it is; that of the bias is its sum
// over all other dimensions, in floats, by NoisySumRows: in the order in which the GPU's threads
// come. So results differ from the stock kernels' by that order alone (but that it flushes
// subnormals). `launcher`, where y is, is borrowed until gradients are made, which throws
// c10::Error when a launch fails.
at::Tensor NoisyBias(const at::Tensor& y, const at::Tensor& bias, int64_t channels,
                     cuda::KernelLauncher& launcher);

}  // namespace noisefloor::trainer
