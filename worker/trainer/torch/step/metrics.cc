#include "worker/trainer/torch/step/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double CrossEntropy(std::span<const float> row, size_t label) {
  const double most = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit) - most);
  return most + std::log(sum) - static_cast<double>(row[label]);
}

// How many classes rank before the label's. A row with a nan has no answer, so all of them do.
int64_t RankOf(std::span<const float> row, size_t label) {
  const float own = row[label];
  int64_t before = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    if (std::isnan(row[k])) return std::numeric_limits<int64_t>::max();
    if (row[k] > own || (row[k] == own && k < label)) ++before;
  }
  return before;
}

}  // namespace

Metrics Measure(std::span<const float> logits, std::span<const int32_t> labels, int64_t classes) {
  NF_CHECK(logits.size() == labels.size() * static_cast<size_t>(classes));
  const auto width = static_cast<size_t>(classes);
  std::vector<double> seen(width), right(width);
  Metrics metrics;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.subspan(i * width, width);
    const auto label = static_cast<size_t>(labels[i]);
    const int64_t rank = RankOf(row, label);
    metrics.loss += CrossEntropy(row, label);
    metrics.top1 += rank < 1 ? 1 : 0;
    metrics.top5 += rank < 5 ? 1 : 0;
    right[label] += rank < 1 ? 1 : 0;
    seen[label] += 1;
  }
  const auto count = static_cast<double>(labels.size());
  metrics.loss /= count;
  metrics.top1 /= count;
  metrics.top5 /= count;
  for (size_t k = 0; k < width; ++k) {
    metrics.per_class_accuracy.push_back(seen[k] > 0 ? right[k] / seen[k] : kNaN);
  }
  return metrics;
}

AttributeMetrics MeasureAttributes(std::span<const float> logits,
                                   std::span<const uint8_t> attributes, int64_t width) {
  NF_CHECK(logits.size() == attributes.size() && width > 0);
  AttributeMetrics metrics;
  std::vector<double> seen(2), right(2);
  const auto row = static_cast<size_t>(width);
  for (size_t first = 0; first < logits.size(); first += row) {
    bool all = true;
    for (size_t i = first; i < first + row; ++i) {
      const double logit = logits[i];
      const size_t truth = attributes[i];
      // log(1 + exp(-|z|)) + max(z, 0) - z y, which no z makes infinite.
      metrics.loss += std::log1p(std::exp(-std::abs(logit))) + std::max(logit, 0.0) -
                      logit * static_cast<double>(truth);
      const bool is_right = !std::isnan(logit) && (logit > 0) == (truth == 1);
      right[truth] += is_right ? 1 : 0;
      seen[truth] += 1;
      all = all && is_right;
    }
    metrics.all_right += all ? 1 : 0;
  }
  const auto decisions = static_cast<double>(logits.size());
  metrics.loss /= decisions;
  metrics.accuracy = (right[0] + right[1]) / decisions;
  metrics.all_right /= decisions / static_cast<double>(width);
  for (size_t k = 0; k < 2; ++k) {
    metrics.by_truth.push_back(seen[k] > 0 ? right[k] / seen[k] : kNaN);
  }
  return metrics;
}

}  // namespace noisefloor::trainer
