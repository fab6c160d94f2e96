// The binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky 2009): records of one label byte, or of
// a coarse and a fine one, followed by the red, green and blue plane.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/data/raw_split.h"

namespace noisefloor::trainer {

struct CifarFormat {
  ImageShape shape;
  int64_t classes = 0;
  bool coarse_label = false;  // CIFAR-100: a superclass byte, below 20, precedes the label.
  std::vector<std::string_view> train_files;
  std::vector<std::string_view> test_files;
};

CifarFormat Cifar10(ImageShape shape, int64_t classes);
CifarFormat Cifar100(ImageShape shape, int64_t classes);

// Reads `files` of `folder`, one after the other. NotFound for a missing file; InvalidArgument for
// a file that is not whole records or holds a label out of range.
absl::StatusOr<RawSplit> ReadCifar(const std::string& folder,
                                   const std::vector<std::string_view>& files,
                                   const CifarFormat& format);

}  // namespace noisefloor::trainer
