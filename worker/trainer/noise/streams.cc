#include "worker/trainer/noise/streams.h"

namespace noisefloor::trainer {

Streams MakeStreams(const Specification& specification) {
  const auto seed = [&](NoiseSource source) { return specification.Source(source).seed; };
  const SourceSettings& sources = specification.sources;
  const bool draws_threads =
      specification.Source(NoiseSource::kThreads).state != SourceState::kOff &&
      !sources.thread_choices.empty();
  return {
      .init = InitDraws(seed(NoiseSource::kInit)),
      .data_order =
          DataOrder(seed(NoiseSource::kDataOrder), static_cast<uint64_t>(sources.shuffle_window)),
      .augment = AugmentDraws(seed(NoiseSource::kAugment), sources.augment_key == "position"
                                                               ? AugmentKey::kPosition
                                                               : AugmentKey::kExample),
      .dropout = DropoutDraws(seed(NoiseSource::kDropout)),
      .threads = draws_threads ? DrawThreads(seed(NoiseSource::kThreads), sources.thread_choices)
                               : specification.train.threads};
}

}  // namespace noisefloor::trainer
