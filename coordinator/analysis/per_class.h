// How each class of the data set fares: who pays for the noise. Pure.
#pragma once

#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

struct ClassNoise {
  int32_t label = 0;
  int64_t examples = 0;
  Estimate accuracy;     // Mean over members.
  Estimate accuracy_sd;  // Over members, ddof 1.
  Estimate range;        // Largest - smallest.
  Estimate ratio;        // accuracy_sd / that of the whole evaluation set; no interval: the two
                         // are measured on the same members.
  Estimate churn;        // Over pairs, on this class's examples.
};

// One entry for each class, in order; labels has one entry for each example. A class without
// examples has absent estimates.
std::vector<ClassNoise> NoiseByClass(const PredictionMatrix& answers,
                                     std::span<const int32_t> labels);

// The churn of each class, for all members and again for each left out: what a comparison of
// classes needs, for they share their members. Only classes with examples.
struct ClassChurns {
  std::vector<int32_t> labels;
  std::vector<double> all;                   // {classes}
  std::vector<std::vector<double>> without;  // {members, classes}; empty below three members.
};
// Empty below two members.
ClassChurns ChurnsByClass(const PredictionMatrix& answers, std::span<const int32_t> labels);

}  // namespace noisefloor::analysis
