// Which source does noise come from? The variance of the answers over several sources, taken apart
// into what each source does alone and what several do together. Pure.
//
// Churn is a variance: with one-hot answers it is 1/2 |e_i - e_j|^2, whose expectation over two
// independent members is the trace of the covariance of the answers. So the decomposition of
// Hoeffding and Sobol holds exactly of it (of vectors: Lamboni, Monod, Makowski 2011; Gamboa,
// Janon, Klein, Lagnoux 2014), as of 1/2 (a_i - a_j)^2 of accuracies. For two members that share
// the draws of the sources in S and of no other,
//
//   E d = D(S) = sum of V_u over the sets u of sources that are not all in S,
//
// and the V_u are estimated from the mean d of each pattern of sharing (symmetric sums: Koch 1967),
// whatever the design; what a design cannot tell is said to be so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {

inline constexpr int kMostSources = 6;

// A set of sources, by their bits.
using SourceSet = uint32_t;

// Members that are compared with each other: blocks have no draw in common.
struct DesignBlock {
  std::vector<std::vector<uint32_t>> levels;  // {members, sources}: whose draw each member has.
  // {members, members}: churn, or half a squared distance: of accuracies, probabilities, weights.
  PairMatrix distances{0};
};

// What a share is of.
enum class IndexKind : uint8_t {
  kFirstOrder,   // One source by itself, V_A: what goes when it is held and the others are not.
  kTotal,        // What it makes when all others are held: the sum of V_u with A in u.
  kInteraction,  // Two sources together: V_AB.
  kAdditive,     // All first-order effects together; 1: no source acts through another.
};

struct Index {
  IndexKind kind = IndexKind::kFirstOrder;
  SourceSet sources = 0;
  Estimate share;  // Of the whole variance. May be below 0 by chance: never clipped.
};

struct Decomposition {
  Estimate whole;  // D(none), in the unit of d: what two members with nothing in common differ by.
  std::vector<Index> indices;  // First-order and total of each source, interactions, additive.
};

// `sources` in [1, kMostSources]; the levels of every block have as many columns. Intervals: over
// blocks, leaving out one, Student's t with blocks - 1; of one block leaving out one draw of one
// source at a time, v = max(sum of v_k - v of members, max v_k) (pigeonhole: Owen 2007; Cameron,
// Gelbach, Miller 2011), Student's t with the least number of draws - 1. n counts blocks, or draws,
// without which a share is another one. Absent is what the design does not identify.
Decomposition Decompose(std::span<const DesignBlock> blocks, int sources, const std::string& unit);

}  // namespace noisefloor::analysis
