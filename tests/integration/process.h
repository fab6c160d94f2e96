// A program that a test starts, talks to through a pipe, and kills.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "worker/daemon/spawn.h"

namespace noisefloor::test {

// Killed and waited for at the end when it still runs; it dies with the thread that started it.
// Move-only; one thread.
class Process {
 public:
  // Standard error goes to the end of `log_path`. [0] is the program's path.
  static absl::StatusOr<Process> Start(std::vector<std::string> arguments,
                                       const std::string& log_path);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  // The next line of its standard output. DeadlineExceeded when none came, Unavailable when it
  // closed its output instead.
  absl::StatusOr<std::string> ReadLine(absl::Duration timeout);

  // Nobody reads its standard output from now on.
  void CloseOutput();
  bool Signal(int number) const;
  // The exit code, or minus the signal that ended it. DeadlineExceeded when it still runs.
  absl::StatusOr<int> Wait(absl::Duration timeout);
  bool Ended() const { return EndsWithin(absl::ZeroDuration()); }
  // Waits for that, at most so long.
  bool EndsWithin(absl::Duration timeout) const;
  pid_t pid() const { return child_.pid; }

 private:
  Process(Child child, int output) : child_(child), output_(output) {}
  void End();

  Child child_;      // pid -1: waited for.
  int output_ = -1;  // Reading end of its standard output.
  std::string read_;
};

// Sends a signal to a process that carries the mark of this worker's state directory, and only if
// it still does; false when it has gone.
bool SignalMarked(const std::string& state_directory, int process, int number);

// For the message of a failed test.
std::string EndOfFile(const std::string& path, size_t bytes);

}  // namespace noisefloor::test
