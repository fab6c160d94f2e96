// Observes what LibTorch's libraries do but do not let one read back: oneDNN's instruction set and
// MKL's reproducibility mode, from their own verbose output in a child process.
#pragma once

#include <string>

#include "common/trainer_protocol/json_reader.h"

namespace noisefloor::trainer {

// The child's part: a small convolution, forward and backward, and a matrix product.
void RunProbe();

// The parent's part: runs `program --probe` with the verbose variables set and reads its output.
// Says so in the object when that fails; a probe never fails a training.
Json ObserveLibraries(const std::string& program);

// From the verbose output. Pure.
Json ParseVerboseOutput(const std::string& output);

}  // namespace noisefloor::trainer
