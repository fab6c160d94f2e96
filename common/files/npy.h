// Arrays as .npy files: version 1.0, float32, float64, uint8, int32 or int64, C order, any shape.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/files/mapped_file.h"
#include "common/files/npy_header.h"
#include "common/files/tensor.h"

namespace noisefloor {

// Writes atomically (atomic_file.h). The name of `tensor` is not used but in errors.
absl::Status WriteNpy(const std::string& path, const TensorView& tensor);

template <Element T>
absl::Status WriteNpy(const std::string& path, Shape shape, std::span<const T> values) {
  return WriteNpy(path, MakeTensorView<T>(path, std::move(shape), values));
}

// The file's content as bytes in memory.
absl::StatusOr<std::string> EncodeNpy(const TensorView& tensor);

// What `bytes` (borrowed) hold; `name` is for errors. Refuses a file whose size is not exactly
// what its header says.
absl::StatusOr<TensorView> DecodeNpy(std::string_view bytes, std::string name);

// A .npy file mapped into memory. Move-only; spans of it end with it. Any thread may read.
class NpyView {
 public:
  static absl::StatusOr<NpyView> Open(const std::string& path);

  ElementType type() const { return tensor_.type; }
  const Shape& shape() const { return tensor_.shape; }
  const TensorView& tensor() const { return tensor_; }

  // InvalidArgument when the values are of another type or not aligned in the file.
  template <Element T>
  absl::StatusOr<std::span<const T>> Values() const {
    NF_RETURN_IF_ERROR(CheckAccess(TypeOf<T>()));
    return std::span(reinterpret_cast<const T*>(tensor_.bytes.data()),
                     tensor_.bytes.size() / sizeof(T));
  }

 private:
  NpyView(MappedFile file, TensorView tensor)
      : file_(std::move(file)), tensor_(std::move(tensor)) {}
  absl::Status CheckAccess(ElementType wanted) const;

  MappedFile file_;
  TensorView tensor_;
};

}  // namespace noisefloor
