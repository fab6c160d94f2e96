// Where commands look for data sets.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/cli/command.h"
#include "noisefloor/v1/sweep.pb.h"

namespace noisefloor::cli {

// `given` (an option's text), else $NOISEFLOOR_DATA, else the home's data/; then the bundled sets.
// At least one; downloads go to the first.
std::vector<std::string> DataRoots(const Context& context, const std::string& given);

// InvalidArgument when a folder of `given`, the text of that option, is not there.
absl::Status CheckGivenRoots(std::string_view option, const std::string& given);

// NotFound, with what to do, when a data set of the sweep has no folder in any root. Names that
// are no data set's are for the coordinator to refuse.
absl::Status CheckDataIsHere(const Context& context, const v1::Sweep& sweep,
                             const std::vector<std::string>& roots);

// Whether a data set of the sweep is a folder of own images: how many, only reading says.
bool HasOwnImages(const v1::Sweep& sweep);

inline constexpr char kDataRootHelp[] =
    "folders of the data sets, a:b (default: $NOISEFLOOR_DATA, else data/ of --home); the bundled "
    "sample is always found";

}  // namespace noisefloor::cli
