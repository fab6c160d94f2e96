// Source `data_order`: in which order an epoch visits the examples. Normative.
//
// Stream = epoch, 64 bits per position: words 0 (low) and 1 (high) of block `position`.
#pragma once

#include <cstdint>
#include <vector>

namespace noisefloor::trainer {

// A value; any thread.
class DataOrder {
 public:
  // window 0: a full permutation per epoch. Otherwise a buffer of `window` examples, as tf.data
  // shuffles; a window of 1 keeps the canonical order.
  DataOrder(uint64_t seed, uint64_t window) : seed_(seed), window_(window) {}

  // The ranks 0 … example_count - 1, each once; [i] is visited at position i.
  std::vector<uint32_t> Epoch(uint64_t epoch, uint32_t example_count) const;

 private:
  // Fisher-Yates from the front: position i takes what lies at i + below(example_count - i), which
  // gets what lay at i. Begins with the canonical order in every epoch.
  std::vector<uint32_t> Permutation(uint64_t epoch, uint32_t example_count) const;
  // The buffer holds the first `window` ranks. Position i takes buffer[below(buffer size)], whose
  // place the next rank takes; when none is left, the last of the buffer does.
  std::vector<uint32_t> Windowed(uint64_t epoch, uint32_t example_count) const;

  uint64_t seed_;
  uint64_t window_;
};

}  // namespace noisefloor::trainer
