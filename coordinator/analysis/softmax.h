// Probabilities from logits, and how far they lie apart. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {

// Example by example. `logits`, `probabilities`: {examples, classes}; logits are finite.
void Softmax(std::span<const float> logits, size_t classes, std::span<float> probabilities);

// Of every two members: half the squared distance of their probabilities, a mean over examples, in
// [0, 1]: churn where every answer is sure, and what averaging members takes from a Brier score.
// `logits`: of each member {examples, classes}, finite; read a few examples at a time.
PairMatrix ProbabilityDistances(std::span<const std::span<const float>> logits, int32_t classes);

}  // namespace noisefloor::analysis
