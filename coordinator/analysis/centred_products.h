// Products of every two members' vectors, less the mean of all, read once. Internal to this folder.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "Eigen/Core"
#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {

// Columns, one value of each member, are added up a few at a time: no vector is ever whole here.
class CentredProducts {
 public:
  explicit CentredProducts(size_t members);

  // How many columns may be written before they are Added; never 0.
  size_t room() const { return static_cast<size_t>(kColumns - filled_); }
  // Of the columns that are not yet added.
  double& At(size_t member, size_t column) {
    return columns_(static_cast<Eigen::Index>(member), filled_ + static_cast<Eigen::Index>(column));
  }
  void Added(size_t columns);

  // {members, members}, the lower half. Nothing may be added afterwards.
  const Eigen::MatrixXd& Finish();

 private:
  // So few that they are added up in one go whatever the size of the cache, which Eigen asks for:
  // else bits would depend on it.
  static constexpr Eigen::Index kColumns = 256;
  void Flush();

  Eigen::MatrixXd products_;
  Eigen::MatrixXd columns_;
  Eigen::Index filled_ = 0;
};

// |a - b|^2 of two members, where what is left of its terms has digits enough; absent where they
// are so near that only the values can tell. `products` as finished; i < j.
std::optional<double> SquaredDistance(const Eigen::MatrixXd& products, Eigen::Index i,
                                      Eigen::Index j);

// Half of that of every two, times `scale`; `between(i, j)` has it from the values where only they
// can tell.
PairMatrix HalfSquaredDistances(const Eigen::MatrixXd& products, double scale,
                                const std::function<double(size_t, size_t)>& between);

}  // namespace noisefloor::analysis
