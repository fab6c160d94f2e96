// Weights as .safetensors files: float32 and int64 tensors, readable by every tool of the field.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/mapped_file.h"
#include "common/files/tensor.h"

namespace noisefloor {

// Writes atomically (atomic_file.h). In the file, int64 values come before float32 ones, each
// sorted by name, so that all are aligned. The same tensors give the same bytes in any order.
absl::Status WriteSafetensors(const std::string& path, const std::vector<TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata = {});

// A file mapped into memory. Move-only; views of it end with it. Any thread may read.
class SafetensorsFile {
 public:
  // InvalidArgument for anything that is not exactly the format; nothing is half read.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::vector<TensorView>& tensors() const { return tensors_; }  // Sorted by name.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Null when there is none of that name.
  const TensorView* Find(std::string_view name) const;

 private:
  explicit SafetensorsFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace noisefloor
