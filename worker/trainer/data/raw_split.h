// What the readers of data files give: examples in the order of the files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor::trainer {

struct ImageShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t pixels() const { return channels * height * width; }
};

struct RawSplit {
  std::vector<uint8_t> images;   // {examples, channels, height, width}
  std::vector<uint16_t> labels;  // {examples}
};

// InvalidArgument, naming folder and split, unless a split has as many examples as it should.
absl::Status CheckCount(const std::string& folder, std::string_view split, uint64_t found,
                        int64_t expected);

// Appends a label. InvalidArgument, naming file and example, unless it is below `classes`.
absl::Status AppendLabel(const std::string& path, size_t example, int label, int64_t classes,
                         RawSplit& split);

}  // namespace noisefloor::trainer
