#include "coordinator/report/words.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "fmt/format.h"

#include "coordinator/analysis/pairs.h"
#include "coordinator/report/gather.h"

namespace noisefloor::report {
namespace {

// Beside the terms: those of a fraction or a correlation are up to 1. Of other units only 0 is 0.
using analysis::kRounding;
// An estimate whose numbers are all less is written with powers of ten, and one number that is far
// less than the others.
constexpr double kLeastInDigits = 1e-4;
constexpr double kLeastBesideOthers = 1e-6;
constexpr double kLeastOfLargest = 1e-5;

// How the numbers of one estimate are written. Sizes are after multiplying.
struct Style {
  double factor = 1;
  int digits = 3;  // After the point.
  std::string suffix;
  double zero_to = 0;       // Sizes up to here are zero but for rounding.
  double powers_below = 0;  // Smaller ones have two digits and a power of ten.
};

Style StyleOfUnit(const std::string& unit) {
  if (unit == "fraction") return {100, 2, " %", 100 * kRounding};
  if (unit == "correlation") return {1, 3, "", kRounding};
  if (unit == "seconds") return {1, 1, " s"};
  if (unit == "ratio") return {1, 2, ""};
  return {};
}

// Digits follow the size: two of the largest number, so that a spread of 0.003 % is not shown as
// zero, and one of the smallest, so that an interval from 0.003 % does not seem to hold zero. The
// page has the same rule (formatOf in coordinator/web/app/src/format.ts); tests/web/figures.json
// holds both to it.
Style StyleOf(const analysis::Estimate& estimate) {
  Style style = StyleOfUnit(estimate.unit);
  std::vector<double> sizes;
  for (const std::optional<double>& number : {estimate.value, estimate.low, estimate.high}) {
    const double size = std::abs(number.value_or(0)) * style.factor;
    if (std::isfinite(size)) sizes.push_back(size);
  }
  const double most = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  style.zero_to = std::max(style.zero_to, kRounding * most);
  if (most <= style.zero_to) return style;
  if (most < kLeastInDigits) {
    style.digits = 0;  // Of zeros.
    style.powers_below = kLeastInDigits;
    return style;
  }
  style.powers_below = std::max(kLeastBesideOthers, kLeastOfLargest * most);
  double least = most;
  for (const double size : sizes) {
    if (size > style.zero_to && size >= style.powers_below) least = std::min(least, size);
  }
  const auto place = [](double size) { return -static_cast<int>(std::floor(std::log10(size))); };
  if (most >= 1000) style.digits = 0;
  if (most < 0.1) style.digits = place(most) + 1;
  style.digits = std::max(style.digits, place(least));
  return style;
}

std::string Number(double value, const Style& style) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double shown = value * style.factor;
  if (std::abs(shown) <= style.zero_to) return fmt::format("{:.{}f}", 0.0, style.digits);
  if (std::abs(shown) < style.powers_below) return fmt::format("{:.1e}", shown);
  return fmt::format("{:.{}f}", shown, style.digits);
}

}  // namespace

void AxisNames::Add(const CellInput& cell) {
  for (const AxisSetting& axis : cell.axes) of_last_[LastPart(axis.path)].insert(axis.path);
}

std::string AxisNames::LabelOf(const CellInput& cell) const {
  std::string label;
  for (const AxisSetting& axis : cell.axes) {
    const std::string last = LastPart(axis.path);
    const bool unique = of_last_.at(last).size() == 1;
    label += (label.empty() ? "" : ", ") + (unique ? last : axis.path) + "=" + axis.value;
  }
  return label;
}

std::string LastPart(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string CancelledText(const MemberCounts& counts, std::string_view what) {
  return fmt::format(
      "{} of {} members cancelled: where that was decided after a look at results, {} too much; "
      "`noisefloor retry` lets them wait again",
      counts.cancelled, counts.total, what);
}

std::string Percent(double fraction, int digits) {
  const Style style{100, digits, " %", 100 * kRounding};
  const double least = std::pow(10.0, -digits) / 100;
  if (fraction > kRounding && fraction < least / 2) return "<" + Percent(least, digits);
  return Number(fraction, style) + style.suffix;
}

std::string Value(const analysis::Estimate& estimate) {
  if (!estimate.value) return "-";
  const Style style = StyleOf(estimate);
  return Number(*estimate.value, style) + style.suffix;
}

std::string WithInterval(const analysis::Estimate& estimate) {
  if (!estimate.value) return "-";
  if (!estimate.low || !estimate.high) return Value(estimate);
  const Style style = StyleOf(estimate);
  return fmt::format("{} [{}, {}]", Value(estimate), Number(*estimate.low, style),
                     Number(*estimate.high, style));
}

std::string Listed(std::span<const std::string> things) {
  std::string text;
  for (size_t k = 0; k < things.size(); ++k) {
    if (k > 0) text += k + 1 == things.size() ? " and " : ", ";
    text += things[k];
  }
  return text;
}

std::string Counted(int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string_view AnswerWord(int64_t attributes) { return attributes > 0 ? "decision" : "example"; }

std::string HardwareName(const std::string& hardware) {
  return hardware.empty() ? "any" : hardware;
}

std::string StackName(const std::string& stack) { return stack.empty() ? "no stack yet" : stack; }

bool HaveSeveralStacks(const std::vector<CellFacts>& cells) {
  return Varies(cells, &CellInput::stack);
}

std::string SettingOf(const CellFacts& cell) {
  return cell.axes_label.empty() ? cell.input->plan : cell.input->plan + ", " + cell.axes_label;
}

std::string CellSubject(uint32_t cell, const std::string& label) {
  return fmt::format("cell {} ({})", cell, label);
}

std::vector<std::string> NamesOf(std::span<const NoiseSource> sources) {
  std::vector<std::string> names;
  for (const NoiseSource source : sources) names.emplace_back(Name(source));
  return names;
}

std::string SharingText(std::span<const std::string> shared) {
  return fmt::format("members share draws of {} by design", Listed(shared));
}

void SetLabels(std::vector<CellFacts>& cells) {
  AxisNames axes;
  std::set<uint32_t> blocks;
  for (const CellFacts& cell : cells) {
    axes.Add(*cell.input);
    blocks.insert(cell.input->block);
  }
  const bool several_stacks = HaveSeveralStacks(cells);
  for (CellFacts& cell : cells) {
    cell.axes_label = axes.LabelOf(*cell.input);
    cell.label = cell.input->plan + ", " + HardwareName(cell.input->hardware);
    if (several_stacks) cell.label += ", " + StackName(cell.input->stack);
    if (!cell.axes_label.empty()) cell.label += ", " + cell.axes_label;
    if (blocks.size() > 1) cell.label += fmt::format(", block {}", cell.input->block);
  }
}

}  // namespace noisefloor::report
