// SIGTERM and SIGINT as calls of a function, on a thread where everything is allowed.
#pragma once

#include <functional>
#include <thread>

namespace noisefloor {

// Blocks the two signals for this thread and all that it starts from now on, and ignores SIGPIPE.
// First thing in main, before any thread.
void BlockStopSignals();

// Calls `stop` once for every signal that comes. Thread-safe by having nothing to call.
class StopSignals {
 public:
  explicit StopSignals(std::function<void()> stop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  void Wait();

  const std::function<void()> stop_;
  const int signals_;
  const int quit_;
  std::thread thread_;
};

}  // namespace noisefloor
