// The source `poke`: one weight moved by one unit in the last place, the smallest difference that
// two trainings can have.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/trainer_protocol/specification.h"
#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

struct Poke {
  bool on = false;
  int64_t step = 0;  // Optimiser steps done before it.
  std::string parameter;
  int64_t element = 0;  // In logical (row-major) order.
};

// Fixed: the element that the specification names, the same in all replicates. Free: the element
// UniformBelow(words 0 and 1 of block 0 of stream 0, number of elements) of the member's own seed.
// No parameter named: the first in name order that is no bias and has more than one dimension.
// InvalidArgument when the parameter or element does not exist.
absl::StatusOr<Poke> ResolvePoke(const Specification& specification, const Model& model);

// Moves the element to the next number of the weights' type away from zero.
void ApplyPoke(const Poke& poke, const Model& model);

}  // namespace noisefloor::trainer
