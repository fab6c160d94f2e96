// A Study as one CSV file in long format, for spreadsheets and data frames.
#pragma once

#include <string>

#include "coordinator/report/study.h"

namespace noisefloor::report {

// Header: table,cell,label,subject,metric,value,low,high,n,unit,detectable,detectable_kind,note.
// RFC 4180 with "\n"; numbers in full precision, "nan", "inf", "-inf"; what is absent is empty. A
// text that a spreadsheet would take for a formula, from "=", "+", "-" or "@" on, has an apostrophe
// before it.
// Tables: cohort, class, group, blocks, hardware, control, physical, curve, pair, example, member,
// warning.
std::string StudyToCsv(const Study& study);

}  // namespace noisefloor::report
