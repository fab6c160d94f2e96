// Weights that a training has left, put into a network again.
#pragma once

#include <string>

#include "common/base/status.h"
#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

// Sets all parameters and buffers of `model` to those of the .safetensors file at `path`, bit for
// bit. InvalidArgument, naming the tensor, when one is missing, has another shape or type, or is no
// part of the network (but for what PyTorch writes beside a batch norm and nothing here uses: its
// counter "num_batches_tracked"), or the file is missing, closed to us or not exactly of its
// format; then the model is as it was. What FileError says of a disk that fails.
absl::Status LoadWeights(const std::string& path, Model& model);

}  // namespace noisefloor::trainer
