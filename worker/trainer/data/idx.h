// IDX files (LeCun, MNIST), plain or packed with gzip: magic, sizes (32 bits, big endian), bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "worker/trainer/data/raw_split.h"

namespace noisefloor::trainer {

struct IdxFormat {
  ImageShape shape;  // One channel.
  int64_t classes = 0;
};

// Reads PREFIX-images-idx3-ubyte and PREFIX-labels-idx1-ubyte of `folder`, or the same names with
// .gz; the plain file wins. NotFound names both; InvalidArgument for a wrong magic, other sizes
// than those of `format`, bytes missing or too many, other counts of images and labels, a label
// out of range.
absl::StatusOr<RawSplit> ReadIdx(const std::string& folder, std::string_view prefix,
                                 const IdxFormat& format);

}  // namespace noisefloor::trainer
