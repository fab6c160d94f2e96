#include "worker/trainer/images/image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/check.h"
#include "common/files/checksum.h"
#include "common/files/sha256.h"

namespace noisefloor::trainer {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers lie in the file as in memory");

using Json = nlohmann::json;

constexpr uint64_t kMagic = 0x31656761696d6e01;  // "\x01nmiage1"
constexpr uint64_t kMostDescription = uint64_t{256} << 20;
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kPageBytes = 4096;

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

struct Range {
  uint64_t begin = 0, size = 0;  // Within the body.
};

struct SplitPlan {
  Range labels, attributes, groups, images;
};

struct Plan {
  std::array<SplitPlan, 2> splits;
  uint64_t body_begin = 0, body_bytes = 0, chunks = 0, file_bytes = 0;
};

size_t ImageBytesOf(const ImageSetFacts& facts) {
  return static_cast<size_t>(3 * facts.image_size * facts.image_size);
}

Plan PlanOf(const ImageSetFacts& facts, uint64_t description_bytes) {
  Plan plan;
  const auto place = [&](uint64_t size) {
    const Range range = {plan.body_bytes, size};
    plan.body_bytes = RoundUp(plan.body_bytes + size, kAlignment);
    return range;
  };
  for (size_t s = 0; s < 2; ++s) {
    const auto examples = static_cast<uint64_t>(facts.examples[s]);
    SplitPlan& split = plan.splits[s];
    split.labels = place(examples * sizeof(int64_t));
    split.attributes = place(examples * facts.attributes.size());
    split.groups = place(examples * facts.groups.size() * sizeof(uint16_t));
    split.images = place(examples * ImageBytesOf(facts));
  }
  plan.chunks = RoundUp(plan.body_bytes, kChunkBytes) / kChunkBytes;
  plan.body_begin = RoundUp(2 * sizeof(uint64_t) + description_bytes, kPageBytes);
  plan.file_bytes = plan.body_begin + plan.body_bytes + (plan.chunks + 1) * sizeof(Checksum);
  return plan;
}

std::string HeadOf(const std::string& description, const Plan& plan) {
  std::string head(plan.body_begin, '\0');
  const uint64_t numbers[] = {kMagic, description.size()};
  std::memcpy(head.data(), numbers, sizeof numbers);
  std::ranges::copy(description, head.begin() + sizeof numbers);
  return head;
}

// The body in pieces, with the checksum of each MiB.
class BodyWriter {
 public:
  explicit BodyWriter(AtomicFileWriter& writer) : writer_(writer) { chunk_.reserve(kChunkBytes); }

  template <typename T>
  absl::Status Put(std::span<const T> values) {
    return PutBytes({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  absl::Status PadTo(uint64_t at) {
    static constexpr char kZeros[kAlignment] = {};
    NF_CHECK(at >= written_ && at - written_ < kAlignment);
    return PutBytes({kZeros, at - written_});
  }
  // What is left; then `checksums` are complete.
  absl::Status Finish() { return chunk_.empty() ? absl::OkStatus() : Flush(); }
  const std::string& checksums() const { return checksums_; }

 private:
  absl::Status PutBytes(std::string_view bytes) {
    written_ += bytes.size();
    while (!bytes.empty()) {
      const size_t part = std::min<size_t>(bytes.size(), kChunkBytes - chunk_.size());
      chunk_ += bytes.substr(0, part);
      bytes.remove_prefix(part);
      if (chunk_.size() == kChunkBytes) NF_RETURN_IF_ERROR(Flush());
    }
    return absl::OkStatus();
  }
  absl::Status Flush() {
    const Checksum sum = ChecksumOf(std::as_bytes(std::span(chunk_)));
    checksums_.append(reinterpret_cast<const char*>(sum.data()), sum.size());
    const absl::Status status = writer_.Write(chunk_);
    chunk_.clear();
    return status;
  }

  AtomicFileWriter& writer_;
  std::string chunk_;
  std::string checksums_;
  uint64_t written_ = 0;
};

struct SplitSource {
  size_t split = 0;
  int64_t count = 0;
  size_t image_bytes = 0;
};

absl::Status PutSplit(const SplitPlan& plan, const SplitSource& from, const ImageExamples& examples,
                      BodyWriter& body) {
  const auto all = [&](const Range& range, const auto& put) -> absl::Status {
    NF_RETURN_IF_ERROR(body.PadTo(range.begin));
    for (int64_t rank = 0; rank < from.count; ++rank) NF_RETURN_IF_ERROR(put(rank));
    return absl::OkStatus();
  };
  const auto at = [&](int64_t rank) { return examples.example(from.split, rank); };
  NF_RETURN_IF_ERROR(all(plan.labels, [&](int64_t rank) {
    const int64_t label = at(rank).label;
    return body.Put(std::span<const int64_t>(&label, 1));
  }));
  NF_RETURN_IF_ERROR(
      all(plan.attributes, [&](int64_t rank) { return body.Put(at(rank).attributes); }));
  NF_RETURN_IF_ERROR(all(plan.groups, [&](int64_t rank) { return body.Put(at(rank).groups); }));
  std::vector<uint8_t> image(from.image_bytes);
  return all(plan.images, [&](int64_t rank) -> absl::Status {
    NF_RETURN_IF_ERROR(examples.read_image(from.split, rank, image));
    return body.Put(std::span<const uint8_t>(image));
  });
}

absl::Status Damaged(std::string_view what) { return MakeError(absl::StatusCode::kDataLoss, what); }

absl::StatusOr<ImageSetFacts> FactsIn(std::span<const std::byte> bytes) {
  uint64_t numbers[2] = {};
  if (bytes.size() < sizeof numbers) return Damaged(fmt::format("{} bytes", bytes.size()));
  std::memcpy(numbers, bytes.data(), sizeof numbers);
  if (numbers[0] != kMagic || numbers[1] > kMostDescription ||
      numbers[1] > bytes.size() - sizeof numbers) {
    return Damaged("its head is not that of a set of images");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof numbers,
                              numbers[1]);
  try {
    const Json json = Json::parse(text);
    ImageSetFacts facts;
    facts.identity = json.at("identity").get<std::string>();
    facts.decoder = json.at("decoder").get<std::string>();
    facts.image_size = json.at("image_size").get<int64_t>();
    facts.classes = json.at("classes").get<std::vector<std::string>>();
    facts.attributes = json.at("attributes").get<std::vector<std::string>>();
    for (const Json& group : json.at("groups")) {
      facts.groups.push_back({group.at("name").get<std::string>(),
                              group.at("values").get<std::vector<std::string>>()});
    }
    facts.examples = {json.at("train_examples").get<int64_t>(),
                      json.at("test_examples").get<int64_t>()};
    const int64_t most = int64_t{1} << 32;
    for (const int64_t number : {facts.image_size, facts.examples[0], facts.examples[1]}) {
      if (number < 0 || number > most) return Damaged("its description has wild numbers");
    }
    if (DescribeSet(facts, false) == text) return facts;
  } catch (const Json::exception&) {
  }
  return Damaged("its description cannot be read");
}

absl::Status CheckBytes(std::span<const std::byte> bytes, const Plan& plan,
                        const std::vector<Range>& used) {
  if (bytes.size() != plan.file_bytes) {
    return Damaged(fmt::format("{} bytes; expected {}", bytes.size(), plan.file_bytes));
  }
  const auto body = bytes.subspan(plan.body_begin, plan.body_bytes);
  const auto foot = bytes.subspan(plan.body_begin + plan.body_bytes);
  Sha256 sealed;
  sealed.Update(bytes.first(plan.body_begin));
  sealed.Update(foot.first(plan.chunks * sizeof(Checksum)));
  const Sha256Digest digest = sealed.Digest();
  if (std::memcmp(foot.data() + plan.chunks * sizeof(Checksum), digest.data(), sizeof(Checksum)) !=
      0) {
    return Damaged("its head has another checksum than was written");
  }
  std::vector<bool> wanted(plan.chunks);
  for (const Range& range : used) {
    for (uint64_t at = range.begin / kChunkBytes;
         range.size > 0 && at <= (range.begin + range.size - 1) / kChunkBytes; ++at) {
      wanted[at] = true;
    }
  }
  for (uint64_t chunk = 0; chunk < plan.chunks; ++chunk) {
    if (!wanted[chunk]) continue;
    const uint64_t begin = chunk * kChunkBytes;
    const Checksum sum =
        ChecksumOf(body.subspan(begin, std::min<uint64_t>(kChunkBytes, body.size() - begin)));
    if (std::memcmp(foot.data() + chunk * sizeof sum, sum.data(), sum.size()) != 0) {
      return Damaged(fmt::format("MiB {} has another checksum than was written", chunk));
    }
  }
  return absl::OkStatus();
}

template <typename T>
Values<T> Look(const DataCache::Mapped& file, const Plan& plan, const Range& range) {
  const auto* first = reinterpret_cast<const T*>(file.bytes.data() + plan.body_begin + range.begin);
  return {std::span(first, range.size / sizeof(T)), file.holder};
}

// The first `limit` examples; 0: all.
SplitPlan Shortened(SplitPlan plan, int64_t examples, int64_t limit) {
  if (limit == 0 || examples == 0) return plan;
  for (Range* range : {&plan.labels, &plan.attributes, &plan.groups, &plan.images}) {
    range->size = range->size / static_cast<uint64_t>(examples) * static_cast<uint64_t>(limit);
  }
  return plan;
}

}  // namespace

std::string DescribeSet(const ImageSetFacts& facts, bool bare) {
  Json groups = Json::array();
  for (const GroupColumn& group : facts.groups) {
    groups.push_back({{"name", group.name}, {"values", group.values}});
  }
  Json json = {{"decoder", facts.decoder},          {"image_size", facts.image_size},
               {"classes", facts.classes},          {"attributes", facts.attributes},
               {"groups", std::move(groups)},       {"train_examples", facts.examples[0]},
               {"test_examples", facts.examples[1]}};
  if (!bare) json["identity"] = facts.identity;
  return json.dump();
}

absl::Status WriteImageFile(const ImageSetFacts& facts, const ImageExamples& examples,
                            AtomicFileWriter& writer) {
  const std::string description = DescribeSet(facts, false);
  const Plan plan = PlanOf(facts, description.size());
  const std::string head = HeadOf(description, plan);
  NF_RETURN_IF_ERROR(writer.Write(head));
  BodyWriter body(writer);
  for (size_t s = 0; s < 2; ++s) {
    const SplitSource from = {s, facts.examples[s], ImageBytesOf(facts)};
    NF_RETURN_IF_ERROR(PutSplit(plan.splits[s], from, examples, body));
  }
  NF_RETURN_IF_ERROR(body.PadTo(plan.body_bytes));
  NF_RETURN_IF_ERROR(body.Finish());
  Sha256 seal;
  const Sha256Digest digest = seal.Update(head).Update(body.checksums()).Digest();
  NF_RETURN_IF_ERROR(writer.Write(body.checksums()));
  return writer.Write(
      std::string_view(reinterpret_cast<const char*>(digest.data()), sizeof(Checksum)));
}

absl::Status CheckLimits(const std::string& name, const std::array<int64_t, 2>& examples,
                         ExampleLimits limits) {
  const std::array<int64_t, 2> asked = {limits.train, limits.test};
  for (size_t s = 0; s < 2; ++s) {
    if (asked[s] >= 0 && asked[s] <= examples[s]) continue;
    return InvalidInput(fmt::format("data set {}: {} {} examples wanted; expected 0 (all) to {}",
                                    name, asked[s], s == 0 ? "train" : "test", examples[s]));
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> FromImageFile(const DataCache::Mapped& file, const std::string& name,
                                      std::string_view identity, ExampleLimits limits,
                                      Trust trust) {
  NF_ASSIGN_OR_RETURN(const ImageSetFacts facts, FactsIn(file.bytes));
  if (facts.identity != identity) return Damaged("it is of another set");
  NF_RETURN_IF_ERROR(CheckLimits(name, facts.examples, limits));
  const Plan plan = PlanOf(facts, DescribeSet(facts, false).size());
  const std::array<SplitPlan, 2> used = {Shortened(plan.splits[0], facts.examples[0], limits.train),
                                         Shortened(plan.splits[1], facts.examples[1], limits.test)};
  std::vector<Range> ranges;
  for (const SplitPlan& split : used) {
    if (trust == Trust::kBody) break;
    ranges.insert(ranges.end(), {split.labels, split.attributes, split.groups, split.images});
  }
  NF_RETURN_IF_ERROR(CheckBytes(file.bytes, plan, ranges));
  Dataset dataset;
  dataset.name = name;
  dataset.identity = identity;
  dataset.attributes = facts.attributes;
  dataset.groups = facts.groups;
  dataset.classes = static_cast<int64_t>(facts.attributes.empty() ? facts.classes.size()
                                                                  : facts.attributes.size());
  dataset.shape = {3, facts.image_size, facts.image_size};
  for (size_t s = 0; s < 2; ++s) {
    (s == 0 ? dataset.train : dataset.test) = {
        dataset.shape, Look<uint8_t>(file, plan, used[s].images),
        Look<int64_t>(file, plan, used[s].labels), Look<uint8_t>(file, plan, used[s].attributes),
        Look<uint16_t>(file, plan, used[s].groups)};
  }
  return dataset;
}

}  // namespace noisefloor::trainer
