// What the name of a hardware class asks of this process. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor::trainer {

struct Variable {
  std::string name;
  std::string value;
};

struct HardwareClass {
  bool gpu = false;
  std::string vendor;               // Of a CPU class: "intel", "amd", "other". Empty: any.
  std::string aten_capability;      // As LibTorch says it: "DEFAULT", "AVX2", "AVX512"; or empty.
  std::vector<Variable> variables;  // What must be set before the process starts.
};

// "cpu-amd-avx2", "nvidia-h200"; empty: this CPU as it is. InvalidArgument for another form.
absl::StatusOr<HardwareClass> ParseHardwareClass(std::string_view name);

}  // namespace noisefloor::trainer
