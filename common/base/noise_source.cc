#include "common/base/noise_source.h"

namespace noisefloor {

std::string_view Name(NoiseSource source) {
  switch (source) {
    case NoiseSource::kInit: return "init";
    case NoiseSource::kDataOrder: return "data_order";
    case NoiseSource::kAugment: return "augment";
    case NoiseSource::kDropout: return "dropout";
    case NoiseSource::kPoke: return "poke";
    case NoiseSource::kKernels: return "kernels";
    case NoiseSource::kAutotune: return "autotune";
    case NoiseSource::kReduceOrder: return "reduce_order";
    case NoiseSource::kThreads: return "threads";
    case NoiseSource::kDial: return "dial";
    case NoiseSource::kLoad: return "load";
  }
  return "corrupt";
}

std::string_view Name(SourceState state) {
  switch (state) {
    case SourceState::kOff: return "off";
    case SourceState::kFixed: return "fixed";
    case SourceState::kFree: return "free";
  }
  return "corrupt";
}

std::optional<NoiseSource> ParseNoiseSource(std::string_view name) {
  for (const NoiseSource source : kAllNoiseSources) {
    if (Name(source) == name) return source;
  }
  return std::nullopt;
}

std::optional<SourceState> ParseSourceState(std::string_view name) {
  for (const SourceState state : {SourceState::kOff, SourceState::kFixed, SourceState::kFree}) {
    if (Name(state) == name) return state;
  }
  return std::nullopt;
}

bool IsPhysical(NoiseSource source) {
  return source == NoiseSource::kKernels || source == NoiseSource::kAutotune ||
         source == NoiseSource::kReduceOrder;
}

}  // namespace noisefloor
