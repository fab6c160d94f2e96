// The fingerprint of what ran: builds, versions, machine, variables, switches as asked and as read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/trainer_protocol/json_reader.h"
#include "worker/trainer/torch/facts/switches.h"

namespace noisefloor::trainer {

struct Build {
  std::string stack;        // "torch-2.11-cu130"
  std::string build;        // SHA-256 of this executable.
  std::string fingerprint;  // SHA-256 over the stack's name and its libraries' versions.
};
Build IdentifyBuild();
std::string_view OwnStack();  // The name alone.

// 13000 and 91200: of the libraries that are loaded, which need not be those that LibTorch was
// built with. cuDNN: 0 without. After CUDA was opened.
struct CudaLibraries {
  int64_t runtime = 0;
  int64_t cudnn = 0;
};
CudaLibraries LoadedCudaLibraries();

// What can be said before a member is known.
Json ProcessEnvironment(const Build& build);

// [{"name", "asked", "read"}]
Json SwitchesJson(const std::vector<SwitchReading>& readings);

// What is not controlled, in words for the report. `observed`: what the probe looks for was
// seen.
Json NotesJson(const Specification& specification, bool observed);

}  // namespace noisefloor::trainer
