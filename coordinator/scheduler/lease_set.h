// Leases that are remembered for ever, as bits: their numbers rise, and nearly all are in it.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/ids.h"
#include "coordinator/scheduler/undo.h"

namespace noisefloor::scheduler {

// Not thread-safe. A hundred thousand neighbours take 13 KB and a hundred objects. What asks takes
// the logarithm of the number of objects.
class LeaseSet {
 public:
  // Nothing when it is in it.
  void insert(LeaseId lease) { WordOf(lease) |= BitOf(lease); }
  // Nothing when it is not in it.
  void erase(LeaseId lease) {
    const auto block = blocks_.find(lease.value / kBlock);
    if (block == blocks_.end()) return;
    block->second[Place(lease)] &= ~BitOf(lease);
    if (block->second == Block{}) blocks_.erase(block);
  }
  bool contains(LeaseId lease) const {
    const auto block = blocks_.find(lease.value / kBlock);
    return block != blocks_.end() && (block->second[Place(lease)] & BitOf(lease)) != 0;
  }

  void Remember() { blocks_.Remember(); }
  void TakeBack() { blocks_.TakeBack(); }
  void Forget() { blocks_.Forget(); }

 private:
  static constexpr uint64_t kWord = 64;  // Leases.
  static constexpr uint64_t kBlock = 1024;
  using Block = std::array<uint64_t, kBlock / kWord>;

  static uint64_t BitOf(LeaseId lease) { return uint64_t{1} << (lease.value % kWord); }
  static size_t Place(LeaseId lease) { return lease.value % kBlock / kWord; }
  uint64_t& WordOf(LeaseId lease) { return blocks_[lease.value / kBlock][Place(lease)]; }

  UndoMap<uint64_t, Block> blocks_;  // By their leases' numbers over kBlock; none is empty.
};

}  // namespace noisefloor::scheduler
