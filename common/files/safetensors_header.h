// The JSON header of .safetensors files, as text to and from values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/tensor.h"

namespace noisefloor {

// Where one tensor's values lie, in bytes after the header.
struct TensorPlace {
  std::string name;
  ElementType type = ElementType::kFloat32;
  Shape shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorPlace> tensors;             // Sorted by name.
  std::map<std::string, std::string> metadata;  // The entry "__metadata__".
};

// The JSON text padded with spaces to a multiple of 8 bytes, names sorted; without the length that
// precedes it. Names must be UTF-8: Internal otherwise.
absl::StatusOr<std::string> EncodeSafetensorsHeader(const SafetensorsHeader& header);

// InvalidArgument unless the tensors are float32 or int64 and their places cover exactly
// [0, values_bytes) without gap or overlap. The caller adds the file's name to the message.
absl::StatusOr<SafetensorsHeader> DecodeSafetensorsHeader(std::string_view text,
                                                          uint64_t values_bytes);

}  // namespace noisefloor
