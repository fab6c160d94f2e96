// A member's whole training in float64: what the trainer must come near to, and the hashes of what
// it begins with, which must be equal.
#pragma once

#include <string>
#include <vector>

#include "common/files/tensor.h"
#include "common/trainer_protocol/specification.h"
#include "tests/worker/trainer/twin/array.h"
#include "worker/trainer/data/dataset.h"

namespace noisefloor::trainer::twin {

struct Trained {
  std::string init_hash, first_batches_hash;
  Arrays begun;                                // Parameters and buffers before the first step.
  Arrays ended;                                // And after the last.
  std::vector<double> learning_rates, losses;  // By step.
  Array logits;                                // {test examples, classes}
};

// Fixed sums only: sources that are physical make no difference here. Without a poke.
Trained Train(const Specification& specification, const Dataset& dataset);

// Logits of the test set by given parameters and buffers, not training.
Array Evaluate(const Specification& specification, const Dataset& dataset, const Arrays& weights);

// Float32 tensors as arrays.
Arrays ArraysOf(const std::vector<TensorView>& tensors);

}  // namespace noisefloor::trainer::twin
