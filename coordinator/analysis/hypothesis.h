// What of many tests may be claimed together, and which of many values may be the largest. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace noisefloor::analysis {

// Which tests of a family can be claimed at all after correction, by the least p of each: a test
// that never rejects needs no correction for it. With K the smallest number such that at most K
// tests have a least p of at most level / K, those (Tarone 1990).
std::vector<bool> CanBeClaimed(std::span<const double> least, double level);

// Holm's step-down adjustment (1979) of the p-values of one family, each to be compared with the
// level of the family. Absent ones are in no family.
std::vector<std::optional<double>> Holm(std::span<const std::optional<double>> p);
// Likewise where each has a weight > 0: its share of the level, which goes over to the others once
// it is claimed.
std::vector<std::optional<double>> Holm(std::span<const std::optional<double>> p,
                                        std::span<const double> weights);

// A confidence set, at 1 - `level`, for the largest of several values that are estimated from the
// same replicates: places of the values that no other is significantly above. `without[i]` are the
// values when replicate i is left out. Value c stays unless for some d
//   values[d] - values[c] > t(replicates - 1; 1 - level / (values - 1)) * se(values[d] -
//   values[c]),
// the standard error by leaving out one replicate from both (Hsu 1984; Mogstad, Romano, Shaikh,
// Wilhelm 2024). All places below three replicates.
std::vector<size_t> MayBeLargest(std::span<const double> values,
                                 std::span<const std::vector<double>> without, double level = 0.05);

}  // namespace noisefloor::analysis
