// A worker of a plain machine: a unit of systemd, as text. Nothing here talks to a machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

struct SystemdWish {
  std::string name;            // Of the worker, behind that of its machine; as in Kubernetes.
  std::string program;         // There; a path, or a name on systemd's PATH.
  std::string access;          // Path here of the access file, for the command; may be empty.
  std::string hardware;        // Class that it must have; empty: what it finds.
  uint32_t gpus_per_slot = 1;  // Of that class.
  int64_t idle_seconds = 0;    // Without a member it leaves, for good; 0: it stays.
  int64_t grace_seconds = 0;   // As in Kubernetes; 0: the worker's own.
  std::vector<std::string> worker_options;                     // Of noisefloor-worker.
  std::vector<std::pair<std::string, std::string>> variables;  // Of its environment.
};

// InvalidArgument names the option of `fleet manifest` that is wrong, and what was expected.
absl::Status Check(const SystemdWish& wish);

// Of a wish that was checked: the unit that comes with noisefloor, filled in, with what has to be
// done on the machine as comments on top.
std::string SystemdUnit(const SystemdWish& wish);

// That unit as it comes: of every worker of a machine, noisefloor-worker@.service.
std::string_view WorkerUnit();

// A word of a line of a unit, whatever is in it: no specifier, variable or blank counts.
std::string UnitWord(std::string_view text, bool variables = true);

}  // namespace noisefloor
