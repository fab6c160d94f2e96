#include "worker/trainer/torch/step/stopwatch.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace noisefloor::trainer {

StepTime Stopwatch::Time(const std::function<void()>& work) const {
  if (device_.is_cuda()) return TimeOnGpu(work);
  const absl::Duration start = clock_.Steady();
  work();
  return {.wall_seconds = absl::ToDoubleSeconds(clock_.Steady() - start)};
}

// Through c10's interface to devices, which needs nothing of CUDA's to be built.
StepTime Stopwatch::TimeOnGpu(const std::function<void()>& work) const {
  constexpr double kMilliseconds = 1e-3;
  const c10::impl::VirtualGuardImpl gpu(device_.type());
  const c10::Stream stream = gpu.getStream(device_);
  c10::Event before(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  c10::Event behind(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  gpu.synchronizeStream(stream);
  const absl::Duration start = clock_.Steady();
  before.record(stream);
  work();
  behind.record(stream);
  behind.synchronize();
  return {.wall_seconds = absl::ToDoubleSeconds(clock_.Steady() - start),
          .device_seconds = before.elapsedTime(behind) * kMilliseconds};
}

}  // namespace noisefloor::trainer
