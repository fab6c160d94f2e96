// What a replayed member should show, and whether it did. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/training.h"

namespace noisefloor::cli {

// Who trained, as an environment tells it.
struct TrainedBy {
  std::string stack;
  std::string build;
  // What else can change a bit, by its name for people: "processor", "GPU driver", "oneDNN".
  std::map<std::string, std::string> conditions = {};
};

// The conditions that an environment names; those that it does not are left out.
std::map<std::string, std::string> ConditionsOf(const nlohmann::ordered_json& environment);

// Why equal bits are not promised; empty when they are.
std::vector<std::string> WhyBitsMayDiffer(const Training& training, const TrainedBy& original,
                                          const TrainedBy& replay);

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
  // Where one more training of the cohort lies in at least 95 of 100 cases, were its top-1 normal
  // before it is counted in examples. Half-width round the mean; infinite where nothing can be
  // said: without a member or with one, or without any spread on a test set of unknown size.
  double half_width = std::numeric_limits<double>::infinity();
};

// A top-1 on N examples is known to 1/N. Half-width = t(0.975, n - 1) x sqrt(sd^2 + 1 / (12 N^2)) x
// sqrt(1 + 1/n) + 1 / (2 N): Student's prediction interval with the variance of rounding and half a
// step more, so that equal members promise no more than they can show. `examples` 0: not known.
Cohort SumUp(const std::vector<double>& top1, int64_t examples);
// Not known where the width is infinite. A top-1 that is not finite is not likely.
std::optional<bool> IsLikely(const Cohort& cohort, double top1);

}  // namespace noisefloor::cli
