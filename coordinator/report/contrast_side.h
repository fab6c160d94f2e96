// One side of a contrast in one setting: its members by draw, and its figures without each draw.
// Internal to this folder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "coordinator/analysis/contrast.h"
#include "coordinator/analysis/prediction_matrix.h"
#include "coordinator/report/gather.h"

namespace noisefloor::report {

// Block and replicate; of a draw that is a whole block, replicate 0.
using DrawId = std::pair<uint32_t, uint32_t>;
using DrawIds = std::vector<DrawId>;  // Sorted.

DrawIds CommonDraws(const DrawIds& a, const DrawIds& b);

enum FigureKind : size_t { kChurn, kAccuracy, kAccuracySd, kFigureKinds };

// The cells of one side, one for each block. Borrows what was gathered.
class ContrastSide {
 public:
  explicit ContrastSide(const Gathered& gathered) : gathered_(gathered) {}

  void Add(const CellFacts& cell) { cells_.push_back(&cell); }
  const std::vector<const CellFacts*>& cells() const { return cells_; }
  // Else its blocks are.
  bool ReplicatesAreItsDraws() const;

  // Do members of equal replicate have draws in common that other replicates have not? Of a source
  // that both sides free, by their lanes.
  bool SharesDrawsWith(const ContrastSide& other) const;

  // The draws, replicates or blocks, of which this figure has what it needs.
  DrawIds Draws(FigureKind figure, bool blocks) const;

  // Of draws that Draws gave for the figure; of spreads the logarithm. Absent where these are too
  // few for any value. What the last call gave is kept: a side is asked once for each side that it
  // is set against.
  const std::optional<analysis::Jackknifed>& Figure(FigureKind figure, bool blocks,
                                                    const DrawIds& draws);

  // The answers of these draws, a row each: replicates, of those that Draws gave for kChurn. Not
  // empty.
  analysis::PredictionMatrix RowsOf(const DrawIds& draws) const;

 private:
  struct Kept {
    DrawIds draws;
    bool blocks = false;
    std::optional<analysis::Jackknifed> figure;
  };

  bool IsUsable(size_t member, FigureKind figure) const;
  DrawId IdOf(const CellFacts& cell, size_t member, bool blocks) const;
  // The usable members of each of these draws.
  std::vector<std::vector<size_t>> MembersOf(FigureKind figure, bool blocks,
                                             const DrawIds& draws) const;
  std::optional<analysis::Jackknifed> OverReplicates(FigureKind figure, const DrawIds& draws) const;
  std::optional<analysis::Jackknifed> OverBlocks(FigureKind figure, const DrawIds& draws) const;

  const Gathered& gathered_;
  std::vector<const CellFacts*> cells_;
  std::array<Kept, kFigureKinds> kept_;
};

}  // namespace noisefloor::report
