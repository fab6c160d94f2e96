// Contrasts in words. Pure. Internal to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/report/study_contrast.h"

namespace noisefloor::report {

std::string_view Word(Question question);  // "axis", "plan", "hardware", "stack"

std::string_view NounOf(const FigureContrast& contrast);  // "churn", "top-1", ...

// "learning_rate 0.5 against 0.05 (algo, cpu-amd-avx2; n = 6 draws): two trainings disagree on
// 3.1 % [2.2, 4.0] more of the answers (p = 0.002 after Holm over the 12 tests of the
// study). ..." `tests`: of the study.
std::string TextOf(const Contrast& contrast, int64_t tests);

// Only what is shown of it; "" where nothing is.
std::string ClaimOf(const Contrast& contrast, int64_t tests);

}  // namespace noisefloor::report
