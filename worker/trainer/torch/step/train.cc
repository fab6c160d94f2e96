#include "worker/trainer/torch/step/train.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "common/trainer_protocol/networks.h"
#include "worker/trainer/torch/model/host_tensors.h"
#include "worker/trainer/torch/model/init.h"
#include "worker/trainer/torch/optim/optimizer.h"
#include "worker/trainer/torch/optim/poke.h"
#include "worker/trainer/torch/optim/schedule.h"
#include "worker/trainer/torch/step/batches.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/journal.h"
#include "worker/trainer/torch/step/memory.h"
#include "worker/trainer/torch/step/shards.h"
#include "worker/trainer/torch/step/stop.h"

namespace noisefloor::trainer {

namespace {

std::vector<std::unique_ptr<Model>> MakeReplicas(const TrainInput& input, const Model& model) {
  std::vector<std::unique_ptr<Model>> replicas;
  for (int64_t rank = 0; rank < input.specification.train.shards; ++rank) {
    replicas.push_back(
        MakeModel(input.specification.model, ShapeOf(input.dataset), input.device, &model));
  }
  return replicas;
}

ShardOptions OptionsOf(const TrainInput& input) {
  const Specification& spec = input.specification;
  return {.shards = spec.train.shards,
          .threads = input.switches.threads,
          .in_arrival_order = spec.Source(NoiseSource::kReduceOrder).state == SourceState::kFree,
          .label_smoothing = spec.train.label_smoothing,
          .batch_norm_momentum = spec.model.batch_norm_momentum,
          .dropout = input.streams.dropout};
}

// Evaluates when it is due, and times it apart from training.
class Examiner {
 public:
  Examiner(const TrainInput& input, ThreadTeam& team, Results& results, TrainReport& report)
      : input_(input),
        augmenter_(input.dataset.shape, input.specification.augment,
                   LayoutOf(input.specification.model)),
        evaluator_(EvaluationOf(input), input.dataset.test, augmenter_, team),
        results_(results),
        report_(report) {}

  bool Due(const Batch& batch) const {
    const int64_t every = input_.specification.evaluate.every_epochs;
    const auto done = static_cast<int64_t>(batch.epoch) + 1;
    return batch.last_of_epoch && every > 0 && done % every == 0 &&
           done < input_.specification.train.epochs;  // The last one comes after the loop.
  }

  absl::Status Evaluate(const Model& model, const StepCounts& counts, bool last) {
    const absl::Duration start = input_.clock.Steady();
    const double epoch = static_cast<double>(report_.steps) / static_cast<double>(counts.per_epoch);
    const absl::Status status =
        results_.Evaluate(model, input_.device, evaluator_, {report_.steps, epoch}, last);
    report_.evaluate_seconds += absl::ToDoubleSeconds(input_.clock.Steady() - start);
    return status;
  }

 private:
  const TrainInput& input_;
  const Augmenter augmenter_;
  const Evaluator evaluator_;
  Results& results_;
  TrainReport& report_;
};

}  // namespace

ModelShape ShapeOf(const Dataset& dataset) {
  return {dataset.shape.channels, dataset.shape.height, dataset.shape.width, dataset.classes};
}

EvaluationPlan EvaluationOf(const TrainInput& input) {
  return {.batch_size = input.specification.evaluate.batch_size,
          .threads = input.specification.train.threads,
          .training = input.switches,
          .fresh_threads = input.switches.autotune && input.device.is_cuda()};
}

Json MeasuredJson(const TrainReport& report) {
  int64_t most = 0;
  for (const auto& [order, count] : report.arrival_orders) most = std::max(most, count);
  Json measured = {{"steps", report.steps},
                   {"train_seconds", report.train_seconds},
                   {"evaluate_seconds", report.evaluate_seconds}};
  if (report.arrival_orders.empty()) return measured;
  measured["arrival_orders_seen"] = report.arrival_orders.size();
  measured["most_frequent_arrival_order"] = most;
  return measured;
}

absl::StatusOr<TrainReport> Train(const TrainInput& input, Results& results, Reporter& reporter) {
  const Specification& spec = input.specification;
  NF_RETURN_IF_ERROR(CheckImages(spec.model.name, spec.data.name, input.dataset.shape.height,
                                 input.dataset.shape.width));
  ReleaseKeptMemory();  // What reading the data set used.
  const auto model = MakeModel(spec.model, ShapeOf(input.dataset), input.device);
  InitWeights(*model, spec.model.init, input.streams.init);
  NF_ASSIGN_OR_RETURN(const Poke poke, ResolvePoke(spec, *model));
  NF_ASSIGN_OR_RETURN(TrainingBatches batches,
                      TrainingBatches::Make(spec, input.dataset, input.streams, input.device));
  results.SetHash("init", HostTensors::Parameters(*model).Hash());
  NF_ASSIGN_OR_RETURN(std::string first_batches, batches.HashFirst());
  results.SetHash("first_batches", std::move(first_batches));

  const StepCounts counts{batches.per_epoch(), batches.per_epoch() * spec.train.epochs};
  GradientShards shards(OptionsOf(input), MakeReplicas(input, *model));
  Optimizer optimizer(spec.train.optimizer, model->ParameterTensors());
  Journal journal(counts, reporter);
  TrainReport report;
  Examiner examiner(input, shards.team(), results, report);

  const absl::Duration start = input.clock.Steady();
  for (int64_t step = 0; step < counts.total && report.ending == Ending::kDone; ++step) {
    if (StopAsked() || !reporter.status().ok()) {
      report.ending = Ending::kInterrupted;
      return report;
    }
    if (poke.on && step == poke.step) ApplyPoke(poke, *model);
    NF_ASSIGN_OR_RETURN(const Batch batch, batches.Next());
    const double learning_rate = LearningRate(spec.train, counts, step);
    const auto& gradient = shards.Compute(
        static_cast<int64_t>(batch.examples.size()), step,
        [&](int64_t first, int64_t count) { return batches.Load(batch, first, count); });
    optimizer.Step(gradient, learning_rate);
    shards.UpdateRunningStatistics();
    report.steps = step + 1;
    if (!journal.Add(step, shards.loss()))
      report.ending = Ending::kDiverged;
    else if (examiner.Due(batch)) {
      NF_RETURN_IF_ERROR(examiner.Evaluate(*model, counts, /*last=*/false));
    }
  }
  report.train_seconds =
      absl::ToDoubleSeconds(input.clock.Steady() - start) - report.evaluate_seconds;
  NF_RETURN_IF_ERROR(examiner.Evaluate(*model, counts, /*last=*/true));
  if (!std::isfinite(results.outcome().metrics["loss"])) report.ending = Ending::kDiverged;
  report.arrival_orders = shards.arrival_orders();
  return report;
}

}  // namespace noisefloor::trainer
