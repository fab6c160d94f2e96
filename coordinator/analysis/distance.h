// Distances between the weights of members. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::analysis {

struct Distance {
  double raw = 0;         // |a - b|
  double normalised = 0;  // | a/|a| - b/|b| |, in [0, 2]
  double cosine = 0;      // a.b / (|a| |b|)
};

// Absent when the sizes differ, are zero, a weight is not finite, or a norm is zero.
std::optional<Distance> DistanceOf(std::span<const float> a, std::span<const float> b);

// Means over pairs of members. Members whose weights are empty, not finite, zero or of another
// size than the first are left out and counted in the notes.
struct Distances {
  Estimate raw;         // "norm"
  Estimate normalised;  // "norm"
  Estimate cosine;      // "correlation"
};
Distances MeanDistances(std::span<const std::span<const float>> weights);

}  // namespace noisefloor::analysis
