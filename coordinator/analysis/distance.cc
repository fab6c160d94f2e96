#include "coordinator/analysis/distance.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {
namespace {

// Absent when the vector has no direction: empty, zero, or not finite.
std::optional<double> NormOf(const WeightPieces& weights) {
  double squares = 0;
  for (const std::span<const float> piece : weights) {
    for (const float value : piece) squares += static_cast<double>(value) * value;
  }
  if (!std::isfinite(squares) || squares == 0) return std::nullopt;
  return std::sqrt(squares);
}

bool SameSizes(const WeightPieces& a, const WeightPieces& b) {
  return std::ranges::equal(a, b,
                            [](const auto& x, const auto& y) { return x.size() == y.size(); });
}

struct Usable {
  const WeightPieces* weights;
  double norm;
};

struct Distance {
  double raw;
  double normalised;
  double cosine;
};

// Differences are squared, never squares subtracted: weights that differ in one bit must not come
// out equal.
Distance DistanceOf(const Usable& a, const Usable& b) {
  double raw = 0;
  double normalised = 0;
  double dot = 0;
  for (size_t k = 0; k < a.weights->size(); ++k) {
    const std::span<const float> piece_a = (*a.weights)[k];
    const std::span<const float> piece_b = (*b.weights)[k];
    for (size_t i = 0; i < piece_a.size(); ++i) {
      const double x = piece_a[i];
      const double y = piece_b[i];
      const double scaled = x / a.norm - y / b.norm;
      raw += (x - y) * (x - y);
      normalised += scaled * scaled;
      dot += x * y;
    }
  }
  return {std::sqrt(raw), std::sqrt(normalised), std::clamp(dot / (a.norm * b.norm), -1.0, 1.0)};
}

void AddNote(Estimate& estimate, int64_t left_out) {
  if (left_out == 0) return;
  estimate.note += (estimate.note.empty() ? "" : "; ") + std::to_string(left_out) +
                   " members left out: weights missing, not finite, zero or of another size";
}

}  // namespace

Distances MeanDistances(std::span<const WeightPieces> weights) {
  std::vector<Usable> usable;
  for (const WeightPieces& member : weights) {
    const std::optional<double> norm = NormOf(member);
    if (!norm || (!usable.empty() && !SameSizes(member, *usable[0].weights))) continue;
    usable.push_back({&member, *norm});
  }
  const int64_t n = static_cast<int64_t>(usable.size());
  PairMatrix raw(n);
  PairMatrix normalised(n);
  PairMatrix cosine(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) {
      const Distance distance =
          DistanceOf(usable[static_cast<size_t>(i)], usable[static_cast<size_t>(j)]);
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
