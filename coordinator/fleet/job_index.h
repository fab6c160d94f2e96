// Jobs as a cluster shows them, found by name: what a look at many launches costs grows with
// launches and jobs, not with their product.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "coordinator/fleet/job.h"

namespace noisefloor::fleet {

// Not thread-safe: searches are counted. The jobs outlive it.
class JobIndex {
 public:
  explicit JobIndex(const std::vector<Job>& jobs);

  // The first that was shown; null: none.
  const Job* Find(std::string_view name, uint32_t index) const;
  // All whose names begin so, by name.
  std::span<const Job* const> Beginning(std::string_view prefix) const;

  // Jobs that were looked at so far, to make it and to search.
  uint64_t looked_at() const { return looked_at_; }

 private:
  std::vector<const Job*> by_name_;  // And place; equal ones as they were shown.
  mutable uint64_t looked_at_ = 0;
};

}  // namespace noisefloor::fleet
