#include "coordinator/scheduler/effect.h"

#include "coordinator/scheduler/recovered.h"

namespace noisefloor::scheduler {

RecoveredMember RecoveredCell::At(uint32_t replicate) const {
  const auto touched = members.find(replicate);
  if (touched != members.end()) return touched->second;
  RecoveredMember member;
  member.state = untouched;
  return member;
}

}  // namespace noisefloor::scheduler
