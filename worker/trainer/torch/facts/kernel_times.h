// Which kernels a piece of work was made of: by name, how often each was launched, and how long it
// took. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::trainer {

struct KernelTime {
  std::string name;
  int64_t launches = 0;
  double seconds = 0;  // Of an operation without those that it calls.
  friend bool operator==(const KernelTime&, const KernelTime&) = default;
};

// One call of an operation, on some thread. [start_ns, end_ns)
struct Call {
  std::string name;
  uint64_t thread = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};
// Sums over names of the time of calls without that of calls within them; the longest first. Calls
// of one thread lie within each other or apart.
std::vector<KernelTime> OwnTimes(std::vector<Call> calls);

// What oneDNN's verbose output of level 1 says was run, by primitive, implementation and direction:
// "convolution brgconv:avx512_core forward_training". Lines that are none of these are passed over.
std::vector<KernelTime> ParsePrimitives(std::string_view output);

}  // namespace noisefloor::trainer
