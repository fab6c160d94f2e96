#include "worker/trainer/torch/step/infer.h"

#include <cmath>

#include "worker/trainer/torch/model/load_weights.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/memory.h"
#include "worker/trainer/torch/step/thread_team.h"

namespace noisefloor::trainer {

absl::StatusOr<TrainReport> Infer(const TrainInput& input, const std::string& weights,
                                  Results& results) {
  ReleaseKeptMemory();  // What reading the data set used.
  const auto model = MakeModel(input.specification.model, ShapeOf(input.dataset), input.device());
  NF_RETURN_IF_ERROR(LoadWeights(weights, *model));
  ThreadTeam team(input.specification.train.shards, [] {});
  const Augmenter augmenter(input.dataset.shape, input.specification.augment,
                            LayoutOf(input.specification.model));
  const Evaluator evaluator(EvaluationOf(input), input.dataset.test, augmenter, team);
  TrainReport report;
  const absl::Duration start = input.clock.Steady();
  NF_RETURN_IF_ERROR(results.EvaluateGiven(*model, input.device(), evaluator));
  report.evaluate_seconds = absl::ToDoubleSeconds(input.clock.Steady() - start);
  if (!std::isfinite(results.outcome().metrics["loss"])) report.ending = Ending::kDiverged;
  return report;
}

}  // namespace noisefloor::trainer
