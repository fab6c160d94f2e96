// How long a piece of work takes: by the clock, and on a GPU by its own events.
#pragma once

#include <ATen/ATen.h>

#include <functional>

#include "common/base/clock.h"

namespace noisefloor::trainer {

struct StepTime {
  double wall_seconds = 0;  // Until the device is done with it.
  double device_seconds =
      0;  // Between events before and behind it on the current stream; GPUs only.
};

// Borrows the clock. Nothing else may be under way on the device.
class Stopwatch {
 public:
  Stopwatch(at::Device device, const Clock& clock) : device_(device), clock_(clock) {}

  StepTime Time(const std::function<void()>& work) const;

 private:
  StepTime TimeOnGpu(const std::function<void()>& work) const;

  const at::Device device_;
  const Clock& clock_;
};

}  // namespace noisefloor::trainer
