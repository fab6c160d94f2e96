// What a training goes on from, as values: nothing here knows what the numbers mean.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/trainer_protocol/json_reader.h"

namespace noisefloor::trainer {

// What a checkpoint must have been made with, by name: member, specification, build, ... Where any
// differs, other bits may come of it.
using CheckpointIdentity = std::map<std::string, std::string>;

// A file of the work directory that was told of: another attempt needs it in its own.
struct KeptFile {
  std::string name;    // In the work directory: no folder.
  std::string sha256;  // 64 hexadecimal digits.
  uint64_t size_bytes = 0;
  friend bool operator==(const KeptFile&, const KeptFile&) = default;
};

struct Checkpoint {
  int64_t step = 0;               // Optimiser steps done.
  Json facts = Json::object();    // All that moves and is no tensor.
  std::vector<std::string> told;  // Lines of events, without their ends, as they were told.
  std::vector<KeptFile> files;    // Sorted by nothing: as they were told.
  std::string tensors;            // Content of a .safetensors file.
};

}  // namespace noisefloor::trainer
