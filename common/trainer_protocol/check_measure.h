// What must fit together in a member that measures.
#pragma once

#include <vector>

#include "common/trainer_protocol/fields.h"

namespace noisefloor {

// Adds what is wrong with `measure`, or with what a measurement does not read: that must be at its
// default, since two measurements that differ in it alone would be equal and be compared as if they
// were not.
void CheckMeasurement(const Specification& specification, std::vector<FieldProblem>& problems);

}  // namespace noisefloor
