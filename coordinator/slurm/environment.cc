#include "coordinator/slurm/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace noisefloor {

namespace {

constexpr std::array<std::string_view, 8> kPass = {
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH", "SLURM_CONF", "SLURM_CLUSTERS"};

}  // namespace

std::vector<std::string> Cleared(const std::vector<std::string>& environment) {
  std::vector<std::string> cleared;
  for (const std::string& entry : environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (std::ranges::find(kPass, name) != kPass.end()) cleared.push_back(entry);
  }
  cleared.emplace_back("LC_ALL=C");
  cleared.emplace_back("SLURM_TIME_FORMAT=%s");
  return cleared;
}

std::vector<std::string> SlurmEnvironment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return Cleared(all);
}

}  // namespace noisefloor
