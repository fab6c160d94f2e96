// How many optimiser steps a specification means. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/trainer_protocol/datasets.h"
#include "common/trainer_protocol/specification.h"

namespace noisefloor::query {

// 0 for a data set that is not known.
inline int64_t PlannedSteps(const Specification& specification) {
  const KnownDataset* known = FindDataset(specification.data.name);
  const int64_t batch = specification.train.batch_size;
  if (known == nullptr || batch <= 0) return 0;
  int64_t examples = known->train_examples;
  if (specification.data.train_examples > 0) {
    examples = std::min(examples, specification.data.train_examples);
  }
  const int64_t full = examples / batch;
  const int64_t rest = !specification.train.drop_last && examples % batch != 0 ? 1 : 0;
  return (full + rest) * specification.train.epochs;
}

}  // namespace noisefloor::query
