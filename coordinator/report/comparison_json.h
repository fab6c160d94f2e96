// What a study compares, as JSON. Internal to this folder.
#pragma once

#include "coordinator/report/json_values.h"
#include "coordinator/report/study_comparison.h"
#include "coordinator/report/study_contrast.h"
#include "coordinator/report/study_decomposition.h"

namespace noisefloor::report {

Json ToJson(const SettingTest& test);
Json ToJson(const Comparison& comparison);
Json ToJson(const Contrast& contrast);
Json ToJson(const SourceDecomposition& decomposition);

}  // namespace noisefloor::report
