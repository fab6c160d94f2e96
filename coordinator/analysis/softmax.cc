#include "coordinator/analysis/softmax.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/check.h"
#include "coordinator/analysis/centred_products.h"

namespace noisefloor::analysis {
namespace {

// Where products have lost the digits: from the values themselves.
double SquaresBetween(std::span<const float> a, std::span<const float> b, size_t classes) {
  std::vector<float> p(classes);
  std::vector<float> q(classes);
  double sum = 0;
  for (size_t first = 0; first < a.size(); first += classes) {
    Softmax(a.subspan(first, classes), classes, p);
    Softmax(b.subspan(first, classes), classes, q);
    for (size_t k = 0; k < classes; ++k) {
      const double gap = double{p[k]} - q[k];
      sum += gap * gap;
    }
  }
  return sum;
}

}  // namespace

void Softmax(std::span<const float> logits, size_t classes, std::span<float> probabilities) {
  for (size_t first = 0; first < logits.size(); first += classes) {
    const std::span<const float> of = logits.subspan(first, classes);
    const float most = *std::ranges::max_element(of);
    float sum = 0;
    for (size_t k = 0; k < classes; ++k) {
      probabilities[first + k] = std::exp(of[k] - most);
      sum += probabilities[first + k];
    }
    for (size_t k = 0; k < classes; ++k) probabilities[first + k] /= sum;
  }
}

PairMatrix ProbabilityDistances(std::span<const std::span<const float>> logits, int32_t classes) {
  const size_t n = logits.size();
  if (n < 2) return PairMatrix(static_cast<int64_t>(n));
  const auto k = static_cast<size_t>(classes);
  const size_t size = logits[0].size();
  CentredProducts products(n);
  std::vector<float> example(n * k);
  for (size_t first = 0; first < size; first += k) {
    for (size_t m = 0; m < n; ++m) {
      NF_CHECK(logits[m].size() == size);
      Softmax(logits[m].subspan(first, k), k, std::span(example).subspan(m * k, k));
    }
    for (size_t done = 0; done < k;) {
      const size_t count = std::min(products.room(), k - done);
      for (size_t c = 0; c < count; ++c) {
        for (size_t m = 0; m < n; ++m) products.At(m, c) = example[m * k + done + c];
      }
      products.Added(count);
      done += count;
    }
  }
  return HalfSquaredDistances(
      products.Finish(), static_cast<double>(classes) / static_cast<double>(size),
      [&](size_t i, size_t j) { return SquaresBetween(logits[i], logits[j], k); });
}

}  // namespace noisefloor::analysis
