// Distances between the weights of members, which a memory may know. Internal to this folder.
#pragma once

#include <vector>

#include "coordinator/report/study_input.h"

namespace noisefloor::report {

// Of members in order, in memory or opened as long as it takes. `memory` may be null. Each distance
// says how many parameters without effect are in none.
struct CellDistances {
  analysis::Distances parameters;
  analysis::Distances all;  // Parameters and running statistics.
};
CellDistances DistancesOf(const std::vector<const WeightsView*>& members, DistanceMemory* memory);
analysis::Distances ParameterDistancesOf(const std::vector<const WeightsView*>& members,
                                         DistanceMemory* memory);

// Members of two sides whose weights have one layout.
struct WeightsPair {
  const WeightsView* a;
  const WeightsView* b;
};
// Mean normalised distance of the parameters of pairs, see MeanOverDraws; remembered as one.
analysis::Estimate PairedDistance(const std::vector<std::vector<WeightsPair>>& blocks, bool each,
                                  DistanceMemory* memory);

}  // namespace noisefloor::report
