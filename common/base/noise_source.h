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
};

inline constexpr std::array<NoiseSource, 9> kAllNoiseSources = {
    NoiseSource::kInit,     NoiseSource::kDataOrder,   NoiseSource::kAugment,
    NoiseSource::kDropout,  NoiseSource::kPoke,        NoiseSource::kKernels,
    NoiseSource::kAutotune, NoiseSource::kReduceOrder, NoiseSource::kThreads,
};

enum class SourceState : uint8_t {
  kOff = 0,    // Does not act at all (poke when not asked for).
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

}  // namespace noisefloor
