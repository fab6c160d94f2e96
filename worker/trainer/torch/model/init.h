// Initial weights from the draws of the source `init`, by parameter name and element.
#pragma once

#include <string_view>

#include "worker/trainer/data/dataset.h"
#include "worker/trainer/noise/draws.h"
#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

// Convolutions and dense layers: Glorot uniform (limit sqrt(6 / (fan in + fan out))) or He normal
// (deviation sqrt(2 / fan in)), unless their network says how they begin. `dirac` (Zagoruyko and
// Komodakis 2017): Glorot uniform, but filter i of a convolution, for all i below its channels
// in and out, has 1 in the middle of channel i and 0 elsewhere. Biases 0; norms: weight 1
// or as their network says, bias 0, running mean 0, running variance 1. Writes every weight and
// buffer; a weight left unset is a bug and stops the program. `train`: the images of a network with
// Sequence::Whiten; null, as where a member measures and has none: that layer is drawn, too.
void InitWeights(const Model& model, std::string_view init, const InitDraws& draws,
                 const Split* train);

}  // namespace noisefloor::trainer
