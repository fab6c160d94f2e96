// A gate as a terminal, a program, a build server and a person read it. Pure.
#pragma once

#include <string>

#include "coordinator/report/gate.h"
#include "coordinator/report/table.h"

namespace noisefloor::report {

// Findings, then a row for each figure. Ends with a newline.
std::string GateText(const Gate& gate, const Screen& screen = {});

// {"version": 1, "verdict": "pass", ...}: fields as in gate.h. Ends with a newline.
std::string GateJson(const Gate& gate);

// JUnit: a test case for each figure and each comparison of bits; one that fails has a `failure`,
// one that is not decided an `error`.
std::string GateJUnit(const Gate& gate);

// One page of HTML without script: the findings, each interval beside its margin, the table.
std::string GatePage(const Gate& gate);

}  // namespace noisefloor::report
