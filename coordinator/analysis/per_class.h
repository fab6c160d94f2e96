// How each class of the data set, or each group of its examples, fares: who pays for the noise.
// Pure.
#pragma once

#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

struct ClassNoise {
  int32_t label = 0;  // Or the number of the group.
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

// Examples by the group that they are in: `of_example` has one entry for each, in [0, count);
// others are in none. Views what it is made of.
struct Groups {
  std::span<const int32_t> of_example;
  int32_t count = 0;
};

// What holds of classes, of groups.
std::vector<ClassNoise> NoiseByGroup(const PredictionMatrix& answers,
                                     std::span<const int32_t> labels, const Groups& groups);

// Of decisions, whose classes are 0 (no) and 1 (yes), by group.
struct ErrorRates {
  Estimate
      false_positive;  // Of the examples that are no, those not answered so: mean over members.
  Estimate false_negative;  // Likewise of yes.
};
std::vector<ErrorRates> ErrorRatesByGroup(const PredictionMatrix& answers,
                                          std::span<const int32_t> labels, const Groups& groups);

// The churn of each class, for all members and again for each left out: what a comparison of
// classes needs, for they share their members. Only classes with examples.
struct ClassChurns {
  std::vector<int32_t> labels;               // Or numbers of groups.
  std::vector<double> all;                   // {classes}
  std::vector<std::vector<double>> without;  // {members, classes}; empty below three members.
};
// Empty below two members.
ClassChurns ChurnsByGroup(const PredictionMatrix& answers, const Groups& groups);

}  // namespace noisefloor::analysis
