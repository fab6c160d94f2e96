// The groups of a test set as a table for people and programs.
#pragma once

#include <string>
#include <vector>

#include "worker/trainer/data/dataset.h"

namespace noisefloor::trainer {

// RFC 4180: a line of `example` and the names of the columns, then a line for each example in
// canonical order: its number from 0 and its values. Lines end in LF.
std::string GroupsAsCsv(const std::vector<GroupColumn>& groups, const Split& split);

}  // namespace noisefloor::trainer
