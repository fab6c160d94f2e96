#include "worker/trainer/data/canonical_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/files/checksum.h"

namespace noisefloor::trainer {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers lie in the file as in memory");

constexpr uint64_t kMagic = 0x61746164666e0a01;  // "\x01\nnfdata"
constexpr uint64_t kVersion = 1;
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kPageBytes = 4096;

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

struct Header {
  uint64_t magic = kMagic;
  uint64_t version = kVersion;
  uint64_t classes = 0, channels = 0, height = 0, width = 0;
  uint64_t train_examples = 0, test_examples = 0;
  uint64_t file_bytes = 0, body_begin = 0;
  std::array<char, 64> identity = {};
};

struct Range {
  uint64_t begin = 0, size = 0;  // Within the body.
};

// Where everything lies; follows from the sizes of the set alone.
struct Plan {
  Range train_labels, test_labels, train_images, test_images;
  uint64_t body_bytes = 0, chunks = 0, header_bytes = 0, body_begin = 0;
};

Plan PlanOf(const KnownDataset& known) {
  const auto pixels = static_cast<uint64_t>(known.channels * known.height * known.width);
  const auto train = static_cast<uint64_t>(known.train_examples);
  const auto test = static_cast<uint64_t>(known.test_examples);
  Plan plan;
  const auto place = [&](uint64_t size) {
    const Range range = {plan.body_bytes, size};
    plan.body_bytes = RoundUp(plan.body_bytes + size, kAlignment);
    return range;
  };
  plan.train_labels = place(train * sizeof(int64_t));
  plan.test_labels = place(test * sizeof(int64_t));
  plan.train_images = place(train * pixels);
  plan.test_images = place(test * pixels);
  plan.chunks = RoundUp(plan.body_bytes, kChunkBytes) / kChunkBytes;
  plan.header_bytes = sizeof(Header) + (plan.chunks + 1) * sizeof(Checksum);
  plan.body_begin = RoundUp(plan.header_bytes, kPageBytes);
  return plan;
}

Header HeaderOf(const KnownDataset& known, const Plan& plan, std::string_view identity) {
  Header header;
  header.classes = static_cast<uint64_t>(known.classes);
  header.channels = static_cast<uint64_t>(known.channels);
  header.height = static_cast<uint64_t>(known.height);
  header.width = static_cast<uint64_t>(known.width);
  header.train_examples = static_cast<uint64_t>(known.train_examples);
  header.test_examples = static_cast<uint64_t>(known.test_examples);
  header.file_bytes = plan.body_begin + plan.body_bytes;
  header.body_begin = plan.body_begin;
  NF_CHECK(identity.size() == header.identity.size());
  std::ranges::copy(identity, header.identity.begin());
  return header;
}

Checksum ChunkChecksum(std::span<const std::byte> body, uint64_t chunk) {
  const uint64_t begin = chunk * kChunkBytes;
  return ChecksumOf(body.subspan(begin, std::min<uint64_t>(kChunkBytes, body.size() - begin)));
}

void PutSplit(const RawSplit& split, const CanonicalOrder& order, char* labels, char* images) {
  const size_t pixels = split.labels.empty() ? 0 : split.images.size() / split.labels.size();
  for (const uint32_t place : order.places) {
    const int64_t label = split.labels[place];
    std::memcpy(std::exchange(labels, labels + sizeof label), &label, sizeof label);
    std::memcpy(std::exchange(images, images + pixels), split.images.data() + place * pixels,
                pixels);
  }
}

absl::Status Damaged(std::string_view what) { return MakeError(absl::StatusCode::kDataLoss, what); }

// Header, sizes and the checksum over them.
absl::Status CheckHeader(std::span<const std::byte> bytes, const Plan& plan, const Header& header) {
  if (bytes.size() != header.file_bytes) {
    return Damaged(fmt::format("{} bytes; expected {}", bytes.size(), header.file_bytes));
  }
  if (std::memcmp(bytes.data(), &header, sizeof header) != 0) {
    return Damaged("its header is not that of this data set");
  }
  const uint64_t sealed = plan.header_bytes - sizeof(Checksum);
  const Checksum sum = ChecksumOf(bytes.first(sealed));
  if (std::memcmp(bytes.data() + sealed, sum.data(), sum.size()) != 0) {
    return Damaged("its header has another checksum than was written");
  }
  return absl::OkStatus();
}

absl::Status CheckChunks(std::span<const std::byte> bytes, const Plan& plan,
                         const std::vector<Range>& used) {
  const std::span<const std::byte> body = bytes.subspan(plan.body_begin);
  std::vector<bool> wanted(plan.chunks);
  for (const Range& range : used) {
    for (uint64_t at = range.begin / kChunkBytes;
         range.size > 0 && at <= (range.begin + range.size - 1) / kChunkBytes; ++at) {
      wanted[at] = true;
    }
  }
  for (uint64_t chunk = 0; chunk < plan.chunks; ++chunk) {
    if (!wanted[chunk]) continue;
    const Checksum sum = ChunkChecksum(body, chunk);
    if (std::memcmp(bytes.data() + sizeof(Header) + chunk * sizeof sum, sum.data(), sum.size()) !=
        0) {
      return Damaged(fmt::format("MiB {} has another checksum than was written", chunk));
    }
  }
  return absl::OkStatus();
}

template <typename T>
Values<T> Look(std::span<const std::byte> body, const Range& range,
               const std::shared_ptr<const void>& holder) {
  return {std::span(reinterpret_cast<const T*>(body.data() + range.begin), range.size / sizeof(T)),
          holder};
}

}  // namespace

std::string CanonicalFile(const KnownDataset& known, const CanonicalParts& parts) {
  const Plan plan = PlanOf(known);
  const ImageShape shape = {known.channels, known.height, known.width};
  const Header header = HeaderOf(
      known, plan, DatasetIdentity(known.classes, shape, parts.train_order, parts.test_order));
  std::string file(header.file_bytes, '\0');
  char* body = file.data() + plan.body_begin;
  PutSplit(parts.train, parts.train_order, body + plan.train_labels.begin,
           body + plan.train_images.begin);
  PutSplit(parts.test, parts.test_order, body + plan.test_labels.begin,
           body + plan.test_images.begin);
  std::memcpy(file.data(), &header, sizeof header);
  char* sums = file.data() + sizeof header;
  const auto bytes = std::as_bytes(std::span(file));
  for (uint64_t chunk = 0; chunk < plan.chunks; ++chunk) {
    const Checksum sum = ChunkChecksum(bytes.subspan(plan.body_begin), chunk);
    std::memcpy(std::exchange(sums, sums + sum.size()), sum.data(), sum.size());
  }
  const Checksum seal = ChecksumOf(bytes.first(plan.header_bytes - sizeof(Checksum)));
  std::memcpy(sums, seal.data(), seal.size());
  return file;
}

absl::StatusOr<Dataset> FromCanonicalFile(std::span<const std::byte> bytes,
                                          const std::shared_ptr<const void>& holder,
                                          const KnownDataset& known, std::string_view identity,
                                          ExampleLimits limits) {
  Plan plan = PlanOf(known);
  NF_RETURN_IF_ERROR(CheckHeader(bytes, plan, HeaderOf(known, plan, identity)));
  const ImageShape shape = {known.channels, known.height, known.width};
  const auto shorten = [&](int64_t limit, Range& labels, Range& images) {
    if (limit == 0) return;
    labels.size = static_cast<uint64_t>(limit) * sizeof(int64_t);
    images.size = static_cast<uint64_t>(limit * shape.pixels());
  };
  shorten(limits.train, plan.train_labels, plan.train_images);
  shorten(limits.test, plan.test_labels, plan.test_images);
  NF_RETURN_IF_ERROR(CheckChunks(
      bytes, plan, {plan.train_labels, plan.test_labels, plan.train_images, plan.test_images}));
  const std::span<const std::byte> body = bytes.subspan(plan.body_begin);
  Dataset dataset;
  dataset.name = known.name;
  dataset.classes = known.classes;
  dataset.shape = shape;
  dataset.identity = identity;
  dataset.train = {shape, Look<uint8_t>(body, plan.train_images, holder),
                   Look<int64_t>(body, plan.train_labels, holder)};
  dataset.test = {shape, Look<uint8_t>(body, plan.test_images, holder),
                  Look<int64_t>(body, plan.test_labels, holder)};
  return dataset;
}

}  // namespace noisefloor::trainer
