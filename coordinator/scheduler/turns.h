// Whose turn it is among the sweeps that wait for the same. A higher priority goes first. Among
// equals the owner goes first that has the fewest members running for its weight, and of those the
// one whose last lease is the longest ago: so that owners share the fleet by their weights, and
// where there are fewer slots than owners they take turns. An owner's sweeps share what is the
// owner's in the same way.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "common/base/ids.h"

namespace noisefloor::scheduler {

// What a sweep or an owner has of the fleet; the lower comes first: running / weight as fractions,
// without rounding, then `last`.
struct Standing {
  uint32_t running = 0;  // Members with a live lease.
  LeaseId last;          // Granted last, since the start; 0: none. Soft.
  uint32_t weight = 1;   // Never 0.
  friend bool operator==(const Standing&, const Standing&) = default;
  friend std::weak_ordering operator<=>(const Standing& a, const Standing& b) {
    const auto by_share = uint64_t{a.running} * b.weight <=> uint64_t{b.running} * a.weight;
    return by_share != 0 ? by_share : a.last <=> b.last;
  }
};

// Where a sweep stands in an order of turns.
struct Turnstile {
  int32_t priority = 0;
  uint32_t owner = 0;  // See State::owners.
  Standing of_owner;
  SweepId sweep;
  Standing of_sweep;
};

// The sweeps of one queue that may have leases, in order. Every change takes the logarithm of how
// many they are. Not thread-safe.
class Turns {
 public:
  class Cursor;

  // It must not be in it.
  void Insert(const Turnstile& at);
  // It must be in it, exactly so.
  void Erase(const Turnstile& at);
  // The standing of the owner, of whom sweeps may be in it, was `before`.
  void MoveOwner(uint32_t owner, const Standing& before, const Standing& now);
  // The standing of a sweep that is in it was `at.of_sweep`.
  void MoveSweep(const Turnstile& at, const Standing& now);

  bool empty() const { return levels_.empty(); }
  friend bool operator==(const Turns&, const Turns&) = default;

 private:
  template <typename Id>
  struct Entry {
    Standing standing;
    Id id;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  using Sweeps = std::set<Entry<SweepId>>;
  // Of one priority.
  struct Level {
    std::set<Entry<uint32_t>> owners;
    std::map<uint32_t, Sweeps> sweeps;  // By owner; no empty ones.
    friend bool operator==(const Level&, const Level&) = default;
  };
  using Levels = std::map<int32_t, Level, std::greater<>>;

  Levels levels_;  // By priority; no empty ones.
};

// Goes through the sweeps in order while nothing changes.
class Turns::Cursor {
 public:
  explicit Cursor(const Turns& turns);
  bool ended() const { return level_ == end_; }
  SweepId sweep() const { return sweep_->id; }  // While it has not ended.
  void Next();

 private:
  void EnterLevel();
  void EnterOwner();

  Levels::const_iterator level_;
  Levels::const_iterator end_;
  std::set<Entry<uint32_t>>::const_iterator owner_;
  Sweeps::const_iterator sweep_;
};

}  // namespace noisefloor::scheduler
