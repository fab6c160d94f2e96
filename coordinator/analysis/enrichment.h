// Are the examples of a group more often among those that were chosen than others are? Pure.
//
// Said of examples, for the members that chose: that the group does not matter means that any
// examples could as well be the chosen ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/per_class.h"

namespace noisefloor::analysis {

struct Enrichment {
  int64_t examples = 0;  // Of the group.
  int64_t chosen = 0;    // Of those.
  Estimate ratio;        // Its share of the chosen / its share of all; Wilson's interval of the
                         // first. Absent where nothing is chosen or the group is empty.
  double p = 1;          // Exact, two-sided: twice the smaller tail of the hypergeometric.
};

// One for each group. `chosen` are different places in groups.of_example.
std::vector<Enrichment> EnrichmentOfGroups(std::span<const int64_t> chosen, const Groups& groups);

}  // namespace noisefloor::analysis
