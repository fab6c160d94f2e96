// Processes that an earlier worker of the same state directory left behind. A trainer dies with
// its worker, but what a trainer started may not.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

// The variable that marks every process of a worker: its value is the absolute state directory.
inline constexpr char kStateVariable[] = "NOISEFLOOR_WORKER_STATE";

// Of every process that there is now, in no order.
std::vector<int> AllProcesses();
// Whether the process was started with NAME=VALUE.
bool CarriesVariable(int process, const std::string& name, const std::string& value);

// The numbers of all processes that carry our mark.
std::vector<int> FindLeftovers(const std::string& state_directory);

struct Leftovers {
  std::vector<int> ended;
  std::vector<int> undying;  // SIGKILL did not end them within half a minute.
};
// Ends all processes that carry our mark with SIGKILL and waits until they have gone. The mark is
// read from the process itself, so a number that now belongs to somebody else is never hit.
Leftovers EndLeftovers(const std::string& state_directory);

}  // namespace noisefloor
