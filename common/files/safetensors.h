// Weights as .safetensors files: float32 and int64 tensors, readable by every tool of the field.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/files/mapped_file.h"
#include "common/files/tensor.h"

namespace noisefloor {

// Writes atomically (atomic_file.h). In the file, int64 values come before float32 ones, each
// sorted by name, so that all are aligned. The same tensors give the same bytes in any order.
absl::Status WriteSafetensors(const std::string& path, const std::vector<TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata = {});

// The content of such a file in memory, with places for values that are filled in later, again and
// again: what must be kept often and whole. Move-only.
class SafetensorsContent {
 public:
  // Of tensors' names, types and shapes; `bytes` are not looked at. InvalidArgument for a shape
  // that is none, or another type than those above; Internal for a name that is not UTF-8.
  static absl::StatusOr<SafetensorsContent> Make(
      const std::vector<TensorView>& tensors,
      const std::map<std::string, std::string>& metadata = {});

  // Where the values of the i-th tensor, as given, go in logical order: zeros until then. Valid as
  // long as this is not moved. Aligned to the element's size.
  std::span<std::byte> Values(size_t i) {
    return {reinterpret_cast<std::byte*>(content_.data()) + places_.at(i).first,
            places_.at(i).second};
  }
  // The file.
  std::string_view bytes() const { return content_; }

 private:
  std::string content_;
  std::vector<std::pair<size_t, size_t>> places_;  // Begin and size, in the order of the tensors.
};

// The tensors of such a file in memory. Borrows its content.
struct SafetensorsView {
  std::vector<TensorView> tensors;  // Sorted by name.
  std::map<std::string, std::string> metadata;
  // Null when there is none of that name.
  const TensorView* Find(std::string_view name) const;
};
// InvalidArgument, beginning with `name`, for anything that is not exactly the format.
absl::StatusOr<SafetensorsView> ReadSafetensors(std::string_view content, const std::string& name);

// A file mapped into memory. Move-only; views of it end with it. Any thread may read.
class SafetensorsFile {
 public:
  // InvalidArgument for anything that is not exactly the format; nothing is half read.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::vector<TensorView>& tensors() const { return view_.tensors; }  // Sorted by name.
  const std::map<std::string, std::string>& metadata() const { return view_.metadata; }
  // Null when there is none of that name.
  const TensorView* Find(std::string_view name) const { return view_.Find(name); }

 private:
  explicit SafetensorsFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  SafetensorsView view_;
};

}  // namespace noisefloor
