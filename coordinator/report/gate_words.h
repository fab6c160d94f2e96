// What a gate says, in words. Pure. Internal to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"

#include "coordinator/report/gate.h"
#include "coordinator/report/gather.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {

// The verdict and what it rests on; then all that fails, is not decided, and the rest.
std::vector<std::string> FindingsOf(const Gate& gate);

// Why no cell of A is set against one of B.
std::string NothingMeets(const Gate& gate, const Gathered& a, const Gathered& b);

// A difference is proved.
bool HasOtherBits(const GateBits& bits);

// "churn", "top-1", "shift of the mean answer"
std::string_view NounOf(const GateFigure& figure);

// "-0.4 % [-1.0, 0.2]": the 90 % interval, which has to lie inside the margin.
std::string InsideText(const GateFigure& figure);

// "±0.50 %"; of a shift, which is upwards only, "1.00 %"
std::string MarginText(const GateFigure& figure);

// Of the figure: "paired, n = 6 draws", "n = 6 and 8 draws", "n = 8 draws each at this one init"
std::string DrawsText(const GateSetting& setting, const GateFigure& figure);

// Why a figure passes without a test, and what that leaves open.
std::string EqualAnswersText(const GateSetting& setting, int64_t n, double most_otherwise);

// Figures that pass by equal answers.
int64_t EqualAnswersOf(const Gate& gate);

// Why a figure is not decided, and what would.
std::string OpenText(const GateSetting& setting, const GateFigure& figure);

// "all 8 pairs of equal seeds have equal bits"
std::string BitsText(const GateBits& bits);

// "3 of 10 members are not done on B, 0 of 8 on A": of a setting, or of bits.
template <typename Compared>
std::string LostText(const Compared& of) {
  const Losses& losses = of.losses;
  return fmt::format("{} of {} {} not done on B, {} of {} on A", losses.b,
                     Counted(losses.of_b, "member"), losses.b == 1 ? "is" : "are", losses.a,
                     losses.of_a);
}

}  // namespace noisefloor::report
