#include "coordinator/analysis/distance.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {
namespace {

// Absent when the vector has no direction: empty, zero, or not finite.
std::optional<double> NormOf(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  if (!std::isfinite(squares) || squares == 0) return std::nullopt;
  return std::sqrt(squares);
}

// Of two vectors with known norms. Differences are squared, never squares subtracted: weights that
// differ in one bit must not come out equal.
Distance DistanceWithNorms(std::span<const float> a, double norm_a, std::span<const float> b,
                           double norm_b) {
  double raw = 0;
  double normalised = 0;
  double dot = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i];
    const double y = b[i];
    const double scaled = x / norm_a - y / norm_b;
    raw += (x - y) * (x - y);
    normalised += scaled * scaled;
    dot += x * y;
  }
  return {std::sqrt(raw), std::sqrt(normalised), std::clamp(dot / (norm_a * norm_b), -1.0, 1.0)};
}

void AddNote(Estimate& estimate, int64_t left_out) {
  if (left_out == 0) return;
  estimate.note += (estimate.note.empty() ? "" : "; ") + std::to_string(left_out) +
                   " members left out: weights missing, not finite, zero or of another size";
}

}  // namespace

std::optional<Distance> DistanceOf(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return std::nullopt;
  const std::optional<double> norm_a = NormOf(a);
  const std::optional<double> norm_b = NormOf(b);
  if (!norm_a || !norm_b) return std::nullopt;
  return DistanceWithNorms(a, *norm_a, b, *norm_b);
}

Distances MeanDistances(std::span<const std::span<const float>> weights) {
  std::vector<std::span<const float>> usable;
  std::vector<double> norms;
  for (const std::span<const float> member : weights) {
    const std::optional<double> norm = NormOf(member);
    if (!norm || (!usable.empty() && member.size() != usable[0].size())) continue;
    usable.push_back(member);
    norms.push_back(*norm);
  }
  const int64_t n = static_cast<int64_t>(usable.size());
  PairMatrix raw(n);
  PairMatrix normalised(n);
  PairMatrix cosine(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) {
      const size_t a = static_cast<size_t>(i);
      const size_t b = static_cast<size_t>(j);
      const Distance distance = DistanceWithNorms(usable[a], norms[a], usable[b], norms[b]);
      raw.Set(i, j, distance.raw);
      normalised.Set(i, j, distance.normalised);
      cosine.Set(i, j, distance.cosine);
    }
  }
  Distances means{PairMean(SumPairs(raw), "norm", {.low = 0}),
                  PairMean(SumPairs(normalised), "norm", {0, 2}),
                  PairMean(SumPairs(cosine), "correlation", {-1, 1})};
  const int64_t left_out = static_cast<int64_t>(weights.size()) - n;
  for (Estimate* estimate : {&means.raw, &means.normalised, &means.cosine}) {
    AddNote(*estimate, left_out);
  }
  return means;
}

}  // namespace noisefloor::analysis
