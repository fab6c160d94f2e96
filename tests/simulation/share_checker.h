// Whether leases go to whose turn it is: written from the README of the scheduler, not from its
// code.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/fake_store.h"
#include "tests/simulation/fake_worker.h"

namespace noisefloor::test {

// Not thread-safe.
class ShareChecker {
 public:
  explicit ShareChecker(std::set<std::string>& problems) : problems_(problems) {}

  // What the worker really has, whatever it tells the coordinator.
  void Know(const WorkerTraits& traits) { traits_[traits.identity] = traits; }
  void Restarted() { last_.clear(); }  // A restarted coordinator forgets who was served last.

  // One transaction: what was kept before each of its leases says whose turn it was.
  void Check(const std::vector<scheduler::Write>& writes);

 private:
  struct Standing {
    size_t running = 0;
    LeaseId last;
    uint32_t weight = 1;
  };

  void CheckGrant(const scheduler::GrantLease& grant);
  void Count(const scheduler::Write& write);
  bool Waits(const scheduler::RecoveredSweep& sweep, const scheduler::RecoveredCell& cell) const;
  bool HasAllItMay(const scheduler::RecoveredSweep& sweep, const std::string& hardware) const;
  void CheckUse(const scheduler::GrantLease& grant, const scheduler::RecoveredWorker& worker);
  void Compare(const scheduler::RecoveredSweep& served, const scheduler::RecoveredSweep& waits);
  // Whether the first has less for its weight, or had it longer ago.
  static bool GoesBefore(const Standing& first, const Standing& second);
  Standing OfOwner(const std::string& owner) const;
  Standing OfSweep(SweepId sweep) const;

  std::set<std::string>& problems_;
  std::map<uint64_t, WorkerTraits> traits_;  // By identity.
  std::map<SweepId, LeaseId> last_;          // Granted last, since the start.
  FakeStore kept_;                           // As of the write before.
  // Live leases of each sweep, by class.
  std::map<SweepId, std::map<std::string, size_t>> running_;
  std::map<LeaseId, std::pair<SweepId, std::string>> live_;
};

}  // namespace noisefloor::test
