#include "coordinator/analysis/distance.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "Eigen/Core"
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

// From the values themselves: squares of differences, which lose nothing where two are near.
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

// Products of every two members, less the mean of all: {members, members}, the lower half. Weights
// are read once, so many columns at a time wherever their pieces end.
Eigen::MatrixXd CentredProducts(const std::vector<Usable>& usable) {
  // So few that they are added up in one go whatever the size of the cache, which Eigen asks for:
  // else bits would depend on it.
  constexpr Eigen::Index kColumns = 256;
  const auto members = static_cast<Eigen::Index>(usable.size());
  Eigen::MatrixXd products = Eigen::MatrixXd::Zero(members, members);
  Eigen::MatrixXd columns(members, kColumns);
  Eigen::Index filled = 0;
  const auto add = [&] {
    auto some = columns.leftCols(filled);
    some.rowwise() -= some.colwise().mean().eval();
    products.selfadjointView<Eigen::Lower>().rankUpdate(some);
    filled = 0;
  };
  for (size_t piece = 0; piece < usable[0].weights->size(); ++piece) {
    const size_t size = (*usable[0].weights)[piece].size();
    for (size_t first = 0; first < size;) {
      const auto count = std::min(static_cast<size_t>(kColumns - filled), size - first);
      for (Eigen::Index m = 0; m < members; ++m) {
        const WeightPieces& weights = *usable[static_cast<size_t>(m)].weights;
        for (size_t c = 0; c < count; ++c) {
          columns(m, filled + static_cast<Eigen::Index>(c)) = weights[piece][first + c];
        }
      }
      filled += static_cast<Eigen::Index>(count);
      first += count;
      if (filled == kColumns) add();
    }
  }
  if (filled > 0) add();
  return products;
}

// From products, where what is left of their terms has digits enough; absent where two members, or
// their directions, are so near that only the values can tell.
std::optional<Distance> DistanceFrom(const Eigen::MatrixXd& products, Eigen::Index i,
                                     Eigen::Index j, const Usable& a, const Usable& b) {
  constexpr double kLeast = 1e-4;  // Of the terms: twelve digits are left.
  const double terms = products(i, i) + products(j, j);
  const double raw = terms - 2 * products(j, i);
  const double lengths = (a.norm - b.norm) * (a.norm - b.norm);
  if (!(raw > kLeast * terms) || !(raw - lengths > kLeast * raw)) return std::nullopt;
  const double scale = a.norm * b.norm;
  const double dot = (a.norm * a.norm + b.norm * b.norm - raw) / 2;
  return Distance{std::sqrt(raw), std::sqrt((raw - lengths) / scale),
                  std::clamp(dot / scale, -1.0, 1.0)};
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
  const Eigen::MatrixXd products = n > 1 ? CentredProducts(usable) : Eigen::MatrixXd();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) {
      const Usable& a = usable[static_cast<size_t>(i)];
      const Usable& b = usable[static_cast<size_t>(j)];
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
  for (Estimate* estimate : {&means.raw, &means.normalised, &means.cosine}) {
    AddNote(*estimate, left_out);
  }
  return means;
}

}  // namespace noisefloor::analysis
