// The data sets that noisefloor knows, with what can be said of them before they are read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace noisefloor {

struct KnownDataset {
  std::string_view name;    // "fashion-mnist"
  std::string_view folder;  // Under the data root.
  int64_t classes;
  int64_t channels;
  int64_t height;
  int64_t width;
  int64_t train_examples;
  int64_t test_examples;
  std::string_view identity;  // worker/trainer/data/canonical.h; empty: not known yet.
};

std::span<const KnownDataset> KnownDatasets();
const KnownDataset* FindDataset(std::string_view name);

}  // namespace noisefloor
