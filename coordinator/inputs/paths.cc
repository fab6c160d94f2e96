#include "coordinator/inputs/paths.h"

#include <filesystem>

namespace noisefloor::inputs {

bool LiesBelow(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return !normal.empty() && normal.is_relative() && *normal.begin() != "..";
}

}  // namespace noisefloor::inputs
