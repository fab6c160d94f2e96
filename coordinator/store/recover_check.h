// Whether rows can be what was written: a byte that changed on the disk ends as an error that names
// its row, not as a crash. Internal to this folder. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor {

// DataLoss: "the store is damaged: ROW: WHAT".
absl::Status Damaged(std::string_view row, std::string_view what);

// What is wrong with a definition that Expand and the scheduler rely on; empty: nothing.
std::string DefinitionFault(const sweep::Sweep& sweep);

// A row of the table `cell`.
struct CellRow {
  std::string plan;
  uint32_t block = 0;
  std::string hardware;
  std::string stack;
  std::string fingerprint;
  std::string build;
  std::string axes;
  uint32_t replicates = 0;
};
// What contradicts the cell of the definition, which may be pinned in the row; empty: nothing.
std::string CellFault(const CellRow& row, const sweep::Cell& cell);

}  // namespace noisefloor
