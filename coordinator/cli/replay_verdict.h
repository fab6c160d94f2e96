// What a replayed member should show, and whether it did. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/specification.h"

namespace noisefloor::cli {

// Who trained: the two environments' "stack" and "build", and the class.
struct TrainedBy {
  std::string stack;
  std::string build;
};

// Why equal bits are not promised; empty when they are.
std::vector<std::string> WhyBitsMayDiffer(const Specification& specification,
                                          const TrainedBy& original, const TrainedBy& replay);

struct HashPair {
  std::string name;
  std::string original;  // Empty: not known.
  std::string replay;
  bool equal() const { return original == replay; }
};

// init, first_batches, weights_at/1, /2, ... in the order of the training, weights, logits.
std::vector<HashPair> PairHashes(const std::map<std::string, std::string>& original,
                                 const std::map<std::string, std::string>& replay);

// In words: "the initial weights", "evaluation 3"; empty when all pairs are equal.
std::string FirstDifference(const std::vector<HashPair>& pairs);

// The members of the same cell that are done.
struct Cohort {
  size_t count = 0;
  double mean = 0;  // Of top-1;
  double sd = 0;    // ddof 1; 0 with one member.
  // Where one more training of the cohort lies in 95 of 100 cases, were top-1 normal. Half-width
  // round the mean; infinite with one member.
  double half_width = 0;
};
Cohort SumUp(const std::vector<double>& top1);
bool IsLikely(const Cohort& cohort, double top1);

}  // namespace noisefloor::cli
