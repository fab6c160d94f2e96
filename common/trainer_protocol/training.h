// One training, fully resolved, whoever's trainer it is for: what travels and is hashed. A trainer
// of ours reads it as a Specification. Plain values.
#pragma once

#include <optional>
#include <string>

#include "common/trainer_protocol/setting.h"
#include "common/trainer_protocol/specification.h"

namespace noisefloor {

struct Training {
  Settings settings;               // All that the trainer has.
  NoiseSpec noise = QuietNoise();  // In the order of kAllNoiseSources.
  std::string hardware_class;      // "cpu-amd-avx2"; empty until the cell has one.
  std::string stack;               // "torch-2.11-cu130"

  SourceSpec& Source(NoiseSource source) { return noise[static_cast<size_t>(source) - 1]; }
  const SourceSpec& Source(NoiseSource source) const {
    return noise[static_cast<size_t>(source) - 1];
  }
};

// Canonical JSON: keys sorted, no spaces, numbers in shortest exact form; a setting stands where
// its path says. The hash of a specification is the SHA-256 of exactly this text, and exactly this
// text travels to the trainer.
std::string TrainingToJson(const Training& training);

Training TrainingOf(const Specification& specification);

// What the table of our own settings makes of it, with its defaults for what a trainer of another
// version lacks. Nothing when the settings are not of that table, or no model, data set, epochs and
// batch are among them: then nobody but its trainer knows what they mean.
std::optional<Specification> Understood(const Training& training);

}  // namespace noisefloor
