// The order and the identity of examples, which do not depend on the order in the files. Normative.
//
// The digest of an example is SHA-256 over one byte for the split (0 train, 1 test), two bytes for
// the label (little endian) and the pixels (channels, then rows, then columns). The examples of a
// split are ranked by the bytes of their digests; equal contents by their place in the files. The
// identity of a set is SHA-256 over
//   "noisefloor dataset 1\n", then as unsigned 64-bit little-endian numbers:
//   classes, channels, height, width, number of train examples, number of test examples;
//   the digests of the train split in order, then those of the test split in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/files/sha256.h"
#include "worker/trainer/data/raw_split.h"

namespace noisefloor::trainer {

enum class SplitKind : uint8_t { kTrain = 0, kTest = 1 };

struct CanonicalOrder {
  std::vector<uint32_t> places;       // [rank] = place in the files.
  std::vector<Sha256Digest> digests;  // [rank]
};

CanonicalOrder RankExamples(const RawSplit& split, SplitKind kind, const ImageShape& shape);

std::string DatasetIdentity(int64_t classes, const ImageShape& shape, const CanonicalOrder& train,
                            const CanonicalOrder& test);

}  // namespace noisefloor::trainer
