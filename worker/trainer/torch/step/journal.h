// Watches the loss while training and tells how far it is. Keeps sums on the device, so that a GPU
// is asked only when a report is due: about ten times an epoch.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <utility>

#include "worker/trainer/torch/optim/schedule.h"
#include "worker/trainer/torch/step/reporter.h"

namespace noisefloor::trainer {

// Not thread-safe. Records "train_loss" (mean since the last such record), and at the end of each
// epoch "train_loss_epoch" (its mean). The learning rate is none: it follows from the settings.
class Journal {
 public:
  Journal(const StepCounts& counts, Reporter& reporter);

  // Notes the loss of step `step` (from 0). False when a loss is found to be not finite any more;
  // the records of it are written.
  [[nodiscard]] bool Add(int64_t step, const at::Tensor& loss);

  // All that Add moves, for checkpoints.
  struct State {
    at::Tensor sum;  // Of the losses since the last report, on their device; undefined when none.
    int64_t summed = 0;
    double epoch_sum = 0;  // Of the reports of this epoch.
    int64_t epoch_summed = 0;
  };
  const State& state() const { return state_; }
  void set_state(State state) { state_ = std::move(state); }

 private:
  bool Report(int64_t done);

  const StepCounts counts_;
  const int64_t interval_;  // Steps between reports.
  Reporter& reporter_;
  State state_;
};

}  // namespace noisefloor::trainer
