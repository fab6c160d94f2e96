// Weights evaluated elsewhere than where they were trained, as one value: train-on x infer-on, the
// result of a sweep of kind `infer`. Plain values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::report {

// Whose weights a member of the inference has.
struct InferLink {
  std::optional<size_t> trained;  // Place, in the study that trained, of the member they are of.
  std::string weights;            // SHA-256 of their file. Equal ones are one draw.
  std::string file;               // "" = that member trained them; else what who brought them says.
};

struct InferGroup {
  std::string column;
  std::string name;
  int64_t examples = 0;  // Never decisions.
  analysis::Estimate churn;
};

// Weights of one plan at one point of the axes, trained on one class and evaluated on one.
struct InferRow {
  std::string plan;
  std::string axes_label;      // "" without.
  std::string train_hardware;  // "" = weights of a file: nobody says what trained them.
  std::string infer_hardware;
  std::string train_stack;
  std::string infer_stack;
  int64_t members = 0;  // Planned.
  int64_t done = 0;
  int64_t weights = 0;    // Different ones among those done that are known where they were trained.
  int64_t identical = 0;  // Of these, whose logits are the same there, bit for bit.
  bool share_draws = false;     // Some of these weights have a draw in common: no estimate has an
                                // interval then.
  analysis::Estimate accuracy;  // Here; of all that are done, n = different weights.
  analysis::Estimate accuracy_difference;  // Here less where they were trained.
  analysis::Estimate churn;                // Answers that are others than where they were trained.
  std::vector<InferGroup> groups;          // Of the test examples: the churn in each.
};

// "algo, learning_rate=0.05"
std::string SettingOfRow(const InferRow& row);

struct InferStudy {
  std::string title;  // "infer-s1 (s2)"
  std::vector<std::string> headlines;
  std::vector<InferRow> rows;  // By plan, axes, class that trained, class that evaluates.
  std::vector<std::string> warnings;
};

// `links` has one entry for each member of `here`. The answers of `here` are set against those that
// members of `trained` gave at their end; both evaluate one test set. n counts different weights;
// where these share draws in part (by levels, or in several blocks that hold a source) nothing has
// an interval.
InferStudy BuildInfer(const StudyInput& here, const StudyInput& trained,
                      std::span<const InferLink> links);

}  // namespace noisefloor::report
