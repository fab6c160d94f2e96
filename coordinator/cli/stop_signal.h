// SIGINT and SIGTERM as something to wait on, while one exists. At most one at a time; main thread.
#pragma once

#include <array>

#include "absl/time/time.h"

namespace noisefloor::cli {

class StopSignal {
 public:
  StopSignal();   // From now on the signals do not end the process.
  ~StopSignal();  // As before.
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool Requested() const;
  // Readable when a signal has come; for poll().
  int file() const { return pipe_[0]; }
  // True when a signal came in time; at once when `other` (a file, or -1) becomes readable.
  bool WaitFor(absl::Duration timeout, int other = -1) const;

 private:
  std::array<int, 2> pipe_ = {-1, -1};
};

}  // namespace noisefloor::cli
