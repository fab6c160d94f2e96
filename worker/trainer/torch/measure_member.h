// A member that measures, from its specification to its outcome.
#pragma once

#include "common/trainer_protocol/json.h"
#include "worker/trainer/torch/facts/surroundings.h"
#include "worker/trainer/torch/step/measure.h"

namespace noisefloor::trainer {

// Tells records, the file "kernels.json" and the outcome; no hello. `environment`: what was told in
// the hello. As RunMember otherwise. `surroundings`: looked at behind the last step.
CauseClass MeasureMember(const TrainerRequest& request, const MeasureInput& input, Json environment,
                         Surroundings& surroundings, Reporter& reporter);

}  // namespace noisefloor::trainer
