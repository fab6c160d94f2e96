// Which CPU cores a slot's trainers are pinned to. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace noisefloor {

// One list of cores per slot. Every slot gets equally many neighbouring cores, so that members run
// under equal conditions; what does not divide is left to the rest of the system. With fewer cores
// than slots, cores are shared in turn. `cores` has at least one, `slot_count` is at least 1.
std::vector<std::vector<int>> AssignCores(std::span<const int> cores, uint32_t slot_count);

}  // namespace noisefloor
