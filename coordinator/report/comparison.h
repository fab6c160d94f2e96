// Hardware classes compared, all else equal. Internal to this folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// One for each two cells with equal axes, plan and block on different hardware. Where a hardware
// class has several stacks, cells of equal stack are compared; else the mix is marked.
std::vector<HardwareComparison> BuildComparisons(const Gathered& gathered);

}  // namespace noisefloor::report
