#include "worker/trainer/torch/step/infer.h"

#include <cmath>

#include "common/trainer_protocol/networks.h"
#include "worker/trainer/torch/model/load_weights.h"
#include "worker/trainer/torch/model/precision.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/memory.h"
#include "worker/trainer/torch/step/thread_team.h"

namespace noisefloor::trainer {

absl::StatusOr<TrainReport> Infer(const TrainInput& input, const std::string& weights,
                                  Results& results) {
  const Specification& spec = input.specification;
  NF_RETURN_IF_ERROR(CheckImages(spec.model.name, spec.data.name, input.dataset.shape.height,
                                 input.dataset.shape.width));
  ReleaseKeptMemory();  // What reading the data set used.
  const auto model = MakeModel(spec.model, ShapeOf(input.dataset), input.device());
  model->ToType(WeightTypeOf(spec.train.precision));
  NF_RETURN_IF_ERROR(LoadWeights(weights, *model));
  ThreadTeam team(spec.train.shards, [] {});
  const Augmenter augmenter(input.dataset.shape, spec.augment, LayoutOf(spec.model));
  const Evaluator evaluator(EvaluationOf(input), input.dataset.test, augmenter, team);
  TrainReport report;
  const absl::Duration start = input.clock.Steady();
  NF_RETURN_IF_ERROR(results.EvaluateGiven(*model, input.device(), evaluator));
  report.evaluate_seconds = absl::ToDoubleSeconds(input.clock.Steady() - start);
  if (!std::isfinite(results.outcome().metrics["loss"])) report.ending = Ending::kDiverged;
  return report;
}

}  // namespace noisefloor::trainer
