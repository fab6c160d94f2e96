// Numbers with a shape. Row-major, float64.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace noisefloor::trainer::twin {

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;

  Array() = default;
  explicit Array(std::vector<int64_t> dimensions, double value = 0)
      : shape(std::move(dimensions)), values(Count(shape), value) {}

  static size_t Count(const std::vector<int64_t>& shape) {
    size_t count = 1;
    for (const int64_t size : shape) count *= static_cast<size_t>(size);
    return count;
  }
  int64_t Size(size_t dimension) const { return shape.at(dimension); }
  double* At(int64_t offset) { return values.data() + offset; }
  const double* At(int64_t offset) const { return values.data() + offset; }
};

using Arrays = std::map<std::string, Array>;

// All that a network owns, by name.
struct State {
  Arrays parameters;
  Arrays gradients;   // Of the parameters: backward passes add to them.
  Arrays buffers;     // Running statistics.
  Arrays statistics;  // Of the last training batch, for each buffer.
};

}  // namespace noisefloor::trainer::twin
