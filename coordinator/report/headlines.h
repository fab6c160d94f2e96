// The findings of a study in words: is it noise, from where, does hardware add, who pays. Internal
// to this folder.
#pragma once

#include <string>
#include <vector>

#include "coordinator/report/study.h"

namespace noisefloor::report {

// From the figures of `study`, which are all there but the headlines themselves. Under-trained
// cohorts are in none.
std::vector<std::string> BuildHeadlines(const Study& study);

}  // namespace noisefloor::report
