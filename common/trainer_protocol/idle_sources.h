// Noise sources that act on nothing in a training, whatever their lanes are. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/base/noise_source.h"
#include "common/trainer_protocol/specification.h"

namespace noisefloor {

// Why two lanes of `source` would give the same bits, in words that end a sentence: "small_cnn has
// no dropout". Absent when the source may act. Only what the settings, the states
// of the sources and the kind of the hardware tell; where that is not known yet every source may
// act.
std::optional<std::string> IdleReason(const Specification& specification, NoiseSource source);

}  // namespace noisefloor
