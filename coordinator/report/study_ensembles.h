// The part of a study that says what averaging several members buys; names as in its JSON. Plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/analysis/ensemble.h"

namespace noisefloor::report {

// Of one cell, by the number of members whose probabilities are averaged.
struct CohortEnsembles {
  uint32_t cell = 0;
  std::string label;
  int64_t members = 0;   // Looked at: those with the lowest replicates.
  int64_t left_out = 0;  // With logits, and beyond what is looked at.
  bool under_trained = false;
  std::vector<analysis::EnsembleScores> sizes;  // 1, 2, 4, ... up to half of the members.
  std::string note;                             // Why there are none; "" where there are.
};

// What it buys that half of an ensemble is of another class of hardware, or stack.
struct MixingGain {
  std::string label;  // As of the comparison.
  bool under_trained = false;
  analysis::Estimate gain;  // See analysis::GainOfMixing.
};

struct Ensembles {
  std::vector<CohortEnsembles> cohorts;  // Those with replicates that differ; by cell.
  std::vector<MixingGain> mixing;        // Of comparisons of one block whose draws are replicates.
};

}  // namespace noisefloor::report
