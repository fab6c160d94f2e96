// What is counted and timed while a member trains.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/trainer_protocol/json_reader.h"
#include "worker/trainer/torch/step/background_load.h"

namespace noisefloor::trainer {

enum class Ending : uint8_t { kDone, kDiverged, kInterrupted };

// What ran beside the training, where the source `load` is on.
struct LoadReport {
  std::string kind;
  int64_t threads = 0;
  LoadDone done;
};

// What checkpoints have cost.
struct CheckpointCost {
  int64_t written = 0;
  int64_t failed = 0;
  double held_up_seconds = 0;  // The loop.
  double write_seconds = 0;    // By the thread that writes.
};

// Of all attempts together, where this one went on from a checkpoint.
struct TrainReport {
  Ending ending = Ending::kDone;
  int64_t steps = 0;  // Optimiser steps done.
  // Of them, those that a gradient which is not finite made idle (fp16).
  int64_t skipped_steps = 0;
  double train_seconds = 0;  // Of the steps, without evaluations.
  double evaluate_seconds = 0;
  std::map<std::string, int64_t> arrival_orders;  // shards.h
  int64_t examples_seen = 0;                      // Different ones, in all epochs.
  std::string examples_seen_sha256;               // examples_seen.h
  std::vector<int64_t> resumed_at;                // Steps done, of attempts that came further.
  int64_t dialed_elements = 0;                    // Of the gradients of each step.
  std::optional<LoadReport> load;                 // Of this attempt alone.
  // How often each of our kernels was launched, on all devices, by this attempt alone.
  std::map<std::string, uint64_t> own_kernels;
  CheckpointCost checkpoints;  // Until the last one was taken.
  bool is_kept = false;        // Interrupted, its steps are in a checkpoint.
};

// What was measured and seen, for the environment of an outcome.
Json MeasuredJson(const TrainReport& report);

}  // namespace noisefloor::trainer
