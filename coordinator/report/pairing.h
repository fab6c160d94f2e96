// Which members of several cells stand for the same draws. Internal to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/report/gather.h"

namespace noisefloor::report {

// The same replicates of cells that differ in their hardware only, in one order: for each cell the
// positions in Gathered::members. Replicates that all cells have done, with equal lanes.
std::vector<std::vector<size_t>> MatchReplicates(const Gathered& gathered,
                                                 std::span<const CellFacts* const> cells);

// The same of two sides with a cell of each for every block, as a comparison names them.
std::vector<std::vector<std::vector<size_t>>> MatchBlocks(const Gathered& gathered,
                                                          std::span<const uint32_t> cells_a,
                                                          std::span<const uint32_t> cells_b);

// Those of them with predictions in every cell.
std::vector<std::vector<size_t>> WithPredictions(const Gathered& gathered,
                                                 const std::vector<std::vector<size_t>>& matched);

// Is every replicate of a plan with so many blocks an independent draw of its seeded sources? Where
// some are held, replicates of a block share them: over several blocks the blocks are the draws,
// and so they are where members share levels. Where none is free, the replicates of a block are
// copies of one draw.
bool ReplicatesAreDraws(const CellFacts& cell, size_t blocks);

// Mean of values in [0, most], some of each block: over draws where `each` is one, or over blocks.
Estimate MeanOverDraws(const std::vector<std::vector<double>>& blocks, bool each, const char* unit,
                       double most);

}  // namespace noisefloor::report
