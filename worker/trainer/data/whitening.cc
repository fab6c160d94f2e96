#include "worker/trainer/data/whitening.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

constexpr int64_t kMostPatches = int64_t{1} << 22;  // Products of sums stay below 2^63.
constexpr double kEpsilon = 5e-4;

// {size, size}, row-major.
class Square {
 public:
  explicit Square(size_t size) : size_(size), values_(size * size) {}
  size_t size() const { return size_; }
  double& at(size_t row, size_t column) { return values_[row * size_ + column]; }
  double at(size_t row, size_t column) const { return values_[row * size_ + column]; }

 private:
  size_t size_;
  std::vector<double> values_;
};

// Of bytes.
struct Sums {
  int64_t patches = 0;
  std::vector<int64_t> values;    // {d}
  std::vector<int64_t> products;  // {d, d}, of pairs j <= i alone.
};

void AddPatches(const ImageShape& shape, const uint8_t* image, Sums& sums) {
  const size_t d = sums.values.size();
  std::vector<int64_t> patch(d);
  for (int64_t row = 0; row + kPatchSide <= shape.height; ++row) {
    for (int64_t column = 0; column + kPatchSide <= shape.width; ++column) {
      size_t i = 0;
      for (int64_t channel = 0; channel < shape.channels; ++channel) {
        for (int64_t y = row; y < row + kPatchSide; ++y) {
          for (int64_t x = column; x < column + kPatchSide; ++x) {
            patch[i++] = image[(channel * shape.height + y) * shape.width + x];
          }
        }
      }
      ++sums.patches;
      for (i = 0; i < d; ++i) {
        sums.values[i] += patch[i];
        for (size_t j = 0; j <= i; ++j) sums.products[i * d + j] += patch[i] * patch[j];
      }
    }
  }
}

Sums SumsOf(const Split& split) {
  const ImageShape& shape = split.shape;
  const auto d = static_cast<size_t>(shape.channels * kPatchSide * kPatchSide);
  Sums sums{.values = std::vector<int64_t>(d), .products = std::vector<int64_t>(d * d)};
  const int64_t each = (shape.height - kPatchSide + 1) * (shape.width - kPatchSide + 1);
  NF_CHECK(split.size() > 0 && each > 0 && each <= kMostPatches);
  const auto images = std::min<int64_t>(split.size(), kMostPatches / each);
  for (int64_t i = 0; i < images; ++i) {
    AddPatches(shape, split.Image(static_cast<uint32_t>(i)), sums);
  }
  return sums;
}

// Of values v / 255.
Square CovarianceOf(const Sums& sums) {
  const size_t d = sums.values.size();
  const auto scale = static_cast<double>(sums.patches) * 255.0;
  Square covariance(d);
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      const int64_t exact =
          sums.patches * sums.products[i * d + j] - sums.values[i] * sums.values[j];
      covariance.at(i, j) = covariance.at(j, i) = static_cast<double>(exact) / scale / scale;
    }
  }
  return covariance;
}

// Rows and columns p and q of `a`, and columns p and q of `vectors`, are turned so that a(p, q)
// becomes 0.
void Turn(size_t p, size_t q, Square& a, Square& vectors) {
  const double theta = (a.at(q, q) - a.at(p, p)) / (2 * a.at(p, q));
  const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1), s = t * c;
  for (size_t k = 0; k < a.size(); ++k) {
    const double left = a.at(k, p), right = a.at(k, q);
    a.at(k, p) = c * left - s * right;
    a.at(k, q) = s * left + c * right;
    const double first = vectors.at(k, p), second = vectors.at(k, q);
    vectors.at(k, p) = c * first - s * second;
    vectors.at(k, q) = s * first + c * second;
  }
  for (size_t k = 0; k < a.size(); ++k) {
    const double upper = a.at(p, k), lower = a.at(q, k);
    a.at(p, k) = c * upper - s * lower;
    a.at(q, k) = s * upper + c * lower;
  }
  a.at(p, q) = a.at(q, p) = 0;
}

// Jacobi's method, cyclic (Golub and Van Loan, Matrix Computations, 8.5): `a` becomes diagonal, and
// its eigenvectors are the columns of what is returned. Only + - * / and sqrt, which IEEE 754
// fixes. It converges quadratically; some ten rounds are many.
Square Diagonalise(Square& a) {
  constexpr int kRounds = 30;
  Square vectors(a.size());
  for (size_t i = 0; i < a.size(); ++i) vectors.at(i, i) = 1;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t p = 0; p < a.size(); ++p) {
      for (size_t q = p + 1; q < a.size(); ++q) {
        if (a.at(p, q) != 0) Turn(p, q, a, vectors);
      }
    }
  }
  return vectors;
}

double Trace(const Square& a) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a.at(i, i);
  return sum;
}

// The eigenvector in column k, its largest element positive.
std::vector<double> Direction(const Square& vectors, size_t k) {
  std::vector<double> direction(vectors.size());
  size_t largest = 0;
  for (size_t i = 0; i < direction.size(); ++i) {
    direction[i] = vectors.at(i, k);
    if (std::abs(direction[i]) > std::abs(direction[largest])) largest = i;
  }
  if (direction[largest] >= 0) return direction;
  for (double& element : direction) element = -element;
  return direction;
}

}  // namespace

Whitening WhitenPatches(const Split& split) {
  const Sums sums = SumsOf(split);
  Square covariance = CovarianceOf(sums);
  const size_t d = covariance.size();
  const double epsilon = kEpsilon * Trace(covariance) / static_cast<double>(d);
  const Square vectors = Diagonalise(covariance);
  std::vector<size_t> order(d);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return covariance.at(a, a) > covariance.at(b, b); });

  Whitening whitening;
  for (const double sign : {1.0, -1.0}) {
    for (const size_t k : order) {
      // Images of one colour have no direction at all: their filters are 0.
      const double width = std::max(covariance.at(k, k), 0.0) + epsilon;
      const double factor = width > 0 ? sign / std::sqrt(width) : 0.0;
      const std::vector<double> direction = Direction(vectors, k);
      double shift = 0;
      for (size_t i = 0; i < d; ++i) {
        const double element = factor * direction[i];
        whitening.filters.push_back(static_cast<float>(element));
        shift -= element * (static_cast<double>(sums.values[i]) /
                            (static_cast<double>(sums.patches) * 255.0));
      }
      whitening.shifts.push_back(static_cast<float>(shift));
    }
  }
  return whitening;
}

}  // namespace noisefloor::trainer
