// Paths that a folder from elsewhere names. Internal to this folder.
#pragma once

#include <string>

#include "common/base/status.h"

namespace noisefloor::inputs {

// Does the path stay below the folder that it is taken from?
bool LiesBelow(const std::string& path);

// InvalidArgument of what is there and no file, such as a pipe, which nobody may ever write to.
absl::Status CheckIsFile(const std::string& path);

}  // namespace noisefloor::inputs
