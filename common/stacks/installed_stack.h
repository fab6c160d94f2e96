// A stack on this machine: a folder with a trainer and the LibTorch that it is linked to.
//
//   NAME/libexec/noisefloor-trainer   a copy of the program that was built for it
//   NAME/torch, NAME/nvidia           as their wheels have them
//   NAME/.libtorch                    which these are, as PackagesOf says
//
// Nothing else is needed to run it: such folders are what `serve --stack-root` hands out.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/stacks/known_stacks.h"

namespace noisefloor {

// Where stacks are installed: `cache`/stacks; `cache` is $NOISEFLOOR_CACHE, empty:
// ~/.cache/noisefloor.
std::string StacksFolder(const std::string& cache);

// The trainer of a stack beside our programs; it may not be there.
std::string TrainerBeside(const std::string& program_folder, std::string_view stack);

// Whether the folder has the LibTorch of the stack, all of it, and no other version.
bool HasLibTorch(const std::string& folder, const KnownStack& stack);

// Puts a copy of the trainer beside our programs into the folder of an installed stack, unless an
// equal one is there: after an update it is another. NotFound: there is no such trainer, or no
// LibTorch; the message says how to get it.
absl::Status PlaceTrainer(const std::string& program_folder, const std::string& folder,
                          const KnownStack& stack);
// Its place there.
std::string PlacedTrainer(const std::string& folder);

}  // namespace noisefloor
