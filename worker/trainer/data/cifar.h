// The binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky 2009): records of one label byte, or of
// a coarse and a fine one, followed by the red, green and blue plane.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/datasets.h"
#include "worker/trainer/data/raw_split.h"

namespace noisefloor::trainer {

struct CifarSplit {
  std::string_view name;                // "train"
  std::vector<std::string_view> files;  // One after the other.
  int64_t examples = 0;                 // In all of them.
};

struct CifarFormat {
  ImageShape shape;
  int64_t classes = 0;
  bool coarse_label = false;  // CIFAR-100: a superclass byte, below 20, precedes the label.
  CifarSplit train;
  CifarSplit test;
};

// Of a set that is called cifar10 or cifar100.
CifarFormat CifarFormatOf(const KnownDataset& known);

// Reads a split of `folder`. NotFound for a missing file; InvalidArgument for a file that is not
// whole records, for another number of records than the split has (before any is read: a file of
// any size may lie there), and for a label out of range.
absl::StatusOr<RawSplit> ReadCifar(const std::string& folder, const CifarSplit& split,
                                   const CifarFormat& format);

}  // namespace noisefloor::trainer
