#include "worker/trainer/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "common/files/directory.h"
#include "worker/trainer/data/canonical.h"
#include "worker/trainer/data/canonical_file.h"
#include "worker/trainer/data/cifar.h"
#include "worker/trainer/data/data_cache.h"
#include "worker/trainer/data/idx.h"

namespace noisefloor::trainer {

namespace {

struct RawSet {
  RawSplit train;
  RawSplit test;
};

ImageShape ShapeOf(const KnownDataset& known) {
  return {known.channels, known.height, known.width};
}

absl::StatusOr<std::string> FindFolder(const KnownDataset& known, std::string_view roots) {
  for (std::string_view rest = roots; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder = fmt::format("{}/{}", rest.substr(0, end), known.folder);
    if (end > 0 && PathExists(folder)) return folder;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return MakeError(absl::StatusCode::kNotFound,
                   fmt::format("data set {}: no folder {} under the data root '{}'", known.name,
                               known.folder, roots));
}

absl::StatusOr<RawSet> ReadRaw(const KnownDataset& known, const std::string& folder) {
  RawSet raw;
  if (known.name.starts_with("cifar")) {
    const CifarFormat format = CifarFormatOf(known);
    NF_ASSIGN_OR_RETURN(raw.train, ReadCifar(folder, format.train, format));
    NF_ASSIGN_OR_RETURN(raw.test, ReadCifar(folder, format.test, format));
  } else {
    const IdxFormat format{ShapeOf(known), known.classes};
    NF_ASSIGN_OR_RETURN(raw.train, ReadIdx(folder, "train", format));
    NF_RETURN_IF_ERROR(CheckCount(folder, "train", raw.train.labels.size(), known.train_examples));
    NF_ASSIGN_OR_RETURN(raw.test, ReadIdx(folder, "t10k", format));
    NF_RETURN_IF_ERROR(CheckCount(folder, "test", raw.test.labels.size(), known.test_examples));
  }
  return raw;
}

absl::Status CheckLimit(std::string_view name, std::string_view split, int64_t limit,
                        int64_t count) {
  if (limit >= 0 && limit <= count) return absl::OkStatus();
  return InvalidInput(fmt::format("data set {}: {} {} examples wanted; expected 0 (all) to {}",
                                  name, limit, split, count));
}

Split TakeFirst(const RawSplit& raw, const CanonicalOrder& order, const ImageShape& shape,
                int64_t limit) {
  const size_t pixels = static_cast<size_t>(shape.pixels());
  const size_t count = limit == 0 ? order.places.size() : static_cast<size_t>(limit);
  std::vector<uint8_t> images;
  std::vector<int64_t> labels;
  images.reserve(count * pixels);
  labels.reserve(count);
  for (const uint32_t place : std::span(order.places).first(count)) {
    const auto image = raw.images.begin() + static_cast<std::ptrdiff_t>(place * pixels);
    images.insert(images.end(), image, image + static_cast<std::ptrdiff_t>(pixels));
    labels.push_back(raw.labels[place]);
  }
  return {shape, std::move(images), std::move(labels)};
}

absl::StatusOr<const KnownDataset*> Find(std::string_view name) {
  const KnownDataset* known = FindDataset(name);
  if (known != nullptr) return known;
  std::string names;
  for (const KnownDataset& one : KnownDatasets()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  return InvalidInput(fmt::format("data set '{}' is not known; expected one of {}", name, names));
}

absl::StatusOr<std::string> FolderFor(const KnownDataset& known, std::string_view data_root,
                                      ExampleLimits limits) {
  NF_RETURN_IF_ERROR(CheckLimit(known.name, "train", limits.train, known.train_examples));
  NF_RETURN_IF_ERROR(CheckLimit(known.name, "test", limits.test, known.test_examples));
  return FindFolder(known, data_root);
}

// What was read, checked and ranked, before it is cut to its limits.
struct RankedSet {
  RawSet raw;
  CanonicalOrder train;
  CanonicalOrder test;
};

absl::StatusOr<RankedSet> ReadRanked(const KnownDataset& known, const std::string& folder) {
  RankedSet set;
  NF_ASSIGN_OR_RETURN(set.raw, ReadRaw(known, folder));
  set.train = RankExamples(set.raw.train, SplitKind::kTrain, ShapeOf(known));
  set.test = RankExamples(set.raw.test, SplitKind::kTest, ShapeOf(known));
  return set;
}

Dataset InMemory(const KnownDataset& known, const RankedSet& set, ExampleLimits limits) {
  Dataset dataset;
  dataset.name = known.name;
  dataset.classes = known.classes;
  dataset.shape = ShapeOf(known);
  dataset.train = TakeFirst(set.raw.train, set.train, dataset.shape, limits.train);
  dataset.test = TakeFirst(set.raw.test, set.test, dataset.shape, limits.test);
  dataset.identity = DatasetIdentity(known.classes, dataset.shape, set.train, set.test);
  return dataset;
}

// Writes the set into the cache and maps it from there.
absl::StatusOr<Dataset> ThroughCache(const KnownDataset& known, const RankedSet& set,
                                     ExampleLimits limits, const DataCache& cache) {
  const std::string identity = DatasetIdentity(known.classes, ShapeOf(known), set.train, set.test);
  if (auto there = cache.Open(known, identity, limits); there.ok()) return there;
  NF_RETURN_IF_ERROR(cache.Keep(
      identity, CanonicalFile(known, {set.raw.train, set.raw.test, set.train, set.test})));
  return cache.Open(known, identity, limits);
}

}  // namespace

absl::StatusOr<Dataset> LoadDataset(std::string_view name, std::string_view data_root,
                                    ExampleLimits limits) {
  NF_ASSIGN_OR_RETURN(const KnownDataset* known, Find(name));
  return LoadDataset(*known, data_root, limits);
}

absl::StatusOr<Dataset> LoadDataset(const KnownDataset& known, std::string_view data_root,
                                    ExampleLimits limits) {
  NF_ASSIGN_OR_RETURN(const std::string folder, FolderFor(known, data_root, limits));
  NF_ASSIGN_OR_RETURN(const RankedSet set, ReadRanked(known, folder));
  return InMemory(known, set, limits);
}

absl::StatusOr<Dataset> LoadDataset(std::string_view name, std::string_view data_root,
                                    ExampleLimits limits, const DataCache& cache, absl::Time now) {
  NF_ASSIGN_OR_RETURN(const KnownDataset* known, Find(name));
  return LoadDataset(*known, data_root, limits, cache, now);
}

absl::StatusOr<Dataset> LoadDataset(const KnownDataset& known, std::string_view data_root,
                                    ExampleLimits limits, const DataCache& cache, absl::Time now) {
  NF_ASSIGN_OR_RETURN(const std::string folder, FolderFor(known, data_root, limits));
  NF_ASSIGN_OR_RETURN(const FolderState before, StateOf(known, folder));
  std::vector<std::string> notes;
  const auto note = [&](const absl::Status& status, std::string_view then) {
    notes.push_back(fmt::format("data cache: {}; {}", Message(status), then));
  };
  if (const std::optional<std::string> identity = cache.IdentityOf(before)) {
    auto dataset = cache.Open(known, *identity, limits);
    if (dataset.ok()) return dataset;
    if (dataset.status().code() != absl::StatusCode::kNotFound) {
      note(dataset.status(), "made anew from the source files");
    }
  }
  NF_ASSIGN_OR_RETURN(const RankedSet set, ReadRanked(known, folder));
  absl::StatusOr<Dataset> dataset = ThroughCache(known, set, limits, cache);
  if (dataset.ok()) {
    // Files that changed while they were read are in a state that nobody knows the identity of.
    const auto after = StateOf(known, folder);
    if (after.ok() && after->key == before.key) {
      const absl::Status kept = cache.Remember(before, dataset->identity, now);
      if (!kept.ok()) note(kept, "the source files will be read again");
    }
  } else {
    note(dataset.status(), "done without");
    dataset = InMemory(known, set, limits);
  }
  dataset->notes = std::move(notes);
  return dataset;
}

absl::Status CheckIdentity(const Dataset& dataset, std::string_view expected) {
  if (expected.empty() || expected == dataset.identity) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      fmt::format("data set {} has the identity {}; expected {}: at least one label or pixel "
                  "differs",
                  dataset.name, dataset.identity, expected));
}

}  // namespace noisefloor::trainer
