#include "worker/trainer/torch/step/train.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/trainer_protocol/networks.h"
#include "common/trainer_protocol/steps.h"
#include "worker/trainer/data/examples_seen.h"
#include "worker/trainer/torch/model/host_tensors.h"
#include "worker/trainer/torch/model/init.h"
#include "worker/trainer/torch/model/precision.h"
#include "worker/trainer/torch/optim/dial.h"
#include "worker/trainer/torch/optim/poke.h"
#include "worker/trainer/torch/optim/schedule.h"
#include "worker/trainer/torch/optim/update.h"
#include "worker/trainer/torch/step/background_load.h"
#include "worker/trainer/torch/step/batches.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/journal.h"
#include "worker/trainer/torch/step/memory.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {

namespace {

Replicas MakeReplicas(const TrainInput& input, const Model& model) {
  return {input.specification.model, ShapeOf(input.dataset), model,
          input.specification.train.shards, input.devices};
}

absl::StatusOr<TrainingBatches> MakeBatches(const TrainInput& input,
                                            const std::vector<GpuKernels>& kernels) {
  std::vector<BatchPlace> places;
  for (size_t i = 0; i < kernels.size(); ++i) {
    places.push_back({input.devices[i], kernels[i].launcher.get()});
  }
  return TrainingBatches::Make(input.specification, input.dataset, input.streams,
                               std::move(places));
}

std::map<std::string, uint64_t> LaunchesOf(const std::vector<GpuKernels>& kernels) {
  std::map<std::string, uint64_t> all;
  for (const GpuKernels& own : kernels) {
    if (own.launcher == nullptr) continue;
    for (const auto& [kernel, count] : own.launcher->launches()) all[kernel] += count;
  }
  return all;
}

// The moving average of the weights as a model of its own, where one is asked for: what is then
// tested, hashed and written in place of the weights that are trained.
class Average {
 public:
  Average(const TrainInput& input, const Model& trained) {
    if (input.specification.train.average_decay == 0) return;
    model_ = MakeModel(input.specification.model, ShapeOf(input.dataset), input.device());
    model_->ToType(trained.type());
    const at::NoGradGuard no_grad;
    at::_foreach_copy_(weights(), trained.ParameterTensors());
  }

  std::vector<at::Tensor> weights() const {
    return model_ == nullptr ? std::vector<at::Tensor>() : model_->ParameterTensors();
  }

  // With the running statistics of training, which are an average already.
  const Model& Evaluated(const Model& trained) const {
    if (model_ == nullptr) return trained;
    for (size_t i = 0; i < trained.buffers().size(); ++i) {
      at::Tensor buffer = model_->buffers()[i].value;
      buffer.copy_(trained.buffers()[i].value);
    }
    return *model_;
  }

 private:
  std::unique_ptr<Model> model_;  // Null without an average.
};

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
        results_.Evaluate(model, input_.device(), evaluator_, {report_.steps, epoch}, last);
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

// Seconds of the steps: of this attempt, without its evaluations, after those of earlier ones.
class TrainingTime {
 public:
  TrainingTime(const Clock& clock, TrainReport& report)
      : clock_(clock),
        report_(report),
        start_(clock.Steady()),
        trained_(report.train_seconds),
        evaluated_(report.evaluate_seconds) {}

  void Note() {
    report_.train_seconds = trained_ + absl::ToDoubleSeconds(clock_.Steady() - start_) -
                            (report_.evaluate_seconds - evaluated_);
  }

 private:
  const Clock& clock_;
  TrainReport& report_;
  const absl::Duration start_;
  const double trained_;
  const double evaluated_;
};

// Between two steps; the last one when the training is to stop.
void KeepCheckpoint(Checkpointer* checkpoints, const Moving& moving, bool stop) {
  if (stop) {
    moving.report.ending = Ending::kInterrupted;
    moving.report.is_kept = checkpoints != nullptr && checkpoints->TakeLast(moving);
    return;
  }
  checkpoints->Take(moving);
}

// What every attempt finds by itself before the first step.
absl::Status NoteStart(const Model& model, const TrainingBatches& batches, Results& results) {
  results.SetHash("init", HostTensors::Parameters(model).Hash());
  NF_ASSIGN_OR_RETURN(std::string first_batches, batches.HashFirst());
  results.SetHash("first_batches", std::move(first_batches));
  return absl::OkStatus();
}

// Where the source is off there are no threads.
LoadKind LoadKindOf(const Specification& specification) {
  return specification.sources.load_kind == "memory" ? LoadKind::kMemory : LoadKind::kCompute;
}

std::optional<LoadReport> ReportOf(BackgroundLoad& load, const TrainInput& input) {
  const LoadDone done = load.Stop();
  if (input.specification.Source(NoiseSource::kLoad).state == SourceState::kOff) return {};
  return LoadReport{input.specification.sources.load_kind, input.streams.load, done};
}

void StepOn(const Batch& batch, int64_t step, double learning_rate, const Dial& dial,
            const Moving& moving) {
  const auto& gradient = moving.shards.Compute(
      static_cast<int64_t>(batch.examples.size()), step,
      [&](int64_t first, int64_t count, size_t place) {
        return moving.batches.Load(batch, first, count, place);
      },
      moving.update.loss_scale());
  dial.Apply(step, gradient);
  moving.update.Step(gradient, learning_rate);
  moving.shards.UpdateRunningStatistics();
  moving.report.steps = step + 1;
}

// What the coordinator cannot check of a data set that it does not know.
absl::Status CheckCounts(const Poke& poke, const StepCounts& counts) {
  if (poke.on && poke.step >= counts.total) {
    return InvalidInput("sources.poke.step: " + std::to_string(poke.step) +
                        " asked, the training has " + std::to_string(counts.total) +
                        " steps, counted from 0: the poke would never happen");
  }
  if (counts.total > kMostDrawnSteps) {
    return InvalidInput(std::to_string(counts.total) + " steps; expected at most " +
                        std::to_string(kMostDrawnSteps) + ", so that no draw comes twice");
  }
  return absl::OkStatus();
}

}  // namespace

ModelShape ShapeOf(const Dataset& dataset) {
  return {dataset.shape.channels, dataset.shape.height, dataset.shape.width, dataset.classes};
}

EvaluationPlan EvaluationOf(const TrainInput& input) {
  return {.batch_size = input.specification.evaluate.batch_size,
          .threads = input.specification.train.threads,
          .training = input.switches,
          .fresh_threads = input.switches.autotune && input.device().is_cuda()};
}

Json MeasuredJson(const TrainReport& report) {
  int64_t most = 0;
  for (const auto& [order, count] : report.arrival_orders) most = std::max(most, count);
  Json measured = {{"steps", report.steps},
                   {"train_seconds", report.train_seconds},
                   {"evaluate_seconds", report.evaluate_seconds},
                   {"examples_seen", report.examples_seen},
                   {"examples_seen_sha256", report.examples_seen_sha256}};
  if (!report.resumed_at.empty()) measured["resumed_at"] = report.resumed_at;
  if (report.skipped_steps > 0) measured["skipped_steps"] = report.skipped_steps;
  if (report.dialed_elements > 0) measured["dialed_elements"] = report.dialed_elements;
  if (report.load) {
    measured["background_load"] = {{"kind", report.load->kind},
                                   {"threads", report.load->threads},
                                   {"units", report.load->done.units},
                                   {"cpu_seconds", report.load->done.cpu_seconds}};
  }
  if (!report.own_kernels.empty()) measured["own_kernels"] = report.own_kernels;
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
  const auto model = MakeModel(spec.model, ShapeOf(input.dataset), input.device());
  model->ToType(WeightTypeOf(spec.train.precision));
  InitWeights(*model, spec.model.init, input.streams.init, &input.dataset.train);
  NF_ASSIGN_OR_RETURN(const Poke poke, ResolvePoke(spec, *model));
  NF_ASSIGN_OR_RETURN(const std::vector<GpuKernels> kernels, OpenGpuKernels(input.devices));
  NF_RETURN_IF_ERROR(CheckNoisySums(spec, input.devices, LaunchersOf(kernels)));
  NF_ASSIGN_OR_RETURN(const Dial dial,
                      Dial::Make(spec, input.streams.dial, *model, kernels.front().launcher.get()));
  NF_ASSIGN_OR_RETURN(TrainingBatches batches, MakeBatches(input, kernels));
  NF_RETURN_IF_ERROR(NoteStart(*model, batches, results));

  const StepCounts counts{batches.per_epoch(), batches.per_epoch() * spec.train.epochs};
  NF_RETURN_IF_ERROR(CheckCounts(poke, counts));
  GradientShards shards(
      ShardOptionsOf(spec, input.streams, input.switches.threads, LaunchersOf(kernels)),
      MakeReplicas(input, *model));
  const Average average(input, *model);
  Update update(spec.train, model->ParameterTensors(), average.weights(),
                model->Rates(spec.train.optimizer.bias_rate));
  const Schedule schedule(spec.train, counts);
  Journal journal(counts, reporter);
  TrainReport report;
  ExamplesSeen seen(input.dataset.train.size());
  Examiner examiner(input, shards.team(), results, report);
  Moving moving{*model, update, batches, shards, journal, results, reporter, report, counts.total};
  if (input.checkpoints != nullptr) input.checkpoints->Resume(moving);
  NF_RETURN_IF_ERROR(batches.NoteFirst(report.steps, seen));

  BackgroundLoad load(LoadKindOf(spec), input.streams.load);  // Busy from here to the last test.
  TrainingTime time(input.clock, report);
  for (int64_t step = report.steps; step < counts.total && report.ending == Ending::kDone; ++step) {
    const bool stop = input.stop_asked() || !reporter.status().ok();
    if (stop || (input.checkpoints != nullptr && input.checkpoints->Due(step))) {
      time.Note();
      KeepCheckpoint(input.checkpoints, moving, stop);
    }
    if (stop) return report;
    if (poke.on && step == poke.step) ApplyPoke(poke, *model);
    NF_ASSIGN_OR_RETURN(const Batch batch, batches.Next());
    seen.Add(batch.examples);
    StepOn(batch, step, schedule.RateAt(step), dial, moving);
    if (!journal.Add(step, shards.loss()))
      report.ending = Ending::kDiverged;
    else if (examiner.Due(batch)) {
      NF_RETURN_IF_ERROR(examiner.Evaluate(average.Evaluated(*model), counts, /*last=*/false));
    }
  }
  time.Note();
  NF_RETURN_IF_ERROR(examiner.Evaluate(average.Evaluated(*model), counts, /*last=*/true));
  if (!std::isfinite(results.outcome().metrics["loss"])) report.ending = Ending::kDiverged;
  report.arrival_orders = shards.arrival_orders();
  report.examples_seen = seen.count();
  report.examples_seen_sha256 = seen.Hash(input.dataset.identity);
  report.skipped_steps = update.skipped();
  report.dialed_elements = dial.elements();
  report.load = ReportOf(load, input);
  report.own_kernels = LaunchesOf(kernels);
  return report;
}

}  // namespace noisefloor::trainer
