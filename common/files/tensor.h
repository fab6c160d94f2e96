// A named array of numbers in memory that somebody else owns: what goes into .npy and .safetensors
// files and into hashes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

enum class ElementType : uint8_t { kFloat32, kUint8, kInt32, kInt64, kFloat64 };

constexpr size_t SizeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
    case ElementType::kInt32: return 4;
    case ElementType::kUint8: return 1;
    case ElementType::kInt64:
    case ElementType::kFloat64: return 8;
  }
  return 0;
}
std::string_view Name(ElementType type);  // "float32"

template <typename T>
concept Element = std::same_as<T, float> || std::same_as<T, uint8_t> || std::same_as<T, int32_t> ||
    std::same_as<T, int64_t> || std::same_as<T, double>;

template <Element T>
constexpr ElementType TypeOf() {
  if constexpr (std::same_as<T, float>) return ElementType::kFloat32;
  if constexpr (std::same_as<T, uint8_t>) return ElementType::kUint8;
  if constexpr (std::same_as<T, int32_t>) return ElementType::kInt32;
  if constexpr (std::same_as<T, int64_t>) return ElementType::kInt64;
  if constexpr (std::same_as<T, double>) return ElementType::kFloat64;
}

using Shape = std::vector<int64_t>;

// The number of elements. InvalidArgument for a negative dimension, more than 16 dimensions or
// more than 2^40 elements.
absl::StatusOr<int64_t> ElementCount(const Shape& shape);
std::string ToText(const Shape& shape);  // "[3, 32, 32]", "[]"

// Values in logical (row-major) order, little endian. `bytes` is borrowed.
struct TensorView {
  std::string name;
  ElementType type = ElementType::kFloat32;
  Shape shape;
  std::span<const std::byte> bytes;
};

template <Element T>
TensorView MakeTensorView(std::string name, Shape shape, std::span<const T> values) {
  return {std::move(name), TypeOf<T>(), std::move(shape), std::as_bytes(values)};
}

// The values, copied. InvalidArgument when they are of another type.
template <Element T>
absl::StatusOr<std::vector<T>> CopyValues(const TensorView& tensor);

// InvalidArgument, naming the tensor, unless the bytes are as many as shape and type say.
absl::Status CheckSize(const TensorView& tensor);

}  // namespace noisefloor
