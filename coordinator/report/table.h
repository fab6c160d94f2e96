// A Study as text for a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/report/study.h"

namespace noisefloor::report {

enum class Colour : uint8_t { kOff, kOn };

struct Screen {
  Colour colour = Colour::kOff;
  size_t columns = 0;  // 0: lines are as long as they like.
};

// Findings, noise by cell, control, physical sources, hardware, evaluations, classes, examples,
// warnings: in the order a person asks. UTF-8; ends with a newline.
std::string RenderTables(const Study& study, const Screen& screen = {});

}  // namespace noisefloor::report
