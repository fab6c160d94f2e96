#include "worker/trainer/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "common/files/directory.h"
#include "worker/trainer/data/canonical.h"
#include "worker/trainer/data/cifar.h"
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
  Split split;
  split.shape = shape;
  split.images.reserve(count * pixels);
  split.labels.reserve(count);
  for (const uint32_t place : std::span(order.places).first(count)) {
    const auto image = raw.images.begin() + static_cast<std::ptrdiff_t>(place * pixels);
    split.images.insert(split.images.end(), image, image + static_cast<std::ptrdiff_t>(pixels));
    split.labels.push_back(raw.labels[place]);
  }
  return split;
}

}  // namespace

absl::StatusOr<Dataset> LoadDataset(std::string_view name, std::string_view data_root,
                                    ExampleLimits limits) {
  const KnownDataset* known = FindDataset(name);
  if (known != nullptr) return LoadDataset(*known, data_root, limits);
  std::string names;
  for (const KnownDataset& one : KnownDatasets()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  return InvalidInput(fmt::format("data set '{}' is not known; expected one of {}", name, names));
}

absl::StatusOr<Dataset> LoadDataset(const KnownDataset& known, std::string_view data_root,
                                    ExampleLimits limits) {
  NF_RETURN_IF_ERROR(CheckLimit(known.name, "train", limits.train, known.train_examples));
  NF_RETURN_IF_ERROR(CheckLimit(known.name, "test", limits.test, known.test_examples));
  NF_ASSIGN_OR_RETURN(const std::string folder, FindFolder(known, data_root));
  NF_ASSIGN_OR_RETURN(const RawSet raw, ReadRaw(known, folder));

  Dataset dataset;
  dataset.name = known.name;
  dataset.classes = known.classes;
  dataset.shape = ShapeOf(known);
  const CanonicalOrder train = RankExamples(raw.train, SplitKind::kTrain, dataset.shape);
  const CanonicalOrder test = RankExamples(raw.test, SplitKind::kTest, dataset.shape);
  dataset.train = TakeFirst(raw.train, train, dataset.shape, limits.train);
  dataset.test = TakeFirst(raw.test, test, dataset.shape, limits.test);
  dataset.identity = DatasetIdentity(known.classes, dataset.shape, train, test);
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
