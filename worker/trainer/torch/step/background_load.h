// The source `load`: threads that keep the processor busy beside a training, so that one can see
// whether the scheduling of others changes its bits or its time. What they compute goes nowhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

namespace noisefloor::trainer {

enum class LoadKind : uint8_t {
  kCompute,  // Multiplications and additions in registers: takes processor time alone.
  kMemory,   // Reads and writes a block that no cache of a core holds: takes bandwidth, too.
};

// Memory of each thread of kMemory.
inline constexpr int64_t kLoadBytes = int64_t{64} << 20;

// What a load did. A unit is 2^16 rounds of arithmetic, or one pass over a 64th of the block.
struct LoadDone {
  int64_t units = 0;
  double cpu_seconds = 0;  // Of all its threads.
};

// Runs from the end of the constructor to Stop. One caller at a time.
class BackgroundLoad {
 public:
  // Returns when each of `threads` threads has done its first unit: what is timed from then on has
  // the load beside it. They run where the caller may, at its priority. Throws std::bad_alloc, and
  // std::system_error where the system has no more threads; then none is left.
  BackgroundLoad(LoadKind kind, int64_t threads);
  ~BackgroundLoad() { Stop(); }
  BackgroundLoad(const BackgroundLoad&) = delete;
  BackgroundLoad& operator=(const BackgroundLoad&) = delete;

  // Whether every thread has done its first unit.
  bool is_busy() const { return busy_.try_wait(); }

  // Ends and joins the threads, each within a unit: well below a millisecond of its time. Again:
  // the same answer.
  LoadDone Stop();

 private:
  struct Worker {
    std::vector<uint64_t> block;  // Empty without memory to stream.
    LoadDone done;                // Written by the thread before it ends.
    uint64_t result = 0;          // Likewise: what keeps the work from being optimised away.
    std::thread thread;
  };
  void Run(Worker& worker);

  std::atomic<bool> stopping_ = false;
  std::latch busy_;
  std::vector<Worker> workers_;
};

}  // namespace noisefloor::trainer
