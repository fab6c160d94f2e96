#include "coordinator/analysis/prediction_matrix.h"

#include <cmath>
#include <limits>
#include <string>

#include "common/base/check.h"
#include "common/base/status.h"

namespace noisefloor::analysis {
namespace {

template <typename T>
int16_t ArgMax(std::span<const T> logits) {
  size_t best = 0;
  for (size_t k = 0; k < logits.size(); ++k) {
    if (std::isnan(logits[k])) return kUndefined;
    if (logits[k] > logits[best]) best = k;
  }
  return static_cast<int16_t>(best);
}

}  // namespace

int16_t AnswerOf(std::span<const float> logits) { return ArgMax(logits); }
int16_t AnswerOf(std::span<const double> logits) { return ArgMax(logits); }

PredictionMatrix::PredictionMatrix(int64_t examples, int32_t classes)
    : examples_(examples), classes_(classes) {
  NF_CHECK(examples >= 0);
  NF_CHECK(classes >= 1 && classes <= std::numeric_limits<int16_t>::max());
}

void PredictionMatrix::Reserve(int64_t members) {
  answers_.reserve(static_cast<size_t>(members * examples_));
}

absl::Status PredictionMatrix::AddLogits(std::span<const float> logits) {
  const size_t width = static_cast<size_t>(classes_);
  if (logits.size() != static_cast<size_t>(examples_) * width) {
    return InvalidInput("predictions have " + std::to_string(logits.size()) + " values, expected " +
                        std::to_string(examples_) + " x " + std::to_string(classes_));
  }
  for (size_t at = 0; at < logits.size(); at += width) {
    answers_.push_back(ArgMax(logits.subspan(at, width)));
  }
  ++members_;
  return absl::OkStatus();
}

absl::Status PredictionMatrix::AddAnswers(std::span<const int16_t> answers) {
  if (answers.size() != static_cast<size_t>(examples_)) {
    return InvalidInput("answers have " + std::to_string(answers.size()) + " values, expected " +
                        std::to_string(examples_));
  }
  for (const int16_t answer : answers) {
    if (answer >= classes_ || answer < kUndefined) {
      return InvalidInput("answer " + std::to_string(answer) + " is not below " +
                          std::to_string(classes_) + " classes");
    }
  }
  answers_.insert(answers_.end(), answers.begin(), answers.end());
  ++members_;
  return absl::OkStatus();
}

PredictionMatrix PredictionMatrix::Select(std::span<const int64_t> members) const {
  PredictionMatrix selected(examples_, classes_);
  selected.Reserve(static_cast<int64_t>(members.size()));
  for (const int64_t member : members) {
    NF_CHECK(member >= 0 && member < members_);
    const std::span<const int16_t> row = Row(member);
    selected.answers_.insert(selected.answers_.end(), row.begin(), row.end());
    ++selected.members_;
  }
  return selected;
}

PredictionMatrix PredictionMatrix::SelectExamples(std::span<const int64_t> examples) const {
  for (const int64_t example : examples) NF_CHECK(example >= 0 && example < examples_);
  PredictionMatrix selected(static_cast<int64_t>(examples.size()), classes_);
  selected.answers_.resize(static_cast<size_t>(members_) * examples.size());
  int16_t* to = selected.answers_.data();
  for (int64_t member = 0; member < members_; ++member) {
    const std::span<const int16_t> row = Row(member);
    for (const int64_t example : examples) *to++ = row[static_cast<size_t>(example)];
  }
  selected.members_ = members_;
  return selected;
}

PredictionMatrix PredictionMatrix::SelectRange(int64_t first, int64_t last) const {
  NF_CHECK(first >= 0 && first <= last && last <= examples_);
  PredictionMatrix selected(last - first, classes_);
  selected.Reserve(members_);
  for (int64_t member = 0; member < members_; ++member) {
    const std::span<const int16_t> row = Row(member);
    selected.answers_.insert(selected.answers_.end(), row.begin() + first, row.begin() + last);
  }
  selected.members_ = members_;
  return selected;
}

double Accuracy(std::span<const int16_t> answers, std::span<const int32_t> labels) {
  NF_CHECK(!answers.empty() && answers.size() == labels.size());
  int64_t right = 0;
  for (size_t x = 0; x < answers.size(); ++x) right += answers[x] >= 0 && answers[x] == labels[x];
  return static_cast<double>(right) / static_cast<double>(answers.size());
}

}  // namespace noisefloor::analysis
