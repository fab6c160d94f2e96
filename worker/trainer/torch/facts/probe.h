// Observes what LibTorch does not let one read back: oneDNN's instruction set, from its own verbose
// output, and MKL's reproducibility mode, both in this very process.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"

namespace noisefloor::trainer {

// What `work`, and the libraries it calls, write on standard output, which nobody else sees then.
// Only while no other thread writes there. Fails with Unavailable before `work` is called.
absl::StatusOr<std::string> OutputOf(const std::function<void()>& work);

// The same with oneDNN's verbose output on, of level 1 unless ONEDNN_VERBOSE asks for another.
absl::StatusOr<std::string> VerboseOutputOf(const std::function<void()>& work);

// {"onednn_isa", "onednn_convolutions"} from oneDNN's verbose output; null is what it does not say.
// Pure.
Json ParseVerboseOutput(const std::string& output);

// MKL's number of a mode of its reproducibility, as the variable MKL_CBWR names it. Pure.
std::string MklModeName(int mode);

// A small convolution, forward and backward, heard: as ParseVerboseOutput says, with "mkl_cbwr", or
// with "error" too, since a probe that hears nothing fails no training. Milliseconds; changes no
// bit of what is computed later. LibTorch's exceptions pass through.
Json ObserveLibraries();

// Whether `observed`, from the above, has what cannot be read back. Pure.
bool WasObserved(const Json& observed);

}  // namespace noisefloor::trainer
