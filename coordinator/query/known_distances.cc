#include "coordinator/query/known_distances.h"

#include "common/files/sha256.h"

namespace noisefloor::query {

namespace {

std::string KeyOf(const std::vector<std::string>& of) {
  std::string text;
  for (const std::string& word : of) text += word + "\n";
  return Sha256Hex(text);
}

}  // namespace

std::optional<analysis::Distances> KnownDistances::Find(const std::vector<std::string>& of) {
  const std::string key = KeyOf(of);
  MutexLock lock(mutex_);
  const auto known = known_.find(key);
  if (known == known_.end()) return std::nullopt;
  oldest_first_.splice(oldest_first_.end(), oldest_first_, known->second.place);
  return known->second.found;
}

void KnownDistances::Keep(const std::vector<std::string>& of, const analysis::Distances& found) {
  const std::string key = KeyOf(of);
  MutexLock lock(mutex_);
  if (known_.contains(key)) return;
  known_[key] = {found, oldest_first_.insert(oldest_first_.end(), key)};
  if (known_.size() <= most_) return;
  known_.erase(oldest_first_.front());
  oldest_first_.pop_front();
}

}  // namespace noisefloor::query
