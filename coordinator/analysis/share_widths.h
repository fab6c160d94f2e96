// How narrowly a design will tell the shares of its sources, before anything is trained: by
// simulated studies. Pure; equal designs give equal numbers.
#pragma once

#include <optional>
#include <span>

#include "coordinator/analysis/decomposition.h"

namespace noisefloor::analysis {

// Half the width of the 95 % intervals: the median over studies, and over the sources whose shares
// the design tells. Absent where it tells none with an interval.
struct ShareWidths {
  std::optional<double> first_order;
  std::optional<double> total;
};

// Of studies in which sources mostly act together, as is found of networks: each alone makes 2 % of
// the variance, every two 3 %, all of them together the rest. `directions`: how many independent
// values vary with that variance: 1 is an accuracy; a churn has as many as answers that vary
// independently, some 25 to 50. `design`: the levels of every block, their distances are not read.
ShareWidths ExpectedShareWidths(std::span<const DesignBlock> design, int sources, int directions);

}  // namespace noisefloor::analysis
