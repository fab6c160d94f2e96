// What members saw of others on their machines while they trained. Internal to this folder.
#pragma once

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// Appends to study.warnings: times of such members are not those of an undisturbed machine; bits
// are not concerned.
void WarnOfDisturbances(const Gathered& gathered, Study& study);

}  // namespace noisefloor::report
