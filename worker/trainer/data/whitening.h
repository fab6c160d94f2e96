// Filters that whiten small patches of images: a first layer that need not be learned (Page 2019;
// Jordan 2024, arXiv 2404.00498, section 3.2). The bits are this program's, and the same on every
// machine: where variances are nearly equal, directions are what rounding makes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/data/dataset.h"

namespace noisefloor::trainer {

// Side of a patch in pixels.
inline constexpr int64_t kPatchSide = 2;

// With p a patch, d = channels * 2 * 2 values by channel, row, column, each as v / 255:
//   f(k) p + s(k) for k < d   (p - mean) along the k-th eigenvector of the patches' covariance, of
//                             falling eigenvalues l, divided by sqrt(l + e)
//   for k + d                 the negative of it, so that a ReLU loses nothing
// e = 5e-4 times the mean variance of a value. The largest element of each f(k), k < d, the first
// of equals, is positive. In doubles, rounded to float last: the covariance from exact integer
// sums, its eigenvectors by 30 rounds of Jacobi's turns over all pairs p < q, row by row.
struct Whitening {
  std::vector<float> filters;  // {2 d, d}
  std::vector<float> shifts;   // {2 d}
};

// Of all patches of the first images of the split that together have at most 2^22. The split is not
// empty; its images have 2 x 2 pixels or more, and one of them no more patches than that.
Whitening WhitenPatches(const Split& split);

}  // namespace noisefloor::trainer
