// Paths that a folder from elsewhere names. Internal to this folder.
#pragma once

#include <string>

namespace noisefloor::inputs {

// Does the path stay below the folder that it is taken from?
bool LiesBelow(const std::string& path);

}  // namespace noisefloor::inputs
