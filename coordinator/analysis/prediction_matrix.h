// What each member said of each example: the argmax of its logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace noisefloor::analysis {

// The answer of a member whose logits of an example hold a nan. It equals nothing, not even
// another undefined answer, and it is never right.
inline constexpr int16_t kUndefined = -1;

// Do two answers differ? An undefined answer differs from every other.
inline bool Differ(int16_t a, int16_t b) { return a != b || a < 0; }

// The largest logit, ties to the lowest class; kUndefined where one is no number. At least one.
int16_t AnswerOf(std::span<const float> logits);
int16_t AnswerOf(std::span<const double> logits);

// Answers of members (rows) on a fixed evaluation set (columns). A value; reads from any thread.
class PredictionMatrix {
 public:
  // classes in [1, 32767].
  PredictionMatrix(int64_t examples, int32_t classes);

  // Room for so many rows in all.
  void Reserve(int64_t members);
  // Adds a row from {examples, classes} logits, row major. Ties go to the lowest class; infinite
  // logits compare as numbers. InvalidArgument when the size is another.
  absl::Status AddLogits(std::span<const float> logits);
  // Adds a row of answers, each in [0, classes) or kUndefined. InvalidArgument otherwise.
  absl::Status AddAnswers(std::span<const int16_t> answers);

  // The rows with these numbers, in this order.
  PredictionMatrix Select(std::span<const int64_t> members) const;
  // The columns with these numbers, in this order.
  PredictionMatrix SelectExamples(std::span<const int64_t> examples) const;
  // The columns [first, last).
  PredictionMatrix SelectRange(int64_t first, int64_t last) const;

  int64_t members() const { return members_; }
  int64_t examples() const { return examples_; }
  int32_t classes() const { return classes_; }
  std::span<const int16_t> Row(int64_t member) const {
    return {answers_.data() + member * examples_, static_cast<size_t>(examples_)};
  }

 private:
  int64_t examples_;
  int32_t classes_;
  int64_t members_ = 0;
  std::vector<int16_t> answers_;  // {members, examples}
};

// The share of right answers of one row; labels has one entry for each example. examples > 0.
double Accuracy(std::span<const int16_t> answers, std::span<const int32_t> labels);

}  // namespace noisefloor::analysis
