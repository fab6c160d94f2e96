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

}  // namespace noisefloor::trainer
