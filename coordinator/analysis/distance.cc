#include "coordinator/analysis/distance.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "Eigen/Core"
#include "coordinator/analysis/centred_products.h"
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
  const WeightPieces& weights;
  double norm;
};

struct Distance {
  double raw;
  double normalised;
  double cosine;
};

// From the values themselves: squares of differences, which lose nothing where two are near.
Distance DistanceOf(const Usable& a, const Usable& b) {
  double raw = 0;
  double normalised = 0;
  double dot = 0;
  for (size_t k = 0; k < a.weights.size(); ++k) {
    const std::span<const float> piece_a = a.weights[k];
    const std::span<const float> piece_b = b.weights[k];
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

// The same of the squares alone.
double SquaresBetween(const WeightPieces& a, const WeightPieces& b) {
  double squares = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    for (size_t i = 0; i < a[k].size(); ++i) {
      const double gap = double{a[k][i]} - b[k][i];
      squares += gap * gap;
    }
  }
  return squares;
}

// Products of every two members, less the mean of all: weights are read once, so many columns at a
// time wherever their pieces end.
Eigen::MatrixXd ProductsOf(std::span<const WeightPieces> weights) {
  CentredProducts products(weights.size());
  for (size_t piece = 0; piece < weights[0].size(); ++piece) {
    const size_t size = weights[0][piece].size();
    for (size_t first = 0; first < size;) {
      const size_t count = std::min(products.room(), size - first);
      for (size_t m = 0; m < weights.size(); ++m) {
        const std::span<const float> values = weights[m][piece].subspan(first, count);
        for (size_t c = 0; c < count; ++c) products.At(m, c) = values[c];
      }
      products.Added(count);
      first += count;
    }
  }
  return products.Finish();
}

// From products, where what is left of their terms has digits enough; absent where two members, or
// their directions, are so near that only the values can tell.
std::optional<Distance> DistanceFrom(const Eigen::MatrixXd& products, Eigen::Index i,
                                     Eigen::Index j, const Usable& a, const Usable& b) {
  constexpr double kLeast = 1e-4;  // Of the squares: what differs is not the length alone.
  const std::optional<double> squares = SquaredDistance(products, i, j);
  const double lengths = (a.norm - b.norm) * (a.norm - b.norm);
  if (!squares || !(*squares - lengths > kLeast * *squares)) return std::nullopt;
  const double scale = a.norm * b.norm;
  const double dot = (a.norm * a.norm + b.norm * b.norm - *squares) / 2;
  return Distance{std::sqrt(*squares), std::sqrt((*squares - lengths) / scale),
                  std::clamp(dot / scale, -1.0, 1.0)};
}

}  // namespace

std::vector<UsableWeights> FindUsable(std::span<const WeightPieces> weights) {
  std::vector<UsableWeights> usable;
  for (size_t m = 0; m < weights.size(); ++m) {
    if (!usable.empty() && !SameSizes(weights[m], weights[usable[0].place])) continue;
    if (const std::optional<double> norm = NormOf(weights[m])) usable.push_back({m, *norm});
  }
  return usable;
}

PairMatrix SquaredDistances(std::span<const WeightPieces> weights) {
  if (weights.size() < 2) return PairMatrix(std::ssize(weights));
  return HalfSquaredDistances(ProductsOf(weights), 1, [&](size_t i, size_t j) {
    return SquaresBetween(weights[i], weights[j]);
  });
}

Distances MeanDistances(std::span<const WeightPieces> weights) {
  const std::vector<UsableWeights> usable = FindUsable(weights);
  std::vector<WeightPieces> compared;
  for (const UsableWeights& member : usable) compared.push_back(weights[member.place]);
  const int64_t n = static_cast<int64_t>(usable.size());
  PairMatrix raw(n);
  PairMatrix normalised(n);
  PairMatrix cosine(n);
  const Eigen::MatrixXd products = n > 1 ? ProductsOf(compared) : Eigen::MatrixXd();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) {
      const Usable a{compared[static_cast<size_t>(i)], usable[static_cast<size_t>(i)].norm};
      const Usable b{compared[static_cast<size_t>(j)], usable[static_cast<size_t>(j)].norm};
      const std::optional<Distance> from_products = DistanceFrom(products, i, j, a, b);
      const Distance distance = from_products ? *from_products : DistanceOf(a, b);
      raw.Set(i, j, distance.raw);
      normalised.Set(i, j, distance.normalised);
      cosine.Set(i, j, distance.cosine);
    }
  }
  Distances means{PairMean(SumPairs(raw), "norm", {.low = 0}),
                  PairMean(SumPairs(normalised), "norm", {0, 2}),
                  PairMean(SumPairs(cosine), "correlation", {-1, 1})};
  const int64_t left_out = static_cast<int64_t>(weights.size()) - n;
  if (left_out == 0) return means;
  for (Estimate* estimate : {&means.raw, &means.normalised, &means.cosine}) {
    AddNote(*estimate,
            std::to_string(left_out) +
                " members left out: weights missing, not finite, zero or of another size");
  }
  return means;
}

}  // namespace noisefloor::analysis
