// Where commands look for data sets.
#pragma once

#include <string>
#include <vector>

#include "coordinator/cli/command.h"

namespace noisefloor::cli {

// `given` (an option's text), else $NOISEFLOOR_DATA, else the home's data/; then the bundled sets.
// At least one; downloads go to the first.
std::vector<std::string> DataRoots(const Context& context, const std::string& given);

inline constexpr char kDataRootHelp[] =
    "folders of the data sets, a:b (default: $NOISEFLOOR_DATA, else data/ of --home); the bundled "
    "sample is always found";

}  // namespace noisefloor::cli
