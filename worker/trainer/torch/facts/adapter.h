// What LibTorch's versions spell differently: adapter_X_Y.cc for each version that a stack has.
#pragma once

#include <ATen/Context.h>

#include <exception>
#include <string>

namespace noisefloor::trainer {

// Whether CUDA itself, or one of its libraries but cuDNN, said that something failed.
bool IsErrorOfCuda(const std::exception& error);

// Whether cuBLAS may add products of half precision in less than single precision.
bool ReducesFp16(const at::Context& context);
bool ReducesBf16(const at::Context& context);

// The instruction set of ATen's own kernels: "DEFAULT", "AVX2", "AVX512".
std::string CpuCapability();

}  // namespace noisefloor::trainer
