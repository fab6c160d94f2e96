// Distances between the weights of members. Pure.
#pragma once

#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::analysis {

// The weights of one member: its pieces in order are one flat vector. Views; empty: none.
using WeightPieces = std::vector<std::span<const float>>;

// Means over pairs of members. Members whose weights are empty, not finite, zero or cut into other
// pieces than the first's are left out and counted in the notes.
struct Distances {
  Estimate raw;         // |a - b|; "norm"
  Estimate normalised;  // | a/|a| - b/|b| |, in [0, 2]; "norm"
  Estimate cosine;      // a.b / (|a| |b|); "correlation"
};
Distances MeanDistances(std::span<const WeightPieces> weights);

}  // namespace noisefloor::analysis
