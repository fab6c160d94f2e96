// Evaluates weights that were trained before, with the instrument that training evaluates with: on
// the class that trained them the logits are theirs to the bit.
#pragma once

#include <string>

#include "common/base/status.h"
#include "worker/trainer/torch/step/results.h"
#include "worker/trainer/torch/step/train.h"

namespace noisefloor::trainer {

// No step is taken and no stream is drawn from. `weights`: path of a .safetensors file.
// InvalidArgument for weights that are not this network's. kDiverged when their loss is not finite.
absl::StatusOr<TrainReport> Infer(const TrainInput& input, const std::string& weights,
                                  Results& results);

}  // namespace noisefloor::trainer
