#include "coordinator/query/known_distances.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/files/sha256.h"

namespace noisefloor::query {

namespace {

// Contents are hashes themselves, or empty: none of them holds the separator.
std::string KeyOf(const std::vector<std::string>& contents) {
  return Sha256Hex(fmt::format("{}", fmt::join(contents, "\n")));
}

}  // namespace

std::optional<report::CellDistances> KnownDistances::Find(
    const std::vector<std::string>& contents) {
  const std::string key = KeyOf(contents);
  MutexLock lock(mutex_);
  const auto known = known_.find(key);
  if (known == known_.end()) return std::nullopt;
  return known->second;
}

void KnownDistances::Keep(const std::vector<std::string>& contents,
                          const report::CellDistances& found) {
  const std::string key = KeyOf(contents);
  MutexLock lock(mutex_);
  if (!known_.emplace(key, found).second) return;
  oldest_first_.push_back(key);
  if (oldest_first_.size() <= most_) return;
  known_.erase(oldest_first_.front());
  oldest_first_.pop_front();
}

}  // namespace noisefloor::query
