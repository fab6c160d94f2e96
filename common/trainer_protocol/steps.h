// How much work a specification means, by the table of known data sets. Pure.
#pragma once

#include <cstdint>

#include "common/trainer_protocol/specification.h"

namespace noisefloor {

// Of a measurement: as the noise plan says, and with all physical sources held still.
inline constexpr int64_t kMeasuredArms = 2;

// Of a training: draws of dropout and dial have 28 bits for the step (worker/trainer/noise).
inline constexpr int64_t kMostDrawnSteps = int64_t{1} << 28;

// Examples that are trained on; 0 of a measurement, and for a data set that is not known, unless it
// is a folder of own images of which so many are asked for.
int64_t PlannedExamples(const Specification& specification);

// Optimiser steps of the whole training, or of all arms of a measurement; 0 for a data set that is
// not known.
int64_t PlannedSteps(const Specification& specification);

// Evaluations, the one at the end included.
int64_t PlannedEvaluations(const Specification& specification);

}  // namespace noisefloor
