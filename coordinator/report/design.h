// Trainings that share some draws and not others, as a design that tells sources apart.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/base/noise_source.h"

namespace noisefloor::report {

// A training and the number of its draw of each seeded source that acts, in a block.
struct Training {
  size_t member = 0;  // Whatever the caller means by it.
  uint32_t block = 0;
  std::map<NoiseSource, uint32_t> draws;
};

// Trainings with equal draws of everything are one and the same, where nothing is left to chance.
void DropCopies(std::vector<Training>& trainings);

// Sources of which trainings have different draws; those that always vary together are one factor.
struct Factors {
  std::vector<std::vector<NoiseSource>> seeded;
  bool uncontrolled = false;  // The physical sources that are free are one more, the last.
  int count() const { return static_cast<int>(seeded.size()) + (uncontrolled ? 1 : 0); }
};
Factors FactorsOf(const std::vector<Training>& trainings, bool uncontrolled);

// "init", "data_order + augment", ...: one for each factor.
std::vector<std::string> NamesOf(const Factors& factors, std::span<const NoiseSource> physical);

// Whose draw of each factor a training has. What nobody controls no two trainings share: there it
// is its place among the trainings of its block.
std::vector<uint32_t> LevelsOf(const Training& training, const Factors& factors, uint32_t place);

}  // namespace noisefloor::report
