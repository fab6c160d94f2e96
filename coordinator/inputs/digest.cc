#include "coordinator/inputs/digest.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "fmt/format.h"

#include "common/files/checksum.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::inputs {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers lie as they are");

// Magic and version, the hash of the file that it is of, number of classes, answers, checksum.
constexpr std::string_view kMagic = "nfdgst1\n";
constexpr size_t kShaDigits = 64;
constexpr size_t kHeaderBytes = kMagic.size() + kShaDigits + sizeof(int32_t);
constexpr int64_t kMostExamples = int64_t{1} << 28;

template <typename T>
std::vector<int16_t> AnswersTo(std::span<const T> logits, size_t classes) {
  std::vector<int16_t> answers;
  answers.reserve(logits.size() / classes);
  for (size_t at = 0; at < logits.size(); at += classes) {
    answers.push_back(analysis::AnswerOf(logits.subspan(at, classes)));
  }
  return answers;
}

}  // namespace

std::vector<int16_t> AnswersOf(std::span<const double> logits, size_t classes) {
  return AnswersTo(logits, classes);
}

absl::StatusOr<Digest> DigestOf(const NpyView& logits) {
  const Shape& shape = logits.shape();
  const bool is_float =
      logits.type() == ElementType::kFloat32 || logits.type() == ElementType::kFloat64;
  if (shape.size() != 2 || !is_float || shape[1] < 1 ||
      shape[1] > std::numeric_limits<int16_t>::max() || shape[0] > kMostExamples) {
    return InvalidInput(fmt::format(
        "expected float32 [examples, classes] of at most {} examples and 1 to {} classes, got {} "
        "{}",
        kMostExamples, std::numeric_limits<int16_t>::max(), Name(logits.type()), ToText(shape)));
  }
  Digest digest{.classes = static_cast<int32_t>(shape[1]), .answers = {}};
  const auto classes = static_cast<size_t>(shape[1]);
  if (logits.type() == ElementType::kFloat32) {
    NF_ASSIGN_OR_RETURN(const std::span<const float> values, logits.Values<float>());
    digest.answers = AnswersTo(values, classes);
  } else {
    NF_ASSIGN_OR_RETURN(const std::span<const double> values, logits.Values<double>());
    digest.answers = AnswersTo(values, classes);
  }
  return digest;
}

std::string EncodeDigest(const Digest& digest, std::string_view sha256) {
  std::string bytes(kMagic);
  bytes += sha256;
  bytes.append(reinterpret_cast<const char*>(&digest.classes), sizeof digest.classes);
  bytes.append(reinterpret_cast<const char*>(digest.answers.data()),
               digest.answers.size() * sizeof(int16_t));
  const Checksum sum = ChecksumOf(std::as_bytes(std::span(bytes)));
  bytes.append(reinterpret_cast<const char*>(sum.data()), sum.size());
  return bytes;
}

absl::StatusOr<Digest> DecodeDigest(std::string_view bytes, std::string_view sha256) {
  constexpr size_t kSum = std::tuple_size_v<Checksum>;
  const auto damaged = [&](std::string_view how) {
    return MakeError(absl::StatusCode::kDataLoss, fmt::format("digest of {}: {}", sha256, how));
  };
  if (bytes.size() < kHeaderBytes + kSum || !bytes.starts_with(kMagic)) return damaged("is none");
  const std::string_view content = bytes.substr(0, bytes.size() - kSum);
  const Checksum sum = ChecksumOf(std::as_bytes(std::span(content)));
  if (std::memcmp(sum.data(), bytes.data() + content.size(), kSum) != 0) {
    return damaged("its checksum is another");
  }
  if (content.substr(kMagic.size(), kShaDigits) != sha256) return damaged("is of another file");
  Digest digest;
  std::memcpy(&digest.classes, content.data() + kMagic.size() + kShaDigits, sizeof digest.classes);
  const std::string_view answers = content.substr(kHeaderBytes);
  digest.answers.resize(answers.size() / sizeof(int16_t));
  std::memcpy(digest.answers.data(), answers.data(), digest.answers.size() * sizeof(int16_t));
  return digest;
}

}  // namespace noisefloor::inputs
