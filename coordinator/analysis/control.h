// Are runs equal bit for bit, and where do they first differ? Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace noisefloor::analysis {

// SHA-256 in hex of what a run was and became; empty when there is none.
struct Hashes {
  std::string init;                     // Parameters before the first step.
  std::string first_batches;            // The first 4 batches after augmentation, with labels.
  std::string weights;                  // Parameters and buffers at the end.
  std::string logits;                   // Final predictions.
  std::vector<std::string> weights_at;  // At each evaluation, in order.
  std::string deterministic_weights;    // Of a measurement, which has none of the above but init:
  std::string plan_weights;             // those of its two arms.
};

struct HashedRun {
  std::string id;
  Hashes hashes;
};

enum class BitVerdict : uint8_t { kIdentical, kDifferent, kUnproved };
std::string Name(BitVerdict verdict);  // "identical", "different", "unproved"

struct BitCheck {
  BitVerdict verdict = BitVerdict::kUnproved;
  std::string stage;       // Where the first difference is: "init", "first batches",
                           // "weights at evaluation 2", "weights", "logits"; empty when none is.
  int64_t evaluation = 0;  // From 1, when the stage is weights at an evaluation.
  std::string run;         // The first run that differs there from the first run.
  std::string missing;     // Why it is unproved, in words.
};

// Compares every run with the first, stage by stage in the order of training. Unproved below two
// runs, or when no difference is seen but a run lacks a hash that another has, or weights or
// logits altogether: absence of a hash is no proof.
BitCheck CheckBits(std::span<const HashedRun> runs);

// How many different results: distinct (weights, logits), where logits that are not known may be
// any of those of the same weights; runs without a weights hash not counted.
int64_t DistinctResults(std::span<const HashedRun> runs);

// A device that ran some of them, all with one result, which has this number.
struct UnitRuns {
  int64_t runs = 0;
  size_t result = 0;
};
// The chance that each unit has one result when results fall on runs regardless of their unit:
// the share of all arrangements of these results over the runs. Exact, but where there are too many
// kinds of units to count: then it is at most this.
double ChanceOfUnitsAlike(std::span<const UnitRuns> units);

}  // namespace noisefloor::analysis
