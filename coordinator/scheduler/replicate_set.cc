#include "coordinator/scheduler/replicate_set.h"

#include <algorithm>
#include <iterator>

#include "common/base/check.h"

namespace noisefloor::scheduler {

void ReplicateSet::InsertRange(uint32_t begin, uint32_t end) {
  if (begin >= end) return;
  size_ += end - begin;
  auto next = ranges_.lower_bound(begin);
  NF_CHECK(next == ranges_.end() || next->first >= end);
  if (next != ranges_.end() && next->first == end) {
    end = next->second;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    NF_CHECK(before->second <= begin);
    if (before->second == begin) {
      before->second = end;
      return;
    }
  }
  ranges_.emplace(begin, end);
}

bool ReplicateSet::Erase(uint32_t replicate) {
  auto it = ranges_.upper_bound(replicate);
  if (it == ranges_.begin()) return false;
  --it;
  const auto [begin, end] = *it;
  if (replicate >= end) return false;
  --size_;
  ranges_.erase(it);
  if (begin < replicate) ranges_.emplace(begin, replicate);
  if (replicate + 1 < end) ranges_.emplace(replicate + 1, end);
  return true;
}

void ReplicateSet::Clear() {
  ranges_.clear();
  size_ = 0;
}

bool ReplicateSet::Contains(uint32_t replicate) const {
  const auto it = ranges_.upper_bound(replicate);
  return it != ranges_.begin() && replicate < std::prev(it)->second;
}

std::optional<uint32_t> ReplicateSet::first() const {
  if (ranges_.empty()) return std::nullopt;
  return ranges_.begin()->first;
}

uint32_t ReplicateSet::CountBelow(uint32_t replicate) const {
  uint32_t count = 0;
  for (const auto& [begin, end] : ranges_) {
    if (begin >= replicate) break;
    count += std::min(end, replicate) - begin;
  }
  return count;
}

}  // namespace noisefloor::scheduler
