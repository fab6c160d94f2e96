// The hash by which members' tensors are compared (worker/trainer/noise/README.md). Normative.
//
// SHA-256 over this, for each tensor, sorted by the bytes of their names:
//   the length of the name in bytes   unsigned 64 bits, little endian
//   the name                          UTF-8
//   the number of dimensions          unsigned 64 bits, little endian
//   each dimension, first to last     unsigned 64 bits, little endian
//   the values in logical order       row-major, little endian, without padding
// In Python, with `tensors` a dictionary of numpy arrays:
//   h = hashlib.sha256()
//   for name in sorted(tensors, key=str.encode):
//     t, n = tensors[name], name.encode()
//     h.update(struct.pack("<Q", len(n)) + n)
//     h.update(struct.pack(f"<{1 + t.ndim}Q", t.ndim, *t.shape) + t.tobytes())
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/files/tensor.h"

namespace noisefloor {

// 64 hexadecimal digits. InvalidArgument for two tensors of one name or one whose bytes do not
// match its shape. The order of `tensors` does not matter.
absl::StatusOr<std::string> HashTensors(const std::vector<TensorView>& tensors);

}  // namespace noisefloor
