// Which files the folder of a data set is made of.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "common/trainer_protocol/datasets.h"

namespace noisefloor {

struct DataLayout {
  std::string_view name;                // "cifar10"
  std::vector<std::string_view> files;  // All must be there.
  bool gzipped = false;                 // Each may be there as FILE.gz instead.
};

// A folder of own images is known by the table in it; the whole folder is the data set.
inline constexpr std::array<std::string_view, 2> kImageTables = {"labels.csv",
                                                                 "list_attr_celeba.txt"};

// Every layout that noisefloor knows.
std::span<const DataLayout> DataLayouts();
// That of a data set that it knows.
const DataLayout& LayoutOf(const KnownDataset& known);

}  // namespace noisefloor
