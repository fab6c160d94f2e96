// The source `dial`: seeded noise of a stated size on gradients, as if other kernels had rounded
// them: worker/trainer/noise/draws.h has the formula.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/specification.h"
#include "worker/trainer/cuda/launcher.h"
#include "worker/trainer/noise/draws.h"
#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

// One caller at a time.
class Dial {
 public:
  // Of the parameters that sources.dial.parameters names: patterns between commas, in which *
  // stands for any characters; empty for all. InvalidArgument for a pattern that no parameter has.
  // Nothing is dialed where the source is off. `launcher`, borrowed, is for gradients where it
  // launches, or null: then those of a GPU go over the host, to the same bits.
  static absl::StatusOr<Dial> Make(const Specification& specification, const DialDraws& draws,
                                   const Model& model, cuda::KernelLauncher* launcher);

  int64_t elements() const { return elements_; }  // That it changes at each step; 0: it is off.

  // To the gradients of step `step`, in the order of the model's parameters; in place. Throws
  // c10::Error when a launch fails.
  void Apply(int64_t step, const std::vector<at::Tensor>& gradients) const;

 private:
  struct Dialed {
    size_t place = 0;  // Among the parameters.
    std::string name;
  };
  Dial(const DialDraws& draws, double size, cuda::KernelLauncher* launcher)
      : draws_(draws), size_(size), launcher_(launcher) {}
  // All of `gradient`, which is dense and in row-major order.
  void ApplyTo(const at::Tensor& gradient, uint64_t step, const std::string& name) const;

  DialDraws draws_;
  double size_;
  cuda::KernelLauncher* launcher_;
  std::vector<Dialed> dialed_;
  int64_t elements_ = 0;
};

}  // namespace noisefloor::trainer
