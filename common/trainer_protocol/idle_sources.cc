#include "common/trainer_protocol/idle_sources.h"

#include <algorithm>

#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/networks.h"
#include "common/trainer_protocol/setting.h"
#include "common/trainer_protocol/steps.h"

namespace noisefloor {
namespace {

using Reason = std::optional<std::string>;

// The buffer of a windowed shuffle that holds one example passes it on.
Reason OrderIsFixed(const Specification& s) {
  if (s.sources.shuffle_window == 1) return "sources.data_order.window is 1: nothing is shuffled";
  if (PlannedExamples(s) == 1) return "there is one training example";
  return std::nullopt;
}

Reason NothingToAugment(const AugmentSettings& augment) {
  if (augment.crop_padding > 0 || augment.flip || augment.cutout > 0) return std::nullopt;
  return "no crop, flip or cutout is on";
}

Reason NothingToDrop(const ModelSettings& model) {
  const KnownNetwork* network = FindNetwork(model.name);
  if (network == nullptr || (network->reads & kReadsDropout) == 0) {
    return model.name + " has no dropout";
  }
  if (model.dropout > 0) return std::nullopt;
  return "model.dropout is 0";
}

Reason OneOrderOfSums(const TrainSettings& train) {
  if (train.shards >= 3) return std::nullopt;
  return "train.shards is " + std::to_string(train.shards) +
         ": the sum of fewer than three shards has the same bits in every order";
}

bool Differ(const std::vector<int64_t>& choices) {
  return std::ranges::any_of(choices, [&](int64_t choice) { return choice != choices[0]; });
}

// A GPU's member has sums on its GPU alone: the threads of its host draw, copy and convert.
Reason ThreadsAddNothing(const Specification& s) {
  if (!Differ(s.sources.thread_choices)) return "sources.threads.choices has one number";
  if (!IsGpuClass(s.hardware_class)) return std::nullopt;
  return "on a GPU no operation that makes bits runs on them";
}

// Fixed or free, a processor's kernels are the same ones; deterministic ones and autotuning are
// choices that cuDNN and cuBLAS have.
Reason KernelsOfAProcessor(const Specification& s) {
  if (!IsCpuClass(s.hardware_class)) return std::nullopt;
  return "on a processor there is one choice of kernels";
}

// The next float from a zero is lost in the first step: worker/trainer/noise/README.md.
Reason PokesAZero(const Specification& s) {
  const SourceSettings& sources = s.sources;
  if (sources.poke_step > 0 || !sources.poke_parameter.ends_with(".bias")) return std::nullopt;
  if (s.model.name == "resnet9_whitened" && sources.poke_parameter == "stem.bias") {
    return std::nullopt;  // The patches' mean, with another sign.
  }
  return sources.poke_parameter + " is 0 before its first step, which loses so small a poke";
}

// No draw is further from 0 than kFarthestDraw, and what is less than half a unit in the last place
// is rounded away.
Reason DialsNothing(const Specification& s) {
  constexpr double kFarthestDraw = 6.34;
  const double half_a_unit = s.train.precision == "fp64" ? 0x1p-54 : 0x1p-25;
  if (s.sources.dial_size * kFarthestDraw >= half_a_unit) return std::nullopt;
  return "sources.dial.size is " + ToText(SettingValue(s.sources.dial_size)) +
         ": every gradient is rounded back to what it was";
}

// A load changes when things happen. Bits hear of that only where something is added, or chosen, as
// it comes; on a GPU unless the kernels are deterministic and chosen without timing.
Reason NothingToDisturb(const Specification& s) {
  if (!Differ(s.sources.load_choices)) return "sources.load.choices has one number";
  const auto is_free = [&](NoiseSource source) {
    return s.Source(source).state == SourceState::kFree;
  };
  const bool adds = is_free(NoiseSource::kReduceOrder) && s.train.shards >= 3;
  const bool chooses = !s.hardware_class.starts_with("cpu-") &&
                       (is_free(NoiseSource::kKernels) || is_free(NoiseSource::kAutotune));
  if (adds || chooses) return std::nullopt;
  return "it changes times, and no source that depends on times is free";
}

}  // namespace

std::optional<std::string> IdleReason(const Specification& specification, NoiseSource source) {
  const bool trains = specification.train.epochs > 0 || specification.measure.steps > 0;
  const Reason untrained = trains ? Reason() : "train.epochs is 0: nothing is trained";
  switch (source) {
    case NoiseSource::kInit: return std::nullopt;
    case NoiseSource::kDataOrder: return trains ? OrderIsFixed(specification) : untrained;
    case NoiseSource::kAugment: return trains ? NothingToAugment(specification.augment) : untrained;
    case NoiseSource::kDropout: return trains ? NothingToDrop(specification.model) : untrained;
    case NoiseSource::kReduceOrder: return trains ? OneOrderOfSums(specification.train) : untrained;
    // Evaluation has threads of its own, and chooses no kernel by timing.
    case NoiseSource::kThreads: return trains ? ThreadsAddNothing(specification) : untrained;
    case NoiseSource::kAutotune: return trains ? KernelsOfAProcessor(specification) : untrained;
    case NoiseSource::kPoke: return trains ? PokesAZero(specification) : untrained;
    case NoiseSource::kDial: return trains ? DialsNothing(specification) : untrained;
    case NoiseSource::kLoad: return trains ? NothingToDisturb(specification) : untrained;
    // Evaluation runs kernels, too.
    case NoiseSource::kKernels: return KernelsOfAProcessor(specification);
  }
  return std::nullopt;
}

}  // namespace noisefloor
