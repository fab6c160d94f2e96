// The trainer's networks from their descriptions in the papers, under the trainer's names.
#pragma once

#include <memory>

#include "common/trainer_protocol/specification.h"
#include "tests/worker/trainer/twin/layers.h"
#include "worker/trainer/data/raw_split.h"

namespace noisefloor::trainer::twin {

std::unique_ptr<Layer> MakeNetwork(const ModelSettings& settings, const ImageShape& shape,
                                   int64_t classes);

// Parameters and buffers as the README of the trainer says that a member begins.
void Initialise(const ModelSettings& settings, uint64_t seed, State& state);

}  // namespace noisefloor::trainer::twin
