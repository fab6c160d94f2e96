// SIGINT, SIGTERM and SIGHUP (a closed terminal; not under nohup, which ignores it) as something to
// wait on, while one exists. At most one at a time; main thread.
#pragma once

#include <array>

#include "absl/time/time.h"

namespace noisefloor::cli {

// From now on, writing to a pipe whose reader has gone is an error as any other and does not end
// the process: for who holds a coordinator, which must not die of the reader of its log.
void OutliveReaders();

class StopSignal {
 public:
  // From now on the signals do not end the process. `also_warning`: SIGUSR1 is one of them, with
  // which a cluster says that it will end soon.
  explicit StopSignal(bool also_warning = false);
  ~StopSignal();  // As before.
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool Requested() const;
  // Forgets the signals that came: the next one counts anew.
  void Clear();
  // Readable when a signal has come; for poll().
  int file() const { return pipe_[0]; }
  // True when a signal came in time; at once when `other` (a file, or -1) becomes readable.
  bool WaitFor(absl::Duration timeout, int other = -1) const;

 private:
  std::array<int, 2> pipe_ = {-1, -1};
  const bool also_warning_;
};

}  // namespace noisefloor::cli
