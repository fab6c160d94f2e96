// All kernels: one module.
#include "worker/trainer/cuda/kernels/augment.cuh"
#include "worker/trainer/cuda/kernels/dial.cuh"
#include "worker/trainer/cuda/kernels/dropout.cuh"
#include "worker/trainer/cuda/kernels/hash.cuh"
#include "worker/trainer/cuda/kernels/noisy.cuh"
