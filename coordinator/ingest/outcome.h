// What arrives from an attempt: record batches and its end. Plain values; may hold numbers that are
// not finite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/trainer_protocol/json.h"

namespace noisefloor::ingest {

struct RecordBatch {
  uint64_t sequence = 0;  // From 1 within an attempt.
  std::vector<Record> records;
  std::string fault = {};  // Why its message makes no sense; empty: it does.
};

// What its trainer said, and what its worker adds.
struct AttemptOutcome : Outcome {
  std::string measured;  // What MakeStorable took out of the environment: JSON object, or "".
  std::string data_identity;
  std::vector<Artifact> artifacts;
  uint64_t record_batches = 0;
  std::string fault = {};  // Why it can never be accepted, as MakeStorable found; empty: it may.
};

}  // namespace noisefloor::ingest
