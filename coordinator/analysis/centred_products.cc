#include "coordinator/analysis/centred_products.h"

namespace noisefloor::analysis {

CentredProducts::CentredProducts(size_t members)
    : products_(Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(members),
                                      static_cast<Eigen::Index>(members))),
      columns_(static_cast<Eigen::Index>(members), kColumns) {}

void CentredProducts::Added(size_t columns) {
  filled_ += static_cast<Eigen::Index>(columns);
  if (filled_ == kColumns) Flush();
}

void CentredProducts::Flush() {
  auto some = columns_.leftCols(filled_);
  some.rowwise() -= some.colwise().mean().eval();
  products_.selfadjointView<Eigen::Lower>().rankUpdate(some);
  filled_ = 0;
}

const Eigen::MatrixXd& CentredProducts::Finish() {
  if (filled_ > 0) Flush();
  return products_;
}

std::optional<double> SquaredDistance(const Eigen::MatrixXd& products, Eigen::Index i,
                                      Eigen::Index j) {
  constexpr double kLeast = 1e-4;  // Of the terms: twelve digits are left.
  const double terms = products(i, i) + products(j, j);
  const double squares = terms - 2 * products(j, i);
  if (!(squares > kLeast * terms)) return std::nullopt;
  return squares;
}

PairMatrix HalfSquaredDistances(const Eigen::MatrixXd& products, double scale,
                                const std::function<double(size_t, size_t)>& between) {
  PairMatrix pairs(products.rows());
  for (Eigen::Index i = 0; i < products.rows(); ++i) {
    for (Eigen::Index j = i + 1; j < products.rows(); ++j) {
      const std::optional<double> squares = SquaredDistance(products, i, j);
      const double known =
          squares ? *squares : between(static_cast<size_t>(i), static_cast<size_t>(j));
      pairs.Set(i, j, scale * known / 2);
    }
  }
  return pairs;
}

}  // namespace noisefloor::analysis
