// The part of a study that says which source noise comes from; names as in its JSON. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::report {

using analysis::Estimate;

// A share of the whole variance.
struct SourceShare {
  std::string kind;                  // "first_order", "total", "interaction", "additive"
  std::vector<std::string> sources;  // Factors: "init", "init + data_order".
  Estimate share;                    // Absent: not identified by what was trained.
};

// All trainings of one setting, whichever plan they are of, taken apart by the draws they share.
struct SourceDecomposition {
  std::string figure;  // "churn", "accuracy", "probabilities", "weights"
  // "cpu-amd-avx2, learning_rate=0.05"; with the stack where the study has several, and with the
  // plans where other plans have another setting of that name.
  std::string setting;
  std::vector<std::string> plans;
  // Sources that always vary together are one factor. A physical one is in `uncontrolled`, too.
  std::vector<std::string> factors;
  std::string uncontrolled;  // Factor of the physical sources that are free; "" where none is.
  int64_t members = 0;
  int64_t blocks = 0;
  int64_t left_out = 0;  // Members beyond the most of a block.
  bool under_trained = false;
  // Half the squared distance of two trainings with nothing in common: of answers that is their
  // churn, of probabilities a mean over examples, of weights the sum over all parameters.
  Estimate whole;
  std::vector<SourceShare> shares;
  std::string text;  // In words.
};

}  // namespace noisefloor::report
