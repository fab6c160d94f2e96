#include "coordinator/fleet/job_index.h"

#include <algorithm>
#include <utility>

namespace noisefloor::fleet {

JobIndex::JobIndex(const std::vector<Job>& jobs) {
  by_name_.reserve(jobs.size());
  for (const Job& job : jobs) by_name_.push_back(&job);
  std::ranges::stable_sort(by_name_, [this](const Job* a, const Job* b) {
    ++looked_at_;
    return std::pair<std::string_view, uint32_t>(a->name, a->index) <
           std::pair<std::string_view, uint32_t>(b->name, b->index);
  });
}

const Job* JobIndex::Find(std::string_view name, uint32_t index) const {
  const auto found = std::ranges::partition_point(by_name_, [&](const Job* job) {
    ++looked_at_;
    return std::pair<std::string_view, uint32_t>(job->name, job->index) < std::pair(name, index);
  });
  if (found == by_name_.end()) return nullptr;
  return (*found)->name == name && (*found)->index == index ? *found : nullptr;
}

std::span<const Job* const> JobIndex::Beginning(std::string_view prefix) const {
  const auto begin = std::ranges::partition_point(by_name_, [&](const Job* job) {
    ++looked_at_;
    return job->name < prefix;
  });
  const auto end = std::partition_point(begin, by_name_.end(), [&](const Job* job) {
    ++looked_at_;
    return job->name.starts_with(prefix);
  });
  return {begin, end};
}

}  // namespace noisefloor::fleet
