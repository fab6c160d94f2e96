// What a study says of single test examples, as JSON. Internal to this folder.
#pragma once

#include "coordinator/report/json_values.h"
#include "coordinator/report/study_examples.h"

namespace noisefloor::report {

Json ToJson(const DivergentExamples& divergent);
Json ToJson(const SensitiveExamples& sensitive);

}  // namespace noisefloor::report
