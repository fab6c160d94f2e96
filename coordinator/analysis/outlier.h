// Is one value too far from the others to be one of the same normal values? Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace noisefloor::analysis {

struct Farthest {
  size_t place = 0;       // Of the value that is farthest from the mean.
  double deviations = 0;  // How many standard deviations (ddof 1, itself included).
  double p = 1;  // Grubbs' test (1950), two-sided: exact for normal values but for its bound.
};

// Absent below four finite values, or where all are equal. Values that are not finite are left out.
std::optional<Farthest> FarthestValue(std::span<const double> values);

}  // namespace noisefloor::analysis
