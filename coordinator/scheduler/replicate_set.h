// Some of the replicates of a cell, as ranges: a hundred thousand that nothing has happened to yet
// are one of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace noisefloor::scheduler {

// Not thread-safe. All but size() and first() take the logarithm of the number of ranges.
class ReplicateSet {
 public:
  // From `begin` up to but without `end`; none of them may be in it.
  void InsertRange(uint32_t begin, uint32_t end);
  void Insert(uint32_t replicate) { InsertRange(replicate, replicate + 1); }
  // False when it was not in it.
  bool Erase(uint32_t replicate);
  void Clear();

  bool Contains(uint32_t replicate) const;
  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::optional<uint32_t> first() const;
  // How many are below it. Walks the ranges.
  uint32_t CountBelow(uint32_t replicate) const;

 private:
  std::map<uint32_t, uint32_t> ranges_;  // Begin to end; they neither overlap nor touch.
  uint32_t size_ = 0;
};

}  // namespace noisefloor::scheduler
