#include "worker/devices/cores.h"

#include "common/base/check.h"

namespace noisefloor {

std::vector<std::vector<int>> AssignCores(std::span<const int> cores, uint32_t slot_count) {
  NF_CHECK(!cores.empty() && slot_count > 0);
  const size_t share = cores.size() / slot_count;
  std::vector<std::vector<int>> slots(slot_count);
  for (uint32_t slot = 0; slot < slot_count; ++slot) {
    if (share == 0) {
      slots[slot] = {cores[slot % cores.size()]};
    } else {
      const auto mine = cores.subspan(slot * share, share);
      slots[slot].assign(mine.begin(), mine.end());
    }
  }
  return slots;
}

}  // namespace noisefloor
