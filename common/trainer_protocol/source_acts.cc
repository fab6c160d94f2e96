#include "common/trainer_protocol/source_acts.h"

#include <algorithm>

namespace noisefloor {

namespace {

bool HasTwo(const std::vector<int64_t>& choices) {
  return std::ranges::any_of(choices, [&](int64_t one) { return one != choices.front(); });
}

}  // namespace

bool SourceActs(const Specification& s, NoiseSource source) {
  if (source == NoiseSource::kInit) return true;
  if (s.train.epochs == 0) return false;
  switch (source) {
    case NoiseSource::kInit: return true;
    case NoiseSource::kDataOrder: return s.sources.shuffle_window != 1;
    case NoiseSource::kAugment:
      return s.augment.crop_padding > 0 || s.augment.flip || s.augment.cutout > 0;
    case NoiseSource::kDropout: return s.model.dropout > 0;
    case NoiseSource::kPoke: return true;
    case NoiseSource::kKernels:
    case NoiseSource::kAutotune: return !s.hardware_class.starts_with("cpu-");
    case NoiseSource::kReduceOrder: return s.train.shards >= 3;
    case NoiseSource::kThreads: return HasTwo(s.sources.thread_choices);
  }
  return false;
}

}  // namespace noisefloor
