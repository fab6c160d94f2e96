#include "worker/trainer/noise/streams.h"

namespace noisefloor::trainer {

Streams MakeStreams(const Specification& specification) {
  const auto seed = [&](NoiseSource source) { return specification.Source(source).seed; };
  const SourceSettings& sources = specification.sources;
  const auto drawn = [&](NoiseSource source, const std::vector<int64_t>& choices, int64_t off) {
    const bool draws = specification.Source(source).state != SourceState::kOff && !choices.empty();
    return draws ? DrawThreads(seed(source), choices) : off;
  };
  return {
      .init = InitDraws(seed(NoiseSource::kInit)),
      .data_order =
          DataOrder(seed(NoiseSource::kDataOrder), static_cast<uint64_t>(sources.shuffle_window)),
      .augment = AugmentDraws(seed(NoiseSource::kAugment), sources.augment_key == "position"
                                                               ? AugmentKey::kPosition
                                                               : AugmentKey::kExample),
      .dropout = DropoutDraws(seed(NoiseSource::kDropout)),
      .dial = DialDraws(seed(NoiseSource::kDial)),
      .threads = drawn(NoiseSource::kThreads, sources.thread_choices, specification.train.threads),
      .load = drawn(NoiseSource::kLoad, sources.load_choices, 0)};
}

}  // namespace noisefloor::trainer
