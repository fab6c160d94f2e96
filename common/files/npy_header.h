// The header of .npy files, version 1.0 (numpy.lib.format), as text to and from values.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/files/tensor.h"

namespace noisefloor {

struct NpyHeader {
  ElementType type = ElementType::kFloat32;
  Shape shape;
};

// Magic, version, length and dictionary, padded with spaces to a multiple of 64 bytes.
// `shape` must be a valid one.
std::string EncodeNpyHeader(const NpyHeader& header);

struct DecodedNpyHeader {
  NpyHeader header;
  size_t size_bytes = 0;  // The values begin here.
};

// Reads the header at the beginning of `file`. InvalidArgument says what was found and what was
// expected; the caller adds the file's name.
absl::StatusOr<DecodedNpyHeader> DecodeNpyHeader(std::string_view file);

}  // namespace noisefloor
