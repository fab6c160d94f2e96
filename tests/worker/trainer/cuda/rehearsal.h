// Runs bodies of kernels on the host, one block after the other, each thread of a block on a stack
// of its own. Blocks come in an order of the seed; so do the threads between two barriers, and an
// atomic addition lets others go first half of the time.
//
// It finds, and names kernel, place and threads:
//   races             two threads touch a byte, one of them writes, not both by atomics, and no
//   barrier
//                     of their block lies between; threads of two blocks never have one
//   accesses outside  of the launch's regions, of the block's shared memory and of the thread's
//   stack writes            of a region that was not said to be written, or of a table of constants
//   shared memory     that is read before the block has written it
//   barriers          that not all threads of the block reach, or not the same one
//   shuffles          of lanes that do not come to the same one, or do not exist
// It does not find: a race that only an order of warps shows which executes no conflicting access
// (all accesses of the run are seen, whatever the order); memory of a region that is read before it
// is written; what memcpy touches.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "worker/trainer/cuda/launcher.h"

namespace noisefloor::cuda::rehearsal {

using Body = void (*)(const void* arguments);

struct Job {
  std::string name;
  Body body = nullptr;
  uint32_t grid = 1;
  uint32_t block = 32;
  std::span<const std::byte> arguments;
  std::span<const Region> regions;
  uint64_t seed = 0;  // Of the orders.
};

struct Report {
  std::vector<std::string> findings;  // The first few; empty: nothing was wrong.
  uint64_t accesses = 0;              // Of regions and shared memory.
  uint64_t barriers = 0;
  uint64_t shuffles = 0;
  uint64_t atomics = 0;
};

// Any thread; one job at a time in a process. After an access outside, or a barrier that cannot be
// passed, the rest of the job is left undone.
Report Run(const Job& job);

// The body of a kernel of ours.
Body BodyOf(Kernel kernel);

// Runs each launch at once, in host memory. Internal, with the findings, when something was wrong.
class RehearsalLauncher : public KernelLauncher {
 public:
  explicit RehearsalLauncher(uint64_t seed) : seed_(seed) {}
  absl::Status Launch(const KernelLaunch& launch) override;
  uint64_t launches() const { return launches_; }

 private:
  const uint64_t seed_;
  std::atomic<uint64_t> launches_ = 0;
};

}  // namespace noisefloor::cuda::rehearsal
