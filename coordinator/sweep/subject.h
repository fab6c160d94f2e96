// What the members of a sweep are about that trains nothing new: members of another. Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/trainer_protocol/training.h"

namespace noisefloor::sweep {

// The member that the members of a replay are about.
struct Subject {
  MemberId member;
  uint32_t block = 0;  // Of its cell.
  friend bool operator==(const Subject&, const Subject&) = default;
};

// Weights that a member of an inference evaluates.
struct GivenWeights {
  uint32_t replicate = 0;  // Of the cell that they are of: its subject.
  std::string sha256;      // Of a .safetensors file that the coordinator has.
  uint64_t size_bytes = 0;
  std::string file;  // What a person calls it who brought them; "" = the subject has trained them.
  friend bool operator==(const GivenWeights&, const GivenWeights&) = default;
};

// A cell of another sweep of which some members are the subjects of an inference.
struct SubjectCell {
  uint32_t cell = 0;
  std::vector<Setting> axes;
  std::string plan;   // Of the inference: see InferenceOf.
  std::string stack;  // On which the inference goes; "" = any.
  uint32_t block = 0;
  std::vector<GivenWeights> weights;  // Of its members, in their order. At least one.
  friend bool operator==(const SubjectCell&, const SubjectCell&) = default;
};

// What the members of an inference are about. On each of its hardware classes it has a cell for
// each of these, and in it a member for each of their weights.
struct Inference {
  SweepId sweep;  // That trained the subjects.
  std::vector<SubjectCell> cells;
  friend bool operator==(const Inference&, const Inference&) = default;
};

}  // namespace noisefloor::sweep
