// The access files of a coordinator that has moved.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

// Makes the access files at `place` (one file, or a folder of *.access) that trust `certificate`
// name `coordinator`; their paths, of those that name it now. Files of other authorities, and what
// cannot be read, stay as they are. Each is the old one or the new one at any moment. Errors are of
// the disk.
absl::StatusOr<std::vector<std::string>> PointAccessFiles(const std::string& place,
                                                          const std::string& certificate,
                                                          const std::string& coordinator);

}  // namespace noisefloor
