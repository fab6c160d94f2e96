// The word that was most likely meant. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace noisefloor {

// Longer texts are no slip of a name: Nearest answers nothing for them.
inline constexpr size_t kMostCompared = 200;

// Levenshtein distance in bytes. Takes time and memory of the product and sum of the lengths.
size_t EditDistance(std::string_view a, std::string_view b);

// The nearest of `known` to `wrong`, or empty when none is near.
std::string_view Nearest(std::string_view wrong, std::span<const std::string_view> known);

}  // namespace noisefloor
