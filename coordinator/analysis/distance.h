// Distances between the weights of members. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {

// The weights of one member: its pieces in order are one flat vector. Views; empty: none.
using WeightPieces = std::vector<std::span<const float>>;

// Those that can be compared: finite, not all zero, and cut into the same pieces as the first of
// them.
struct UsableWeights {
  size_t place = 0;  // Among those that were asked.
  double norm = 0;
};
std::vector<UsableWeights> FindUsable(std::span<const WeightPieces> weights);

// Half the squared distance of every two members, whose expectation over independent members is the
// variance of all weights together. `weights` are usable.
PairMatrix SquaredDistances(std::span<const WeightPieces> weights);

// Means over pairs of members. Members whose weights are not usable are left out and counted in the
// notes.
struct Distances {
  Estimate raw;         // |a - b|; "norm"
  Estimate normalised;  // | a/|a| - b/|b| |, in [0, 2]; "norm"
  Estimate cosine;      // a.b / (|a| |b|); "correlation"
};
Distances MeanDistances(std::span<const WeightPieces> weights);

}  // namespace noisefloor::analysis
