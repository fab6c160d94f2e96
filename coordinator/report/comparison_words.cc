#include "coordinator/report/comparison_words.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"

#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

std::string AtItsDraw(const Comparison& comparison) {
  return AtOneDraw(comparison.held, static_cast<int64_t>(comparison.cells_a.size()));
}

// " (n = 6 draws)", " at this one init and data_order", " at this one data_order (n = 6 draws)"
std::string Draws(const Comparison& comparison, int64_t n) {
  std::string at = AtItsDraw(comparison);
  if (n == 1 && !at.empty()) return at;
  return at + fmt::format(" (n = {})", Counted(n, "draw"));
}

// "0.58 % [-0.25, 1.42] more churn across than inside": a squared distance is no count of answers.
std::string SizeOfShift(const Comparison& comparison) {
  return WithInterval(comparison.churn_excess) + " more churn across than inside";
}

// "p = 0.004, 0.012 after Holm over 3 comparisons of the study"
std::string Corrected(const ShiftClaim& shift) {
  return fmt::format("p = {}, {} after Holm over {}", PValue(*shift.p), PValue(*shift.p_holm),
                     shift.family);
}

std::string_view SideWord(Factor factor) { return factor == Factor::kHardware ? "class" : "stack"; }

// The noise inside a side, beside which a change is to be read.
std::string WithinText(const Comparison& comparison) {
  const Estimate& a = comparison.churn_within_a;
  const Estimate& b = comparison.churn_within_b;
  if (!a.value || !b.value) return "";
  if (*a.value == 0 && *b.value == 0 && *comparison.churn_paired.value == 0) {
    return fmt::format(" Inside both {} nothing differs either.", SidesWord(comparison.factor));
  }
  if (*a.value == 0 && *b.value == 0) {
    const std::string side(SideWord(comparison.factor));
    return " Inside each " + side + " nothing differs" +
           (comparison.mixes_stacks || !comparison.kernels_fixed
                ? "."
                : fmt::format(": all of it is the {}'s.", Word(comparison.factor)));
  }
  return fmt::format(" Inside one {} two members differ on {} and {}.", SideWord(comparison.factor),
                     Value(a), Value(b));
}

}  // namespace

std::string_view Word(Factor factor) { return factor == Factor::kHardware ? "hardware" : "stack"; }

std::string_view SidesWord(Factor factor) {
  return factor == Factor::kHardware ? "classes" : "stacks";
}

std::string PValue(double p) {
  return p < 0.0001 ? fmt::format("{:.1e}", p) : fmt::format("{:.2g}", p);
}

std::string OverTests(int64_t tests) {
  return tests == 1 ? "this test alone" : fmt::format("the {} tests of the study", tests);
}

std::string AtOneDraw(std::span<const std::string> held, int64_t blocks) {
  return held.empty() || blocks != 1 ? "" : " at this one " + Listed(held);
}

std::string AtTheseDraws(std::span<const std::string> held, int64_t blocks) {
  if (held.empty() || blocks == 1) return AtOneDraw(held, blocks);
  return fmt::format(" at these {} draws of {}", blocks, Listed(held));
}

std::string TextOf(const SettingTest& test) {
  const std::string what = fmt::format("mean answer{}", AtTheseDraws(test.held, test.blocks));
  const bool of_hardware = test.factor == Factor::kHardware;
  const std::string sides = test.sides.size() == 2
                                ? Listed(test.sides)
                                : fmt::format("{} {} at once", test.sides.size(),
                                              of_hardware ? "hardware classes" : "stacks");
  const ShiftClaim& shift = test.shift;
  if (!shift.p_holm) {
    return fmt::format("{}: nothing is claimed of a shift of the {} ({}: {}).", test.setting, what,
                       sides, shift.note);
  }
  return fmt::format("{}: the {} {} the {} ({}: {}).", test.setting, Word(test.factor),
                     shift.shown ? "shifts" : "is not shown to shift", what, sides,
                     Corrected(shift));
}

std::string ChurnText(const Comparison& comparison) {
  if (comparison.pairs > 0 && comparison.identical_pairs == comparison.pairs) {
    return fmt::format("All {} are bit-identical{}.", Counted(comparison.pairs, "pair"),
                       Draws(comparison, comparison.draws));
  }
  if (!comparison.churn_paired.value) return "No pair has predictions on both sides.";
  const std::string changed = WithInterval(comparison.churn_paired);
  const std::string draws = Draws(comparison, comparison.churn_paired.n);  // With predictions.
  std::vector<std::string> by = {fmt::format("by its {}", Word(comparison.factor))};
  if (comparison.mixes_stacks) by.emplace_back("by its stack");
  if (!comparison.kernels_fixed) by.emplace_back("by the physical sources that are free");
  if (by.size() > 1) {
    return fmt::format("Between the {} {} of the answers of a member change{}, {}.",
                       SidesWord(comparison.factor), changed, draws, Listed(by));
  }
  return fmt::format("Changing only the {} changes {} of the answers of a member{}.",
                     Word(comparison.factor), changed, draws);
}

std::string ShiftText(const Comparison& comparison) {
  const Estimate& excess = comparison.churn_excess;
  const ShiftClaim& shift = comparison.shift;
  if (!excess.value) return " Too few replicates to tell whether the mean answer shifts.";
  if (!shift.p_holm) {
    return fmt::format(" Of a shift of the mean answer ({}) nothing is claimed: {}.",
                       SizeOfShift(comparison), shift.note);
  }
  const std::string at = AtTheseDraws(comparison.held, shift.blocks);
  if (shift.shown) {
    return fmt::format(" The {} shifts the mean answer{}: {} ({}).", Word(comparison.factor), at,
                       SizeOfShift(comparison), Corrected(shift));
  }
  const std::string most =
      excess.high ? fmt::format("; at most {}", Percent(std::max(0.0, *excess.high), 2)) : "";
  return fmt::format(" A shift of the mean answer{} is not shown: {} ({}){}.", at,
                     SizeOfShift(comparison), Corrected(shift), most);
}

std::string TextOf(const Comparison& comparison) {
  std::string text = ChurnText(comparison);
  if (comparison.churn_paired.value && comparison.identical_pairs != comparison.pairs) {
    text += WithinText(comparison);
    if (!comparison.all_fixed) text += ShiftText(comparison);
  }
  if (comparison.mixes_stacks) {
    text += fmt::format(" The stacks differ as well ({} against {}).", comparison.stack_a,
                        comparison.stack_b);
  }
  return text;
}

}  // namespace noisefloor::report
