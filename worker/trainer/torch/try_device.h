// Whether this stack works on what a hardware class means here: tried before members train there.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/trainer_protocol/json_reader.h"

namespace noisefloor::trainer {

// Of the answer to --probe.
inline constexpr int kProbeVersion = 1;

// The answer to --probe: see worker/trainer/README.md. A convolution and a matrix product on the
// device must come near to what plain loops in double precision give. First the program is started
// anew with the variables of the class unless it has them; LibTorch must not have been used before.
Json TryDevice(const std::string& hardware_class, char** argv);

// Why what a device computed is not what was expected of it; empty: it came near enough.
std::string Difference(std::string_view what, const at::Tensor& computed,
                       const std::vector<double>& expected);

}  // namespace noisefloor::trainer
