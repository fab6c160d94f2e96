// What is said of arrays that are left out. Internal to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "coordinator/inputs/load_arrays.h"

namespace noisefloor::inputs {

// A fault, and what it means for the study: "Its weights are left out."
void Warn(LoadedStudy& study, std::string subject, absl::Status status,
          std::string_view consequence);

// The same of what is found when an array is first looked at: once for a member and what it means.
void TellLate(std::vector<report::Warning>& late, const std::string& member, std::string_view fault,
              std::string_view consequence);

}  // namespace noisefloor::inputs
