// What arrives from an attempt: record batches and its end. Plain values; may hold numbers that are
// not finite.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/trainer_protocol/json.h"

namespace noisefloor::ingest {

struct RecordBatch {
  uint64_t sequence = 0;  // From 1 within an attempt.
  std::vector<Record> records;
  std::string fault = {};  // Why its message makes no sense; empty: it does.
};

struct Artifact {
  std::string kind;
  std::string path;
  std::string sha256;
  uint64_t size = 0;
};

struct AttemptOutcome {
  OutcomeEvent::Kind kind = OutcomeEvent::Kind::kFailed;
  CauseClass cause = CauseClass::kNone;
  std::string message;
  std::map<std::string, std::string> hashes;
  std::map<std::string, double> metrics;
  std::vector<double> per_class_accuracy;
  std::string environment;    // JSON object as text.
  std::string measured = {};  // What MakeStorable took out of it: JSON object, or "".
  double train_seconds = 0;
  std::string data_identity;
  std::vector<Artifact> artifacts;
  uint64_t record_batches = 0;
  std::string fault = {};  // Why it can never be accepted, as MakeStorable found; empty: it may.
};

}  // namespace noisefloor::ingest
