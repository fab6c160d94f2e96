// SIGTERM, SIGINT and SIGHUP (a closed terminal; not under nohup, which ignores it), and SIGUSR1,
// by which cluster schedulers warn: waited for, or as calls of a function on a thread where all is
// allowed.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

#include "absl/time/time.h"

namespace noisefloor {

// Blocks these signals for this thread and all that it starts from now on, and ignores SIGPIPE.
// First thing in main, before any thread.
void BlockStopSignals();

// Waits for one of them, blocked before; false when none came in time. The signal is consumed.
bool WaitForStopSignal(absl::Duration time);

enum class StopSignal : uint8_t {
  kStop,  // End soon.
  kWarn,  // SIGUSR1: begin nothing new; what runs may finish.
};

// Calls `stop` once for every signal that comes, but for SIGHUP only once in all: a shell repeats
// what the terminal has said. Thread-safe by having nothing to call.
class StopSignals {
 public:
  explicit StopSignals(std::function<void(StopSignal)> stop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  void Wait();

  const std::function<void(StopSignal)> stop_;
  const int signals_;
  const int quit_;
  std::thread thread_;
};

}  // namespace noisefloor
