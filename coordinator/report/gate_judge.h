// From the figures of a gate to its verdict. Internal to this folder.
#pragma once

#include "coordinator/report/gate.h"

namespace noisefloor::report {

// Corrects what could fail, says what each figure is, and with them the whole.
void Decide(Gate& gate);

}  // namespace noisefloor::report
