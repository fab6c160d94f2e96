#include "coordinator/pools/worker_options.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "fmt/format.h"

#include "common/trainer_protocol/hardware_class.h"

namespace noisefloor {

namespace {

// A worker that the cluster ends gets half a minute from SIGTERM to SIGKILL, where nobody has
// changed that: what it trains is stopped at once, so that it can still say so.
constexpr absl::Duration kDrainTimeout = absl::Seconds(1);
constexpr absl::Duration kGiveUpAfter = absl::Minutes(30);

bool Says(const std::vector<std::string>& options, std::string_view option) {
  return std::ranges::any_of(options, [&](const std::string& word) {
    return word == option || word.starts_with(std::string(option) + "=");
  });
}

}  // namespace

std::vector<std::string> WorkerOptions(const fleet::PoolWish& wish, bool stays) {
  std::vector<std::string> options = {
      "--state-temporary", fmt::format("--drain-timeout={}", absl::ToDoubleSeconds(kDrainTimeout)),
      fmt::format("--give-up-after={}", absl::ToDoubleSeconds(kGiveUpAfter))};
  if (!stays) {
    options.push_back(fmt::format("--idle-timeout={}", absl::ToDoubleSeconds(wish.idle)));
  }
  const bool chosen = Says(wish.worker, "--declare") || Says(wish.worker, "--classes");
  if (!wish.hardware.empty() && !chosen) {
    options.push_back("--classes=" + wish.hardware);
    const uint32_t gpus = GpusPerSlot(wish.hardware);
    if (gpus > 1 && !Says(wish.worker, "--gpus-per-slot")) {
      options.push_back(fmt::format("--gpus-per-slot={}", gpus));
    }
  }
  options.insert(options.end(), wish.worker.begin(), wish.worker.end());
  return options;
}

}  // namespace noisefloor
