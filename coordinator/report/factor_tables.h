// The tables of what is set against each other, put together or followed: classes, stacks, axes,
// plans, sources, ensembles, evaluations. Internal to this folder.
#pragma once

#include "coordinator/report/study.h"
#include "coordinator/report/text_page.h"

namespace noisefloor::report {

void AddHardware(const Study& study, TextPage& page);  // And stacks.
void AddContrasts(const Study& study, TextPage& page);
void AddDecompositions(const Study& study, TextPage& page);
void AddEnsembles(const Study& study, TextPage& page);
void AddTrajectories(const Study& study, TextPage& page);

}  // namespace noisefloor::report
