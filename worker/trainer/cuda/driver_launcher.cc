#include "worker/trainer/cuda/driver_launcher.h"

#include <algorithm>
#include <string>

namespace noisefloor::cuda {

absl::StatusOr<std::unique_ptr<DriverLauncher>> DriverLauncher::Make(
    const Driver& driver, std::span<const Cubin> cubins) {
  const auto [major, minor] = driver.compute_capability();
  const int architecture = ArchitectureFor(major, minor);
  const auto cubin = std::ranges::find(cubins, architecture, &Cubin::architecture);
  if (architecture == 0 || cubin == cubins.end()) {
    return MakeError(absl::StatusCode::kUnavailable, "no kernels for a GPU of compute capability " +
                                                         std::to_string(major) + "." +
                                                         std::to_string(minor));
  }
  std::unique_ptr<DriverLauncher> launcher(new DriverLauncher(driver, architecture));
  NF_ASSIGN_OR_RETURN(const Driver::Module module, driver.LoadModule(cubin->code.data()));
  for (const KernelFacts& facts : AllKernels()) {
    NF_ASSIGN_OR_RETURN(launcher->functions_[static_cast<size_t>(facts.kernel)],
                        driver.FindFunction(module, facts.name.data()));
  }
  return launcher;
}

absl::Status DriverLauncher::Launch(const KernelLaunch& launch) {
  if (launch.grid == 0) return absl::OkStatus();
  return Annotate(driver_.Launch(functions_[static_cast<size_t>(launch.kernel)], launch.grid,
                                 launch.block, launch.arguments.data()),
                  FactsOf(launch.kernel).name);
}

}  // namespace noisefloor::cuda
