// A GPU that is lost.
#pragma once

#include "common/base/status.h"
#include "worker/trainer/cuda/launcher.h"

namespace noisefloor::trainer {

class FailingLauncher : public cuda::KernelLauncher {
 public:
  absl::Status Launch(const cuda::KernelLaunch&) override {
    return MakeError(absl::StatusCode::kUnavailable, "cuLaunchKernel: gone");
  }
};

}  // namespace noisefloor::trainer
