// A scheduler that hears otherwise than people say how sweeps share the fleet: bugs that a checker
// of the sharing must see.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/recovered.h"
#include "tests/simulation/simulation.h"

namespace noisefloor::test {

// What goes in is bent, what comes out is made straight again, so that the store holds what people
// said. Does nothing under other mutants. Not thread-safe.
class BentSharing {
 public:
  explicit BentSharing(Mutant mutant) : mutant_(mutant) {}

  scheduler::Event Bend(scheduler::Event event);
  scheduler::RecoveredState Bend(scheduler::RecoveredState recovered) const;
  // `event`: as people said it.
  std::vector<scheduler::Write> Straighten(std::vector<scheduler::Write> writes,
                                           const scheduler::Event& event);

 private:
  scheduler::Sharing Bent(SweepId sweep, scheduler::Sharing sharing) const;
  void Straighten(SweepId sweep, scheduler::Sharing& sharing) const;

  const Mutant mutant_;
  std::map<std::string, std::string> owners_by_request_;
  std::map<SweepId, std::string> owners_;
  std::map<SweepId, bool> paused_;
  std::map<std::string, std::map<std::string, uint32_t>> limits_by_request_;
  std::map<SweepId, std::map<std::string, uint32_t>> limits_;
};

}  // namespace noisefloor::test
