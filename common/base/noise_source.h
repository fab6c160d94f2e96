// The noise sources, their names, and whether they are fixed or free.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace noisefloor {

// The numbers are normative: they go into seeds (seed.h). Never renumber.
enum class NoiseSource : uint8_t {
  kInit = 1,
  kDataOrder = 2,
  kAugment = 3,
  kDropout = 4,
  kPoke = 5,
  kKernels = 6,
  kAutotune = 7,
  kReduceOrder = 8,
  kThreads = 9,
  kDial = 10,
  kLoad = 11,
};

inline constexpr std::array<NoiseSource, 11> kAllNoiseSources = {
    NoiseSource::kInit,     NoiseSource::kDataOrder,   NoiseSource::kAugment,
    NoiseSource::kDropout,  NoiseSource::kPoke,        NoiseSource::kKernels,
    NoiseSource::kAutotune, NoiseSource::kReduceOrder, NoiseSource::kThreads,
    NoiseSource::kDial,     NoiseSource::kLoad,
};

enum class SourceState : uint8_t {
  kOff = 0,    // Does not act at all (IsOffUnlessAsked).
  kFixed = 1,  // One lane for all replicates; physical sources held still.
  kFree = 2,   // A lane per replicate or per level (seed.h); physical sources let go.
};

std::string_view Name(NoiseSource source);  // "data_order"
std::string_view Name(SourceState state);   // "off", "fixed", "free"
std::optional<NoiseSource> ParseNoiseSource(std::string_view name);
std::optional<SourceState> ParseSourceState(std::string_view name);

// Physical sources (kernels, autotune, reduce_order) have no draws: freeing them lets the machine
// decide. The others are seeded.
bool IsPhysical(NoiseSource source);

// Sources that a training has only where its plan names them. The others are at least fixed.
constexpr bool IsOffUnlessAsked(NoiseSource source) {
  return source == NoiseSource::kPoke || source == NoiseSource::kThreads ||
         source == NoiseSource::kDial || source == NoiseSource::kLoad;
}

// Whether a state is told where the states of all sources are. Sources that 0.2 did not have are
// left out where they are off: what was written before there were any says the same and keeps its
// hash.
constexpr bool IsTold(NoiseSource source, SourceState state) {
  const bool is_of_02 = static_cast<uint8_t>(source) <= static_cast<uint8_t>(NoiseSource::kThreads);
  return is_of_02 || state != SourceState::kOff;
}

}  // namespace noisefloor
