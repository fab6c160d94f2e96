// A Study as versioned JSON, with the names of study.h. 64-bit seeds are decimal strings; numbers
// that are not finite are "nan", "inf", "-inf"; what is absent is null.
#pragma once

#include <string>

#include "coordinator/report/study.h"

namespace noisefloor::report {

// One line, UTF-8 (bytes that are no UTF-8 are replaced).
std::string StudyToJson(const Study& study);

}  // namespace noisefloor::report
