// A data set: whole, checked, in canonical order (canonical.h); in memory of its own, or in a file
// of the cache (data_cache.h) that all trainers of the machine map.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "common/trainer_protocol/datasets.h"
#include "worker/trainer/data/raw_split.h"
#include "worker/trainer/data/values.h"

namespace noisefloor::trainer {

// Examples by rank. Images are unsigned bytes {examples, channels, height, width}.
struct Split {
  ImageShape shape;
  Values<uint8_t> images;      // {any, channels, height, width}
  Values<int64_t> labels;      // {examples}; zeros where there are attributes instead.
  Values<uint8_t> attributes;  // {examples, attributes}: 1 or 0; empty: there are none.
  Values<uint16_t> groups;     // {examples, columns of groups}: places in GroupColumn::values.
  Values<uint32_t> places;     // {examples}: which of `images` is theirs; empty: they are in order.

  uint32_t size() const { return static_cast<uint32_t>(labels.size()); }
  size_t image_bytes() const { return size() * static_cast<size_t>(shape.pixels()); }
  const uint8_t* Image(uint32_t example) const {
    const size_t place = places.size() == 0 ? example : places[example];
    return images.data() + static_cast<size_t>(shape.pixels()) * place;
  }
};

// What examples are besides their labels, for statistics of parts of a set.
struct GroupColumn {
  std::string name;
  std::vector<std::string> values;  // Each once, sorted.
  friend bool operator==(const GroupColumn&, const GroupColumn&) = default;
};

class DataCache;

struct Dataset {
  std::string name;
  int64_t classes = 0;                  // What a network answers with: classes, or attributes.
  std::vector<std::string> attributes;  // Names; empty: an example has one class instead.
  std::vector<GroupColumn> groups;
  ImageShape shape;
  Split train;
  Split test;
  std::string identity;            // Of the whole set, before limits; 64 hexadecimal digits.
  std::vector<std::string> notes;  // For people: where the cache failed and was done without.
};

// How many of each split are kept: the first n in canonical order; 0 = all.
struct ExampleLimits {
  int64_t train = 0;
  int64_t test = 0;
};

// Reads a known data set. `data_root` is one folder or several, separated by ':'; the first that
// holds the set's folder is used. NotFound: no folder, a file is missing. InvalidArgument: an
// unknown name, broken files, other numbers of examples, a limit above what there is. The identity
// is computed, not compared: that is CheckIdentity.
absl::StatusOr<Dataset> LoadDataset(std::string_view name, std::string_view data_root,
                                    ExampleLimits limits);
absl::StatusOr<Dataset> LoadDataset(const KnownDataset& known, std::string_view data_root,
                                    ExampleLimits limits);

// The same through a cache: read, hashed and ordered only when the source files are not those of
// which the cache knows the identity, or what it holds of them is gone or damaged. A cache that
// fails is done without, and a note says so. `now`: wall time.
absl::StatusOr<Dataset> LoadDataset(std::string_view name, std::string_view data_root,
                                    ExampleLimits limits, const DataCache& cache, absl::Time now);
absl::StatusOr<Dataset> LoadDataset(const KnownDataset& known, std::string_view data_root,
                                    ExampleLimits limits, const DataCache& cache, absl::Time now);

// FailedPrecondition, naming the set and both identities, unless `expected` is the set's identity
// or empty.
absl::Status CheckIdentity(const Dataset& dataset, std::string_view expected);

}  // namespace noisefloor::trainer
