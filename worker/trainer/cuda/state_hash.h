// A hash of all of a member's tensors that a device can make where they lie: 128 bits instead of
// all the weights come to the host. Normative. It finds differences, not forgeries: what an outcome
// tells is still SHA-256 (common/files/tensor_hash.h).
//
// With Mix of common/base/seed.h, StreamOf of common/base/philox.h, unsigned integers of 64 bits
// that wrap, and value(i) the bits of element i in logical (row-major) order:
//   key   = Mix(... Mix(Mix(Mix(StreamOf(name)) ^ bytes of an element) ^ dimensions) ^ d_1 ... ^
//   d_n) m(i)  = Mix(Mix(key + i) ^ value(i)) a     = sum of all m(i), b = sum of all Mix(m(i)) of
//   one tensor: TensorSums u     = Mix(Mix(key ^ a) ^ b) state = sum of all u, sum of all Mix(u)
//   over all tensors
// Written as 32 hexadecimal digits, the first sum first. Sums wrap, so no order of elements,
// threads, blocks or tensors changes a bit; within a tensor a place is part of what is mixed. In
// Python:
//   key = mix(stream(name)); for x in (itemsize, ndim, *shape): key = mix(key ^ x)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/files/tensor.h"

namespace noisefloor::cuda {

struct TensorSums {
  uint64_t a = 0, b = 0;
  friend bool operator==(const TensorSums&, const TensorSums&) = default;
};

// `element_bytes`: 4 or 8.
uint64_t KeyOf(std::string_view name, uint64_t element_bytes, std::span<const int64_t> shape);

// On the host: `values` in logical order, element_bytes each, little endian.
TensorSums SumsOnHost(uint64_t key, uint64_t element_bytes, std::span<const std::byte> values);

// A value. Names must differ: a tensor that is added twice is another state.
class StateHash {
 public:
  void Add(uint64_t key, const TensorSums& sums);
  void Add(const TensorView& tensor);  // On the host.
  std::string Text() const;

 private:
  TensorSums state_;
};

}  // namespace noisefloor::cuda
