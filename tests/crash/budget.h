// How much of a matrix is tried, and what is drawn of it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "tests/simulation/chance.h"

namespace noisefloor::test {

// $NOISEFLOOR_CRASH_ALL: every point of every matrix, as `deploy/check --all` wants it.
inline bool EveryPoint() { return std::getenv("NOISEFLOOR_CRASH_ALL") != nullptr; }

// Of what is drawn; printed. $NOISEFLOOR_CRASH_SEED, else another one for each process.
inline uint64_t CrashSeed() {
  static const uint64_t seed = [] {
    const char* text = std::getenv("NOISEFLOOR_CRASH_SEED");
    const uint64_t drawn = text == nullptr ? Chance(static_cast<uint64_t>(getpid())).Below(1000000)
                                           : std::strtoull(text, nullptr, 10);
    std::cout << "NOISEFLOOR_CRASH_SEED=" << drawn << std::endl;
    return drawn;
  }();
  return seed;
}

}  // namespace noisefloor::test
