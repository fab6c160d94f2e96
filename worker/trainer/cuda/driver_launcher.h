// Runs kernels on a GPU: the embedded module for its architecture, through the driver.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "worker/trainer/cuda/cubins.h"
#include "worker/trainer/cuda/driver.h"
#include "worker/trainer/cuda/launcher.h"

namespace noisefloor::cuda {

class DriverLauncher : public KernelLauncher {
 public:
  // Borrows the driver. Unavailable, naming the compute capability, when no module is for this GPU.
  static absl::StatusOr<std::unique_ptr<DriverLauncher>> Make(const Driver& driver,
                                                              std::span<const Cubin> cubins);

  absl::Status Launch(const KernelLaunch& launch) override;
  int architecture() const { return architecture_; }

 private:
  DriverLauncher(const Driver& driver, int architecture)
      : driver_(driver), architecture_(architecture) {}

  const Driver& driver_;
  const int architecture_;
  std::array<Driver::Function, std::tuple_size_v<std::decay_t<decltype(AllKernels())>>>
      functions_{};
};

}  // namespace noisefloor::cuda
