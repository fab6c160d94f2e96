// Internal to this folder.
#pragma once

#include <cstdint>

namespace noisefloor::inputs {

inline constexpr int64_t kSourceVersion = 1;  // Of input.json.

}  // namespace noisefloor::inputs
