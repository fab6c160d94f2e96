// seed(source) = H(sweep seed, source, lane). Normative; known answers in
// worker/trainer/README.md. Seeds do not depend on axes, hardware or stack.
#pragma once

#include <compare>
#include <cstdint>

#include "common/base/noise_source.h"

namespace noisefloor {

// Members with the same lane of a source get the same draws from it.
struct Lane {
  uint32_t block = 0;
  uint32_t number = 0;  // 0 fixed, replicate + 1 free.
  friend auto operator<=>(const Lane&, const Lane&) = default;
};

// The rule of each state, and the only place that knows it: a lane is never kept, it follows from
// the cell (state and block) and the replicate.
constexpr Lane LaneOf(SourceState state, uint32_t block, uint32_t replicate) {
  return {block, state == SourceState::kFree ? replicate + 1 : 0};
}

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA'14) after its increment: a bijection.
constexpr uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

constexpr uint64_t DeriveSeed(uint64_t sweep_seed, NoiseSource source, Lane lane) {
  uint64_t h = Mix(sweep_seed);
  h = Mix(h ^ static_cast<uint64_t>(source));
  h = Mix(h ^ lane.block);
  return Mix(h ^ lane.number);
}
static_assert(DeriveSeed(1, NoiseSource::kInit, Lane{0, 0}) !=
              DeriveSeed(1, NoiseSource::kInit, Lane{0, 1}));
static_assert(DeriveSeed(1, NoiseSource::kInit, Lane{1, 0}) !=
              DeriveSeed(1, NoiseSource::kInit, Lane{0, 1}));

}  // namespace noisefloor
