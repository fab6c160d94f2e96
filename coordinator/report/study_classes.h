// The part of a Study that says who pays: classes of the data set and groups of its examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::report {

using analysis::Estimate;

// How one class of the data set fares inside one cohort: who pays.
struct ClassSensitivity {
  int32_t label = 0;
  std::string name;
  int64_t examples = 0;  // Where answers are decisions, so many of these have the label.
  Estimate accuracy;     // Mean over members.
  Estimate accuracy_sd;  // Over members.
  Estimate range;        // Max - min over members; grows with n.
  Estimate ratio;        // accuracy_sd / the overall accuracy_sd.
  Estimate churn;        // Over pairs, examples of this class only.
};

// How one group of the test examples fares inside one cohort.
struct GroupSensitivity {
  std::string column;    // "camera"
  std::string name;      // Its value: "old"
  int64_t examples = 0;  // Never decisions.
  Estimate accuracy;     // As of a class.
  Estimate accuracy_sd;
  Estimate ratio;
  Estimate churn;
  Estimate false_positive_rate;  // Of decisions between no and yes, means over members; absent of
  Estimate false_negative_rate;  // other answers.
};

struct ClassChurn {
  std::string name;
  double churn = 0;     // Mean over the cells.
  double shrunken = 0;  // Pulled to the mean over classes by as much as it is uncertain.
};

// Which classes of the data set, or groups of one column, pay most, as far as the members tell them
// apart.
struct WorstClasses {
  std::string column;             // Of groups; "" of classes.
  std::string plan;               // "algo", "impl at this one init and data_order"
  int64_t n = 0;                  // Replicates (or blocks) that can be left out.
  std::vector<ClassChurn> churn;  // Of every class.
  std::vector<std::string> kept;  // At 95 %, for all columns together, the worst one is among
                                  // these; largest churn first.
  std::string text;               // In words; "" when there is nothing to say.
};

}  // namespace noisefloor::report
