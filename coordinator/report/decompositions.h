// Which source does the noise come from? Internal to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study_decomposition.h"

namespace noisefloor::report {

// Of a block at most so many members are taken apart: those of the first plans and replicates.
inline constexpr size_t kMostDecomposed = 400;

// The share of that kind of a factor, or ("") the first of the kind; null where there is none.
const SourceShare* FindShare(const SourceDecomposition& of, std::string_view kind,
                             const std::string& factor);

// What is taken apart, in words: "churn", "variance of top-1", "variance of the weights".
std::string DecomposedName(std::string_view figure);

// One of churn, of top-1, of probabilities and of weights, where there are some and not too many of
// them (then it says so and has no shares), for each setting
// (point of the axes, class, stack, examples) whose trainings share some draws and not others, so
// that at least one share is identified.
std::vector<SourceDecomposition> BuildDecompositions(const Gathered& gathered);

}  // namespace noisefloor::report
