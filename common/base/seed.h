// seed(source) = H(sweep seed, source, lane). Normative; known answers in
// worker/trainer/noise/README.md. Seeds do not depend on axes, hardware or stack.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "common/base/noise_source.h"

namespace noisefloor {

// Members with the same lane of a source get the same draws from it.
struct Lane {
  uint32_t block = 0;
  uint32_t number = 0;  // 0 fixed, level + 1 free.
  friend auto operator<=>(const Lane&, const Lane&) = default;
};

// What gives the members of a cell their lanes of one source.
struct LaneRule {
  SourceState state = SourceState::kFixed;
  // Of a free source: replicate r has level levels[r % size], so that any design can be written
  // down. Empty: the level is the replicate, each member's own.
  std::vector<uint32_t> levels;
  friend bool operator==(const LaneRule&, const LaneRule&) = default;
};
using LaneRules = std::array<LaneRule, kAllNoiseSources.size()>;  // kAllNoiseSources' order.

inline LaneRule& RuleOf(LaneRules& rules, NoiseSource source) {
  return rules[static_cast<size_t>(source) - 1];
}
inline const LaneRule& RuleOf(const LaneRules& rules, NoiseSource source) {
  return rules[static_cast<size_t>(source) - 1];
}

// The only place that knows what a rule means: a lane is never kept, it follows from the cell
// (rule and block) and the replicate.
inline Lane LaneOf(const LaneRule& rule, uint32_t block, uint32_t replicate) {
  if (rule.state != SourceState::kFree) return {block, 0};
  return {block,
          (rule.levels.empty() ? replicate : rule.levels[replicate % rule.levels.size()]) + 1};
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
