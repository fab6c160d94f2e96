// Which examples a training has seen, whatever limits, batches and epochs made of the data set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::trainer {

// Not thread-safe.
class ExamplesSeen {
 public:
  // `size`: of the training set.
  explicit ExamplesSeen(uint32_t size) : seen_(size) {}

  void Add(std::span<const uint32_t> ranks) {
    for (const uint32_t rank : ranks) seen_[rank] = true;
  }
  // Different ones.
  int64_t count() const;
  // SHA-256 over "noisefloor examples seen 1\n", the identity of the data set and "\n", then the
  // ranks of the seen examples in canonical order, rising, as 64 bits each (little endian).
  std::string Hash(std::string_view identity) const;

 private:
  std::vector<bool> seen_;
};

}  // namespace noisefloor::trainer
