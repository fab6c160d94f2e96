// Distances between weights that studies before found: a sweep that is looked at while it runs has
// those of a cell read again when the cell has a new member, at the end and at each evaluation.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::query {

// Holds at most `most` of them, a few KiB each; what was asked for longest ago goes first.
// Thread-safe.
class KnownDistances final : public report::DistanceMemory {
 public:
  explicit KnownDistances(size_t most = 16384) : most_(most) {}
  std::optional<analysis::Distances> Find(const std::vector<std::string>& of) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Keep(const std::vector<std::string>& of, const analysis::Distances& found) override
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const size_t most_;
  Mutex mutex_;
  struct Known {
    analysis::Distances found;
    std::list<std::string>::iterator place;
  };
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);  // By the hash of what they are of.
  std::list<std::string> oldest_first_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor::query
