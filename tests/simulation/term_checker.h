// Whether leases live as long as they were promised: written from the README of the scheduler, not
// from its code.
#pragma once

#include <map>
#include <set>
#include <string>

#include "coordinator/scheduler/scheduler.h"

namespace noisefloor::test {

// Judges leases within the session in which they were sent. Not thread-safe.
class TermChecker {
 public:
  TermChecker(absl::Duration ttl, std::set<std::string>& problems)
      : ttl_(ttl), problems_(problems) {}

  void Restarted() { heard_.clear(); }  // They are renewed then, in sessions to come.
  // An event that the coordinator has taken, and what it decided. `steady`: on a clock that never
  // jumps. `known`: the session of the event was open.
  void Check(const scheduler::Event& event, const scheduler::Effects& effects, absl::Time steady,
             bool known);

 private:
  struct Heard {
    SessionId session;
    absl::Time at;
  };

  const absl::Duration ttl_;
  std::set<std::string>& problems_;
  std::map<LeaseId, Heard> heard_;
};

}  // namespace noisefloor::test
