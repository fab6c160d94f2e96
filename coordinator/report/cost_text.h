// A CostStudy as tables for a terminal, JSON, CSV and a page.
#pragma once

#include <string>

#include "coordinator/report/determinism_cost.h"
#include "coordinator/report/table.h"

namespace noisefloor::report {

// UTF-8; ends with a newline.
std::string RenderCostTables(const CostStudy& study, const Screen& screen = {});

// Names are those of the fields; not finite numbers and absent ones are null. Ends with a newline.
std::string CostToJson(const CostStudy& study);

// Header: table,cell,network,settings,hardware,stack,plan,member,arm,name,round,metric,value,low,
// high,n,note. Tables: ratio, step (every timed step), kernel, primitive. Numbers in full
// precision; what is absent is empty. As StudyToCsv otherwise.
std::string CostToCsv(const CostStudy& study);

// The tables as one HTML file without a script.
std::string RenderCostPage(const CostStudy& study);

}  // namespace noisefloor::report
