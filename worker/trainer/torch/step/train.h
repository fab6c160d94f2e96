// The training loop of one member.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/facts/switches.h"
#include "worker/trainer/torch/step/checkpointer.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/reporter.h"
#include "worker/trainer/torch/step/results.h"
#include "worker/trainer/torch/step/train_report.h"

namespace noisefloor::trainer {

// Borrowed for the time of the training.
struct TrainInput {
  const Specification& specification;
  const Dataset& dataset;
  const Streams& streams;
  const SwitchPlan& switches;
  std::vector<at::Device> devices;  // The first has the weights, the optimiser and the tests.
  const Clock& clock;
  std::function<bool()> stop_asked;     // Looked at before each step.
  Checkpointer* checkpoints = nullptr;  // None: nothing is kept, an interrupted member begins anew.

  at::Device device() const { return devices.front(); }
};

// What a network for the data set is made for, and how it is evaluated.
ModelShape ShapeOf(const Dataset& dataset);
EvaluationPlan EvaluationOf(const TrainInput& input);

// Goes on from the newest checkpoint, where there are some; the rest of the training then has the
// bits of one that was never interrupted, where its noise sources are fixed or drawn. Interrupted,
// it keeps one. InvalidArgument for a specification that this model or data set cannot follow.
absl::StatusOr<TrainReport> Train(const TrainInput& input, Results& results, Reporter& reporter);

}  // namespace noisefloor::trainer
