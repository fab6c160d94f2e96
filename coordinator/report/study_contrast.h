// The part of a study that sets cells against each other: values of an axis, plans, hardware
// classes, stacks; names as in its JSON. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::report {

using analysis::Estimate;

// What differs between the sides, all else equal.
enum class Question : uint8_t { kAxis, kPlan, kHardware, kStack };

// One figure of side B against side A.
struct FigureContrast {
  std::string figure;       // "churn", "accuracy", "accuracy_sd", "accuracy_above"
  Estimate estimate;        // B - A; of accuracy_sd B / A; of accuracy_above the probability that a
                            // draw of B has more top-1. Its n counts draws that both sides have.
  int64_t settings = 0;     // In the means: those that have three draws in common with the others.
  std::optional<double> p;  // Absent of accuracy_sd, for which no test holds its level, and of
                            // accuracy_above, which asks what accuracy asks.
  std::optional<double> p_holm;  // Absent: not tested.
  bool shown = false;            // p_holm <= 5 %: it may be said that the sides differ.
};

// Two sides, each the mean over the settings that are otherwise the same on both.
struct Contrast {
  Question question = Question::kAxis;
  std::string subject;  // "learning_rate", "name, learning_rate" (in step), "plan", "hardware"
  std::string a;        // "0.005", "algo", "cpu-amd-sse"
  std::string b;
  std::string plan;  // "" where plans are compared.
  std::string over;  // "cpu-amd-avx2", "the mean of 3 settings"; what the sides are a mean over.
  std::vector<uint32_t> cells_a;
  std::vector<uint32_t> cells_b;
  int64_t settings = 0;           // In the means of top-1.
  int64_t left_out = 0;           // Settings with both sides, but without draws that others have.
  int64_t draws = 0;              // Of top-1: that both sides have; unpaired: the fewer.
  bool paired = true;             // The draws of both sides share lanes.
  bool over_blocks = false;       // `draws` counts blocks.
  bool stacks_differ = false;     // Of hardware: the stacks differ as well.
  std::vector<std::string> held;  // Seeded sources with one draw for each block, on either side.
  std::vector<std::string> at_one_draw;  // Those of them that a side has in one draw only.
  bool under_trained = false;            // Either side, in one of the settings.
  std::vector<FigureContrast> figures;
  std::string text;  // In words.
};

}  // namespace noisefloor::report
