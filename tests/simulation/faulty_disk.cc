#include "tests/simulation/faulty_disk.h"

namespace noisefloor::test {

bool FaultyDisk::Fails(uint64_t step, const Writes& writes, absl::Time now) {
  if (chance_.OneIn(faults_.full)) {
    ++told_.full;
    full_until_ = now + chance_.Before(faults_.longest_full);
  }
  if (now < full_until_ || chance_.OneIn(faults_.refuses)) {
    ++told_.refused;
    return true;
  }
  if (!chance_.OneIn(faults_.in_doubt)) return false;
  ++told_.in_doubt;
  if (chance_.OneIn(2)) {
    ++told_.kept;
    Keep(step, writes);
  } else {
    in_doubt_ = {step, writes};
  }
  return true;
}

std::optional<absl::Duration> FaultyDisk::Apply(uint64_t step, const Writes& writes,
                                                absl::Time now) {
  if (writes.empty()) return absl::ZeroDuration();
  ++told_.commits;
  if (!calm_ && Fails(step, writes, now)) return std::nullopt;
  Keep(step, writes);
  if (calm_ || !chance_.OneIn(faults_.slow)) return absl::ZeroDuration();
  ++told_.slow;
  return chance_.Before(faults_.longest_commit);
}

// Over what was in doubt, which is gone with it.
void FaultyDisk::Keep(uint64_t step, const Writes& writes) {
  in_doubt_.reset();
  if (store_.Apply(step, writes)) kept_(writes);
}

void FaultyDisk::Crash() {
  const std::optional<Step> in_doubt = std::exchange(in_doubt_, std::nullopt);
  if (!in_doubt || !chance_.OneIn(2)) return;
  ++told_.found;
  Keep(in_doubt->number, in_doubt->writes);
}

}  // namespace noisefloor::test
