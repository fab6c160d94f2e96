#include "worker/trainer/images/image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/check.h"
#include "common/files/checksum.h"

namespace noisefloor::trainer {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers lie in the file as in memory");

using Json = nlohmann::json;

constexpr uint64_t kMagic = 0x32656761696d6e01;  // "\x01nmiage2"
constexpr uint64_t kMostDescription = uint64_t{256} << 20;
constexpr uint64_t kAlignment = 64;

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

struct Foot {
  Checksum seal = {};
  uint64_t description_bytes = 0;
  uint64_t magic = kMagic;
};
static_assert(sizeof(Foot) == 32);

struct Range {
  uint64_t begin = 0, size = 0;
};

struct SplitPlan {
  Range places, labels, attributes, groups;
};

struct Plan {
  Range images, checksums;
  std::array<SplitPlan, 2> splits;
  uint64_t tail_begin = 0, description_begin = 0, foot_begin = 0;
};

size_t ImageBytesOf(const ImageSetFacts& facts) {
  return static_cast<size_t>(3 * facts.image_size * facts.image_size);
}

Plan PlanOf(const ImageSetFacts& facts, uint64_t description_bytes) {
  Plan plan;
  uint64_t end = 0;
  const auto place = [&](uint64_t size) {
    const Range range = {end, size};
    end = RoundUp(end + size, kAlignment);
    return range;
  };
  const auto all = static_cast<uint64_t>(facts.examples[0] + facts.examples[1]);
  plan.images = place(all * ImageBytesOf(facts));
  plan.tail_begin = all * ImageBytesOf(facts);
  for (size_t s = 0; s < 2; ++s) {
    const auto examples = static_cast<uint64_t>(facts.examples[s]);
    SplitPlan& split = plan.splits[s];
    split.places = place(examples * sizeof(uint32_t));
    split.labels = place(examples * sizeof(int64_t));
    split.attributes = place(examples * facts.attributes.size());
    split.groups = place(examples * facts.groups.size() * sizeof(uint16_t));
  }
  plan.checksums = place(all * sizeof(Checksum));
  plan.description_begin = end;
  plan.foot_begin = end + description_bytes;
  return plan;
}

// What comes behind the images, as it grows.
class Tail {
 public:
  explicit Tail(const Plan& plan) : begin_(plan.tail_begin) {
    bytes_.reserve(plan.foot_begin + sizeof(Foot) - begin_);
  }

  void PadTo(uint64_t at) { bytes_.resize(at - begin_); }
  template <typename T>
  void Put(std::span<const T> values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  template <typename T>
  void Put(const T& value) {
    Put(std::span<const T>(&value, 1));
  }
  std::string Take() { return std::move(bytes_); }
  // Of what there is from a place in the file on.
  Checksum ChecksumFrom(uint64_t at) const {
    return ChecksumOf(std::as_bytes(std::span(bytes_)).subspan(at - begin_));
  }

 private:
  const uint64_t begin_;
  std::string bytes_;
};

void PutSplit(const SplitPlan& plan, size_t split, int64_t count, const ImageExampleOf& example,
              Tail& tail) {
  const auto all = [&](const Range& range, const auto& put) {
    tail.PadTo(range.begin);
    for (int64_t rank = 0; rank < count; ++rank) put(example(split, rank));
  };
  all(plan.places, [&](const ImageExample& one) { tail.Put(one.place); });
  all(plan.labels, [&](const ImageExample& one) { tail.Put(one.label); });
  all(plan.attributes, [&](const ImageExample& one) { tail.Put(one.attributes); });
  all(plan.groups, [&](const ImageExample& one) { tail.Put(one.groups); });
}

absl::Status Damaged(std::string_view what) { return MakeError(absl::StatusCode::kDataLoss, what); }

absl::StatusOr<Foot> FootOf(std::span<const std::byte> bytes) {
  Foot foot;
  if (bytes.size() < sizeof foot) return Damaged(fmt::format("{} bytes", bytes.size()));
  std::memcpy(&foot, bytes.last(sizeof foot).data(), sizeof foot);
  if (foot.magic != kMagic || foot.description_bytes > kMostDescription ||
      foot.description_bytes > bytes.size() - sizeof foot) {
    return Damaged("its foot is not that of a set of images");
  }
  return foot;
}

absl::StatusOr<ImageSetFacts> FactsIn(std::span<const std::byte> bytes, const Foot& foot) {
  const auto description =
      bytes.first(bytes.size() - sizeof foot).last(static_cast<size_t>(foot.description_bytes));
  const std::string_view text(reinterpret_cast<const char*>(description.data()),
                              description.size());
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

// Size, and all but the images.
absl::Status CheckTail(std::span<const std::byte> bytes, const Plan& plan, const Foot& foot) {
  const uint64_t expected = plan.foot_begin + sizeof foot;
  if (bytes.size() != expected) {
    return Damaged(fmt::format("{} bytes; expected {}", bytes.size(), expected));
  }
  const uint64_t begin = plan.splits[0].places.begin;
  if (ChecksumOf(bytes.subspan(begin, plan.foot_begin - begin)) == foot.seal) {
    return absl::OkStatus();
  }
  return Damaged("its tables have another checksum than was written");
}

template <typename T>
Values<T> Look(const DataCache::Mapped& file, const Range& range) {
  const auto* first = reinterpret_cast<const T*>(file.bytes.data() + range.begin);
  return {std::span(first, range.size / sizeof(T)), file.holder};
}

// The first `limit` examples; 0: all.
SplitPlan Shortened(SplitPlan plan, int64_t examples, int64_t limit) {
  if (limit == 0 || examples == 0) return plan;
  for (Range* range : {&plan.places, &plan.labels, &plan.attributes, &plan.groups}) {
    range->size = range->size / static_cast<uint64_t>(examples) * static_cast<uint64_t>(limit);
  }
  return plan;
}

absl::Status CheckPlaces(const Split& split, size_t images) {
  const auto inside = [&](uint32_t place) { return place < images; };
  if (std::ranges::all_of(split.places, inside)) return absl::OkStatus();
  return Damaged("an example has an image that is not there");
}

absl::Status CheckImages(const Split& split, std::string_view name,
                         std::span<const Checksum> checksums, const GoOn& go_on) {
  const auto bytes = static_cast<size_t>(split.shape.pixels());
  for (uint32_t rank = 0; rank < split.size(); ++rank) {
    NF_RETURN_IF_ERROR(Ask(go_on));
    const std::span image(split.Image(rank), bytes);
    if (ChecksumOf(std::as_bytes(image)) == checksums[split.places[rank]]) continue;
    return Damaged(fmt::format("the image of {} example {} has another checksum than was written",
                               name, rank));
  }
  return absl::OkStatus();
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

std::string ImageFileTail(const ImageSetFacts& facts, const ImageExampleOf& example,
                          std::span<const Checksum> checksums) {
  const std::string description = DescribeSet(facts, false);
  const Plan plan = PlanOf(facts, description.size());
  Tail tail(plan);
  for (size_t s = 0; s < 2; ++s) PutSplit(plan.splits[s], s, facts.examples[s], example, tail);
  tail.PadTo(plan.checksums.begin);
  tail.Put(checksums);
  tail.PadTo(plan.description_begin);
  tail.Put(std::span<const char>(description));
  tail.Put(Foot{.seal = tail.ChecksumFrom(plan.splits[0].places.begin),
                .description_bytes = description.size()});
  return tail.Take();
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
                                      std::string_view identity, ExampleLimits limits, Trust trust,
                                      const GoOn& go_on) {
  NF_ASSIGN_OR_RETURN(const Foot foot, FootOf(file.bytes));
  NF_ASSIGN_OR_RETURN(const ImageSetFacts facts, FactsIn(file.bytes, foot));
  if (facts.identity != identity) return Damaged("it is of another set");
  NF_RETURN_IF_ERROR(CheckLimits(name, facts.examples, limits));
  const Plan plan = PlanOf(facts, foot.description_bytes);
  NF_RETURN_IF_ERROR(CheckTail(file.bytes, plan, foot));
  Dataset dataset;
  dataset.name = name;
  dataset.identity = identity;
  dataset.attributes = facts.attributes;
  dataset.groups = facts.groups;
  dataset.classes = static_cast<int64_t>(facts.attributes.empty() ? facts.classes.size()
                                                                  : facts.attributes.size());
  dataset.shape = {3, facts.image_size, facts.image_size};
  const auto images = Look<uint8_t>(file, plan.images);
  const auto checksums = Look<Checksum>(file, plan.checksums);
  const std::array<int64_t, 2> limit = {limits.train, limits.test};
  for (size_t s = 0; s < 2; ++s) {
    const SplitPlan used = Shortened(plan.splits[s], facts.examples[s], limit[s]);
    Split& split = s == 0 ? dataset.train : dataset.test;
    split = {dataset.shape,
             images,
             Look<int64_t>(file, used.labels),
             Look<uint8_t>(file, used.attributes),
             Look<uint16_t>(file, used.groups),
             Look<uint32_t>(file, used.places)};
    NF_RETURN_IF_ERROR(CheckPlaces(split, checksums.size()));
    if (trust == Trust::kImages) continue;
    NF_RETURN_IF_ERROR(
        CheckImages(split, s == 0 ? "train" : "test", {checksums.data(), checksums.size()}, go_on));
  }
  return dataset;
}

}  // namespace noisefloor::trainer
