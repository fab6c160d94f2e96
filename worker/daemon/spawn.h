// Starts a child process so that it can neither outlive us nor get what it was not given.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

struct SpawnRequest {
  std::vector<std::string> arguments;  // [0] is the path of the program.
  std::map<std::string, std::string> environment;
  std::vector<int> cores;  // To be pinned to; empty: wherever we may run.
  // Become descriptors 0 to 3 of the child; it gets no others.
  int input = -1;
  int output = -1;
  int error = -1;
  int events = -1;  // -1: none.
};

struct Child {
  pid_t pid = -1;  // Also its process group.
  int pidfd = -1;  // Readable when it has ended; the caller closes it and reaps the child.
};

// Forks and executes. The child leads a process group and gets SIGKILL when the calling *thread*
// ends: call from a thread that lives as long as the process. NotFound, PermissionDenied, ...
// name the program when it cannot be executed.
absl::StatusOr<Child> Spawn(const SpawnRequest& request);

// The end of a child whose pidfd is readable.
struct Reaped {
  bool signalled = false;
  int code = 0;
};
Reaped Reap(const Child& child);

// What a child of ours gets of our own environment: where to find programs and libraries, and
// nothing that could change a result.
std::map<std::string, std::string> InheritedEnvironment();

}  // namespace noisefloor
