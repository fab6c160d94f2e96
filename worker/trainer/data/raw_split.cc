#include "worker/trainer/data/raw_split.h"

#include <fmt/format.h>

namespace noisefloor::trainer {

absl::Status CheckCount(const std::string& folder, std::string_view split, uint64_t found,
                        int64_t expected) {
  if (found == static_cast<uint64_t>(expected)) return absl::OkStatus();
  return InvalidInput(
      fmt::format("{}: {} {} examples; expected {}", folder, found, split, expected));
}

absl::Status AppendLabel(const std::string& path, size_t example, int label, int64_t classes,
                         RawSplit& split) {
  if (label >= classes) {
    return InvalidInput(fmt::format("{}: example {} has label {}; expected 0 to {}", path, example,
                                    label, classes - 1));
  }
  split.labels.push_back(static_cast<uint16_t>(label));
  return absl::OkStatus();
}

}  // namespace noisefloor::trainer
