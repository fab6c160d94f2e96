#include "worker/trainer/noise/order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/philox.h"
#include "worker/trainer/noise/draws.h"

namespace noisefloor::trainer {

std::vector<uint32_t> DataOrder::Epoch(uint64_t epoch, uint32_t example_count) const {
  return window_ == 0 ? Permutation(epoch, example_count) : Windowed(epoch, example_count);
}

std::vector<uint32_t> DataOrder::Permutation(uint64_t epoch, uint32_t example_count) const {
  const PhiloxStream stream(seed_, epoch);
  std::vector<uint32_t> order(example_count);
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t i = 0; i + 1 < example_count; ++i) {
    std::swap(order[i], order[i + UniformBelow(Bits64(stream.Block(i)), example_count - i)]);
  }
  return order;
}

std::vector<uint32_t> DataOrder::Windowed(uint64_t epoch, uint32_t example_count) const {
  const PhiloxStream stream(seed_, epoch);
  uint32_t next = static_cast<uint32_t>(std::min<uint64_t>(window_, example_count));
  std::vector<uint32_t> buffer(next);
  std::iota(buffer.begin(), buffer.end(), 0u);
  std::vector<uint32_t> order;
  order.reserve(example_count);
  for (uint32_t i = 0; i < example_count; ++i) {
    const uint64_t place = UniformBelow(Bits64(stream.Block(i)), buffer.size());
    order.push_back(buffer[place]);
    if (next < example_count) {
      buffer[place] = next++;
    } else {
      buffer[place] = buffer.back();
      buffer.pop_back();
    }
  }
  return order;
}

}  // namespace noisefloor::trainer
