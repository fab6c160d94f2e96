// Kernels with mistakes, for the test of the tester.
#pragma once

#include <string_view>

#include "tests/worker/trainer/cuda/rehearsal.h"

namespace noisefloor::cuda::rehearsal {

struct PlantedArguments {
  float* values;        // {256}
  const float* others;  // {256}, only read
};

// By name: those of planted.cc.
Body PlantedBody(std::string_view name);

}  // namespace noisefloor::cuda::rehearsal
