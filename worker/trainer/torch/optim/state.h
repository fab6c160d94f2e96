// What an optimiser, and what goes with it, remembers between two steps: all that a checkpoint must
// keep of them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

// Exported: handles of the live tensors, to be copied before the next step. Imported: values of
// the same names, in any order, copied into the live ones.
struct OptimizerState {
  std::vector<NamedTensor> tensors;
  std::map<std::string, int64_t> counters;
};

// InvalidArgument, naming the first that differs, unless `state` has the counters of `live` and
// its tensors, in name, shape and type, and no others.
absl::Status CheckState(const OptimizerState& state, const OptimizerState& live);

// Appends "prefix/0", "prefix/1", ... in the parameters' order.
void AddTensors(const std::string& prefix, const std::vector<at::Tensor>& tensors,
                OptimizerState& state);
// The other way round. InvalidArgument names a tensor that is missing or of another shape or type;
// then some may have been copied.
absl::Status TakeTensors(const OptimizerState& state, const std::string& prefix,
                         const std::vector<at::Tensor>& tensors);
// InvalidArgument when there is no such counter.
absl::StatusOr<int64_t> TakeCounter(const OptimizerState& state, const std::string& name);

}  // namespace noisefloor::trainer
