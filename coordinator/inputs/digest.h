// What a study needs of a member's logits without reading them again: what each example answers.
// Derived from one file and named after it; whoever has that file can make it anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/npy.h"

namespace noisefloor::inputs {

struct Digest {
  int32_t classes = 0;           // In [1, 32767].
  std::vector<int16_t> answers;  // {examples}, by analysis::AnswerOf.
};

// What each row answers. `classes` > 0.
std::vector<int16_t> AnswersOf(std::span<const double> logits, size_t classes);

// Of float32 or float64 {examples, classes}; else InvalidArgument.
absl::StatusOr<Digest> DigestOf(const NpyView& logits);

// As bytes with a checksum; `sha256` (64 digits) is the name of the file that it is of.
std::string EncodeDigest(const Digest& digest, std::string_view sha256);
// DataLoss where the bytes are not whole, or of another file.
absl::StatusOr<Digest> DecodeDigest(std::string_view bytes, std::string_view sha256);

}  // namespace noisefloor::inputs
