// When the replicates of a sweep are enough. Pure values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace noisefloor::sweep {

// What shall be known well enough, in each cell of the plans that it decides of.
enum class UntilFigure : uint8_t {
  kChurn = 1,
  kTop1 = 2,  // Its mean.
};
std::string_view Name(UntilFigure figure);  // "churn", "top1"
std::optional<UntilFigure> ParseUntilFigure(std::string_view name);

// Stein's two stages: the replicates that were submitted are the pilot, whose spread says once how
// many it takes.
struct Until {
  UntilFigure figure = UntilFigure::kChurn;
  double half_width = 0;  // Of the figure's 95 % interval, in [0, 1].
  uint32_t most = 0;      // Replicates of a cell, the pilot's among them.
  bool settled = false;   // How many it takes is decided. Says nothing of what was submitted.
  friend bool operator==(const Until&, const Until&) = default;
};

}  // namespace noisefloor::sweep
