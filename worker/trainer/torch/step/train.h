// The training loop of one member.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/facts/switches.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/reporter.h"
#include "worker/trainer/torch/step/results.h"

namespace noisefloor::trainer {

enum class Ending : uint8_t { kDone, kDiverged, kInterrupted };

// Borrowed for the time of the training.
struct TrainInput {
  const Specification& specification;
  const Dataset& dataset;
  const Streams& streams;
  const SwitchPlan& switches;
  at::Device device;
  const Clock& clock;
};

struct TrainReport {
  Ending ending = Ending::kDone;
  int64_t steps = 0;  // Optimiser steps done.
  int64_t skipped_steps =
      0;                     // Of them, those that a gradient which is not finite made idle (fp16).
  double train_seconds = 0;  // Of the steps, without evaluations.
  double evaluate_seconds = 0;
  std::map<std::string, int64_t> arrival_orders;  // shards.h
  int64_t examples_seen = 0;                      // Different ones, in all epochs: examples_seen.h
  std::string examples_seen_sha256;
};

// What a network for the data set is made for, and how it is evaluated.
ModelShape ShapeOf(const Dataset& dataset);
EvaluationPlan EvaluationOf(const TrainInput& input);

// What was measured and seen, for the environment of an outcome.
Json MeasuredJson(const TrainReport& report);

// InvalidArgument for a specification that this model or data set cannot follow.
absl::StatusOr<TrainReport> Train(const TrainInput& input, Results& results, Reporter& reporter);

}  // namespace noisefloor::trainer
