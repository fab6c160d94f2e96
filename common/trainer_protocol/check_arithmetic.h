// What must fit together of precision, optimiser and schedule: a part of CheckTogether.
#pragma once

#include <vector>

#include "common/trainer_protocol/fields.h"

namespace noisefloor {

// Adds to `problems`.
void CheckArithmetic(const Specification& specification, std::vector<FieldProblem>& problems);

}  // namespace noisefloor
