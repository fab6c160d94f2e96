// Whether a noise source has anything to act on in a training. Pure.
#pragma once

#include "common/trainer_protocol/specification.h"

namespace noisefloor {

// Whether another draw of the source, or letting go of it, can change a bit of the result: dropout
// needs a probability, augment something random, reduce_order three shards. Looks at the settings
// alone, not at the state; a class that is not chosen yet ("") counts as one where it can.
bool SourceActs(const Specification& specification, NoiseSource source);

}  // namespace noisefloor
