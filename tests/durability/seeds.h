// How many draws of what survives a loss of power a test looks at, beside nothing and everything.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace noisefloor {

// $NOISEFLOOR_POWER_SEEDS, else one.
inline uint64_t PowerSeeds() {
  const char* text = std::getenv("NOISEFLOOR_POWER_SEEDS");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

}  // namespace noisefloor
