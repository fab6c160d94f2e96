// Where data sets lie: folders that are searched in order for a data set's own folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace noisefloor {

// "a:b", as options and $NOISEFLOOR_DATA say it, and back. Empty parts are left out.
std::vector<std::string> SplitDataRoots(std::string_view text);
std::string JoinDataRoots(const std::vector<std::string>& roots);

// Appends the folders of the sets that come with the programs: those of the clone in which they
// were built, or of the place where they were installed. Only what is there, and nothing twice.
// `program_folder`: where the running program lies.
void AddBundledDataRoots(const std::string& program_folder, std::vector<std::string>& roots);

}  // namespace noisefloor
