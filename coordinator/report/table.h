// A Study as text for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/report/study.h"

namespace noisefloor::report {

enum class Colour : uint8_t { kOff, kOn };

// Findings, noise by cell, control, physical sources, hardware, classes, examples, warnings: in
// the order a person asks. UTF-8; ends with a newline.
std::string RenderTables(const Study& study, Colour colour = Colour::kOff);

// Rows as columns, aligned; the first column to the left, the others to the right. Widths count
// code points. Every row has as many entries as `header`.
std::string AlignColumns(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace noisefloor::report
