// One arm of a measurement: a network with its optimiser, under switches of its own, that takes
// training steps on a batch that stays the same.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/trainer_protocol/specification.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/facts/switches.h"
#include "worker/trainer/torch/model/model.h"
#include "worker/trainer/torch/optim/update.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {

inline constexpr std::string_view kDeterministicArm = "deterministic";
inline constexpr std::string_view kPlanArm = "plan";  // As the noise plan of the member says.

// The same member with all physical sources held still.
Specification HeldStill(const Specification& specification);

// A batch of images in three colours, uniform in [0, 1), and of labels, uniform over the classes,
// or with binary cross-entropy of so many attributes, uniform over 0 and 1; both on `device`. Drawn
// by the seed of the source `data_order`: Word(element) of the streams StreamOf("measure.images")
// and StreamOf("measure.labels"), elements in logical order.
Examples DrawBatch(const Specification& specification, at::Device device);

// Not thread-safe. Holds weights, gradients and moments of its own.
class Arm {
 public:
  // `batch` of DrawBatch, on each of the devices; kept. `launchers`: as ShardOptions'.
  Arm(std::string_view name, const Specification& specification, const Streams& streams,
      const SwitchPlan& switches, const std::vector<Examples>& batch,
      std::vector<cuda::KernelLauncher*> launchers = {});

  const std::string& name() const { return name_; }
  // Sets this arm's switches, process-wide, and says how they read.
  std::vector<SwitchReading> Prepare() const { return SetSwitches(switches_); }

  // Forward, backward, the sum over the shards, all of Update, the running statistics. On a GPU all
  // of it may still be under way when this returns.
  void Step();
  // Of the last step. Waits for it.
  double Loss() const { return shards_->loss().item<double>(); }

  // Steps that moved nothing, as Update's.
  int64_t skipped() const { return update_->skipped(); }

  const Model& model() const { return *model_; }
  ThreadTeam& team() { return shards_->team(); }

 private:
  const std::string name_;
  const SwitchPlan switches_;
  const std::vector<Examples> batch_;
  const double learning_rate_;
  int64_t steps_ = 0;
  std::unique_ptr<Model> model_;
  std::unique_ptr<GradientShards> shards_;
  std::unique_ptr<Update> update_;
};

}  // namespace noisefloor::trainer
