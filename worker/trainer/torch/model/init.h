// Initial weights from the draws of the source `init`, by parameter name and element.
#pragma once

#include <string_view>

#include "worker/trainer/noise/draws.h"
#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

// Convolutions and dense layers: Glorot uniform (limit sqrt(6 / (fan in + fan out))) or He normal
// (deviation sqrt(2 / fan in)), unless their network says how they begin. Biases 0; norms: weight 1
// or as their network says, bias 0, running mean 0, running variance 1. Writes every weight and
// buffer; a weight left unset is a bug and stops the program.
void InitWeights(const Model& model, std::string_view init, const InitDraws& draws);

}  // namespace noisefloor::trainer
