// From the rows of a measurement to what it says determinism costs.
#pragma once

#include "coordinator/inputs/load_arrays.h"
#include "coordinator/query/study_rows.h"
#include "coordinator/report/determinism_cost.h"

namespace noisefloor::query {

// Reads the files of kind "kernels". What is missing or damaged is a warning.
report::CostStudy LoadCost(const StudyRows& rows, const inputs::FindFile& find);

}  // namespace noisefloor::query
