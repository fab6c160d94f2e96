#include "common/files/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>

namespace noisefloor {

static_assert(std::endian::native == std::endian::little,
              "the file formats and hashes are little endian and are written without swapping");

std::string_view Name(ElementType type) {
  switch (type) {
    case ElementType::kFloat32: return "float32";
    case ElementType::kUint8: return "uint8";
    case ElementType::kInt32: return "int32";
    case ElementType::kInt64: return "int64";
    case ElementType::kFloat64: return "float64";
  }
  return "corrupt";
}

absl::StatusOr<int64_t> ElementCount(const Shape& shape) {
  constexpr size_t kMostDimensions = 16;
  constexpr int64_t kMostElements = int64_t{1} << 40;
  if (shape.size() > kMostDimensions) {
    return InvalidInput(
        fmt::format("{} dimensions; at most {} are allowed", shape.size(), kMostDimensions));
  }
  int64_t count = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return InvalidInput(fmt::format("shape {}: a size is negative", ToText(shape)));
    if (size == 0) {
      empty = true;
    } else if (size > kMostElements / count) {
      return InvalidInput(fmt::format("shape {}: more than 2^40 elements", ToText(shape)));
    } else {
      count *= size;
    }
  }
  return empty ? 0 : count;
}

std::string ToText(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

template <Element T>
absl::StatusOr<std::vector<T>> CopyValues(const TensorView& tensor) {
  if (tensor.type != TypeOf<T>()) {
    return InvalidInput(fmt::format("{}: values are {}, expected {}", tensor.name,
                                    Name(tensor.type), Name(TypeOf<T>())));
  }
  NF_RETURN_IF_ERROR(CheckSize(tensor));
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}
template absl::StatusOr<std::vector<float>> CopyValues(const TensorView&);
template absl::StatusOr<std::vector<uint8_t>> CopyValues(const TensorView&);
template absl::StatusOr<std::vector<int32_t>> CopyValues(const TensorView&);
template absl::StatusOr<std::vector<int64_t>> CopyValues(const TensorView&);
template absl::StatusOr<std::vector<double>> CopyValues(const TensorView&);

absl::Status CheckSize(const TensorView& tensor) {
  const absl::StatusOr<int64_t> count = ElementCount(tensor.shape);
  if (!count.ok()) return Annotate(count.status(), tensor.name);
  const uint64_t expected = static_cast<uint64_t>(*count) * SizeOf(tensor.type);
  if (tensor.bytes.size() == expected) return absl::OkStatus();
  return InvalidInput(fmt::format("{}: {} bytes of values, expected {} for {} {}", tensor.name,
                                  tensor.bytes.size(), expected, Name(tensor.type),
                                  ToText(tensor.shape)));
}

}  // namespace noisefloor
