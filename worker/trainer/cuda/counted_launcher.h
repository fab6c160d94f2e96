// Who launches through it can say afterwards that kernels of ours have run, and how often.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "worker/trainer/cuda/launcher.h"

namespace noisefloor::cuda {

class CountedLauncher : public KernelLauncher {
 public:
  explicit CountedLauncher(std::unique_ptr<KernelLauncher> launcher)
      : launcher_(std::move(launcher)) {}

  absl::Status Launch(const KernelLaunch& launch) override {
    absl::Status status = launcher_->Launch(launch);
    if (status.ok()) ++counts_[static_cast<size_t>(launch.kernel)];
    return status;
  }

  // Of each kernel that was launched, by its name.
  std::map<std::string, uint64_t> launches() const {
    std::map<std::string, uint64_t> launches;
    for (const KernelFacts& facts : AllKernels()) {
      const uint64_t count = counts_[static_cast<size_t>(facts.kernel)];
      if (count > 0) launches[std::string(facts.name)] = count;
    }
    return launches;
  }

 private:
  const std::unique_ptr<KernelLauncher> launcher_;
  std::array<std::atomic<uint64_t>, kKernels> counts_{};  // By kernel.
};

}  // namespace noisefloor::cuda
