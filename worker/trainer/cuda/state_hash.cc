#include "worker/trainer/cuda/state_hash.h"

#include <cstdio>
#include <cstring>

#include "common/base/check.h"
#include "common/base/philox.h"
#include "common/base/seed.h"

namespace noisefloor::cuda {

uint64_t KeyOf(std::string_view name, uint64_t element_bytes, std::span<const int64_t> shape) {
  uint64_t key = Mix(StreamOf(name));
  key = Mix(key ^ element_bytes);
  key = Mix(key ^ shape.size());
  for (const int64_t dimension : shape) key = Mix(key ^ static_cast<uint64_t>(dimension));
  return key;
}

TensorSums SumsOnHost(uint64_t key, uint64_t element_bytes, std::span<const std::byte> values) {
  NF_CHECK(element_bytes == 4 || element_bytes == 8);
  TensorSums sums;
  for (uint64_t i = 0; i < values.size() / element_bytes; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, values.data() + i * element_bytes, element_bytes);
    const uint64_t mixed = Mix(Mix(key + i) ^ value);
    sums.a += mixed;
    sums.b += Mix(mixed);
  }
  return sums;
}

void StateHash::Add(uint64_t key, const TensorSums& sums) {
  const uint64_t mixed = Mix(Mix(key ^ sums.a) ^ sums.b);
  state_.a += mixed;
  state_.b += Mix(mixed);
}

void StateHash::Add(const TensorView& tensor) {
  const uint64_t key = KeyOf(tensor.name, SizeOf(tensor.type), tensor.shape);
  Add(key, SumsOnHost(key, SizeOf(tensor.type), tensor.bytes));
}

std::string StateHash::Text() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(state_.a),
                static_cast<unsigned long long>(state_.b));
  return text;
}

}  // namespace noisefloor::cuda
