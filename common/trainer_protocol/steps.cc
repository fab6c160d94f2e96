#include "common/trainer_protocol/steps.h"

#include <algorithm>

#include "common/trainer_protocol/datasets.h"

namespace noisefloor {

int64_t PlannedExamples(const Specification& specification) {
  if (specification.measure.steps > 0) return 0;
  const KnownDataset* known = FindDataset(specification.data.name);
  const int64_t limit = specification.data.train_examples;
  if (known == nullptr) return specification.data.image_size > 0 ? limit : 0;
  return limit > 0 ? std::min(limit, known->train_examples) : known->train_examples;
}

int64_t PlannedSteps(const Specification& specification) {
  if (specification.measure.steps > 0) {
    return kMeasuredArms * (specification.measure.warmup + specification.measure.steps);
  }
  const int64_t batch = specification.train.batch_size;
  if (batch <= 0) return 0;
  const int64_t examples = PlannedExamples(specification);
  const int64_t rest = !specification.train.drop_last && examples % batch != 0 ? 1 : 0;
  return (examples / batch + rest) * specification.train.epochs;
}

int64_t PlannedEvaluations(const Specification& specification) {
  const int64_t every = specification.evaluate.every_epochs;
  const int64_t before_the_last = std::max<int64_t>(0, specification.train.epochs - 1);
  return every == 0 ? 1 : before_the_last / every + 1;
}

}  // namespace noisefloor
