// How well logits predict labels. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace noisefloor::trainer {

struct Metrics {
  double loss = 0;  // Mean cross-entropy, without label smoothing.
  double top1 = 0;  // Fractions of the examples.
  double top5 = 0;
  std::vector<double> per_class_accuracy;  // By class; NaN for a class without examples.
};

// `logits` is {labels.size(), classes}, row-major. Of equal logits the lowest class ranks first;
// NaN ranks last.
Metrics Measure(std::span<const float> logits, std::span<const int32_t> labels, int64_t classes);

// Of attributes, {examples, attributes} 0 or 1, each decided by itself: yes when its logit is above
// 0. A logit that is nan decides nothing and is never right.
struct AttributeMetrics {
  double loss = 0;       // Mean binary cross-entropy over all decisions.
  double accuracy = 0;   // Of all decisions; the mean of the attributes' accuracies.
  double all_right = 0;  // Fraction of the examples of which every attribute is right.
  // Of the decisions where the truth is no, and where it is yes; NaN where there are none.
  std::vector<double> by_truth;
};
AttributeMetrics MeasureAttributes(std::span<const float> logits,
                                   std::span<const uint8_t> attributes, int64_t width);

}  // namespace noisefloor::trainer
