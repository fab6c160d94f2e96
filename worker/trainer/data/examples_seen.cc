#include "worker/trainer/data/examples_seen.h"

#include <algorithm>

#include "common/files/sha256.h"

namespace noisefloor::trainer {

int64_t ExamplesSeen::count() const { return std::ranges::count(seen_, true); }

std::string ExamplesSeen::Hash(std::string_view identity) const {
  Sha256 hash;
  hash.Update("noisefloor examples seen 1\n").Update(identity).Update("\n");
  for (size_t rank = 0; rank < seen_.size(); ++rank) {
    if (seen_[rank]) hash.UpdateU64(rank);
  }
  return hash.Hex();
}

}  // namespace noisefloor::trainer
