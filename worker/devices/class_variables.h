// The environment variables that make a trainer run as one hardware class. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

using Variables = std::map<std::string, std::string>;

struct ClassRequest {
  std::string hardware_class = {};  // "cpu-amd-avx2", "nvidia-h200"
  std::string gpu_uuid = {};        // Of a GPU class: the one device the trainer sees.
  bool kernels_fixed = true;        // Of a GPU class: ask cuBLAS for a deterministic workspace.
};

// InvalidArgument for a name that is no class's.
absl::StatusOr<Variables> VariablesOf(const ClassRequest& request);

// All of the above as text: part of a stack's fingerprint, since other variables mean other bits.
std::string VariablesTable();

bool IsGpuClass(std::string_view hardware_class);

}  // namespace noisefloor
