// The part of a study that compares hardware classes, or stacks; names as in its JSON. Plain
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::report {

using analysis::Estimate;

// What differs between the sides of a comparison, all else equal. A stack is a trainer with its
// framework: "torch-2.11-cu130".
enum class Factor : uint8_t { kHardware, kStack };

// An exact test of "the factor does not matter", corrected for the others of its family: of all
// sides at once for every test of the study, of two of several for all such of the study besides.
struct ShiftClaim {
  std::optional<double> p;       // Absent: there is no such test, see note.
  std::optional<double> p_holm;  // Absent: in no family, for it could never be claimed.
  double least_p = 1;            // The least p that so many replicates can give.
  int64_t arrangements = 0;      // Looked at.
  int64_t replicates = 0;        // That were exchanged, over blocks: with predictions on all sides.
  int64_t blocks = 0;            // That they are exchanged inside of; 1 where all are one.
  bool shown = false;            // p_holm <= 5 %: it may be said that the mean answer shifts.
  std::string family;            // Of what tests p_holm is corrected for, in words.
  std::string note;  // Why nothing can be claimed, and which number of replicates could; or "".
};

// All hardware classes, or stacks, of one plan at one point of the axes at once: does any of them
// matter?
struct SettingTest {
  Factor factor = Factor::kHardware;
  std::string setting;  // "algo, learning_rate=0.05", with the stack where it varies; of stacks
                        // with the class.
  std::string plan;
  std::string axes_label;
  std::vector<std::string> sides;  // Classes, or stacks.
  std::vector<std::string> held;   // Seeded sources with one draw for each block.
  int64_t blocks = 0;
  bool under_trained = false;
  ShiftClaim shift;
  std::string text;  // In words.
};

// What changing only the factor did to one draw of the seeded sources.
struct Draw {
  uint32_t block = 0;
  std::optional<uint32_t> replicate;  // Absent where the block has one draw for all of them.
  double churn = 0;                   // Fraction of answers; a mean over the block's pairs.
};

// Two hardware classes, or stacks, all else equal, paired by replicate (equal lanes): B minus A;
// over all blocks. `n` of the estimates is the number of independent draws, never of copies of one.
struct Comparison {
  Factor factor = Factor::kHardware;
  std::string label;    // "algo, learning_rate=0.05: cpu-intel-avx2 against cpu-intel-sse"
  std::string setting;  // As of a test; where the stacks differ, "algo, ours against theirs".
  std::string axes_label;
  std::string plan;
  std::vector<uint32_t> cells_a;  // One for each block.
  std::vector<uint32_t> cells_b;
  std::string hardware_a;
  std::string hardware_b;
  std::string stack_a;
  std::string stack_b;
  bool mixes_stacks = false;      // Of hardware: the stacks differ, too.
  bool under_trained = false;     // Either side.
  bool all_fixed = false;         // No source is free.
  bool kernels_fixed = false;     // No physical source is free: a pair differs by its class only.
  std::vector<std::string> held;  // Seeded sources with one draw for each block.
  int64_t pairs = 0;              // Replicates that are done on both sides.
  int64_t identical_pairs = 0;    // Equal hashes of weights and, where both are known, of logits.
  int64_t left_out = 0;           // Members without a partner.
  int64_t draws = 0;              // Independent draws of the seeded sources among the pairs.
  std::vector<Draw> by_draw;
  Estimate accuracy_difference;  // Paired, B - A.
  Estimate churn_paired;         // Equal replicate, A against B.
  Estimate churn_unpaired;       // Unequal replicates, A against B.
  Estimate churn_excess;         // Unpaired - mean within: shift of the mean answer; 0 when none.
  Estimate churn_within_a;       // Over pairs inside A: the noise floor.
  Estimate churn_within_b;
  Estimate accuracy_correlation;       // Of the accuracies, over draws.
  Estimate logits_correlation_paired;  // Mean Pearson correlation of flattened logits.
  Estimate logits_correlation_unpaired;
  int64_t examples = 0;  // Of the evaluation set; never decisions.
  ShiftClaim shift;
  std::optional<size_t> setting_test;  // Place of that of all sides; absent: it rests on none.
  std::string text;                    // The finding in words.
};

}  // namespace noisefloor::report
