// What a model says about the evaluation set: always with the deterministic switches on, in the
// type of the weights without low precision or TF32, with a fixed batch size and a fixed number of
// threads, so that evaluation adds no noise of its own and is one instrument for all arithmetics.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/data/augment.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/torch/facts/switches.h"
#include "worker/trainer/torch/model/model.h"
#include "worker/trainer/torch/step/metrics.h"
#include "worker/trainer/torch/step/thread_team.h"

namespace noisefloor::trainer {

// {count, channels, height, width} for a network, filled by `fill`, which writes them in `layout`.
at::Tensor NewImages(int64_t count, const ImageShape& shape, Layout layout,
                     const std::function<void(std::span<float>)>& fill, at::Device device);

struct EvaluationPlan {
  int64_t batch_size = 1000;
  int64_t threads = 1;  // Intra-op threads of each batch; never a drawn number.
  SwitchPlan training;  // The switches to go back to afterwards.
  // Evaluates on threads that have never trained. cuDNN's plans are kept per thread, for shapes and
  // the deterministic switch but whatever the autotune switch says: a thread that has trained with
  // autotune on would evaluate with the plans that won then.
  bool fresh_threads = false;
};

// Holds references to what it is given; uses `team`, or fresh threads in its place, to work on
// several batches at once, which changes no value: a batch is computed by one thread.
class Evaluator {
 public:
  Evaluator(const EvaluationPlan& plan, const Split& split, const Augmenter& augmenter,
            ThreadTeam& team)
      : plan_(plan), split_(split), augmenter_(augmenter), team_(team) {}

  // Logits {examples, classes}, row-major. Internal when a switch does not read back as asked.
  absl::StatusOr<std::vector<float>> Predict(const Model& model, int64_t classes,
                                             at::Device device) const;
  std::vector<int32_t> Labels() const;

 private:
  void PredictBatch(const Model& model, at::Device device, int64_t first,
                    std::span<float> logits) const;

  const EvaluationPlan plan_;
  const Split& split_;
  const Augmenter& augmenter_;
  ThreadTeam& team_;
};

}  // namespace noisefloor::trainer
