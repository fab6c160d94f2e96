// Where a request comes from.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/trainer_protocol/json.h"
#include "worker/trainer/torch/options.h"

namespace noisefloor::trainer {

// One request from `file`, up to a newline or the end. Cancelled when a stop was asked for
// meanwhile; InvalidArgument for anything but one request.
absl::StatusOr<TrainerRequest> ReadRequest(int file);

// The request of a person's own run: the file's specification, with the work folder made.
// Unavailable when that cannot be made.
absl::StatusOr<TrainerRequest> RequestOf(const Options& options);

// A small training with all sources fixed.
Specification ExampleSpecification();

// A hardware class is made by variables that must be there before the process starts. When they
// are not, sets them and starts this program anew in its own place; returns only when nothing is
// to be done or that fails: Internal. InvalidArgument for no class that this trainer knows, and for
// one whose instructions this processor lacks.
absl::Status BecomeClass(const Specification& specification, char** argv);

}  // namespace noisefloor::trainer
