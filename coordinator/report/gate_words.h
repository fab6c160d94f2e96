// What a gate says, in words. Pure. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "coordinator/report/gate.h"
#include "coordinator/report/gather.h"

namespace noisefloor::report {

// The verdict and what it rests on; then each figure that fails or is not decided; then bits.
std::vector<std::string> FindingsOf(const Gate& gate);

// Why no cell of A is set against one of B.
std::string NothingMeets(const Gate& gate, const Gathered& a, const Gathered& b);

// "churn", "top-1", "shift of the mean answer"
std::string_view NounOf(const GateFigure& figure);

// "-0.4 % [-1.0, 0.2]": the 90 % interval, which has to lie inside the margin.
std::string InsideText(const GateFigure& figure);

// "±0.50 %"; of a shift, which is upwards only, "1.00 %"
std::string MarginText(const GateFigure& figure);

// "paired, n = 6 draws", "n = 6 and 8 draws"
std::string DrawsText(const GateSetting& setting);

}  // namespace noisefloor::report
