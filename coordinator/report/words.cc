#include "coordinator/report/words.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "fmt/format.h"

#include "coordinator/report/gather.h"

namespace noisefloor::report {
namespace {

std::string LastPart(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// What a value is multiplied by and its digits after the point.
struct Style {
  double factor = 1;
  int digits = 3;
  std::string suffix;
};

// Digits follow the size: two of the largest number, so that a spread of 0.003 % is not shown as
// zero, and one of the smallest, so that an interval from 0.003 % does not seem to hold zero. The
// page has the same rule (decimals in coordinator/web/app/src/format.ts).
Style StyleOf(const analysis::Estimate& estimate) {
  Style style;
  if (estimate.unit == "fraction") style = {100, 2, " %"};
  if (estimate.unit == "seconds") style = {1, 1, " s"};
  if (estimate.unit == "ratio") style.digits = 2;
  double most = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const std::optional<double>& number : {estimate.value, estimate.low, estimate.high}) {
    const double size = std::abs(number.value_or(0)) * style.factor;
    if (!(size > 1e-6)) continue;  // Zero but for rounding.
    most = std::max(most, size);
    least = std::min(least, size);
  }
  const auto place = [](double size) { return -static_cast<int>(std::floor(std::log10(size))); };
  if (most >= 1000) style.digits = 0;
  if (most > 0 && most < 0.1) style.digits = place(most) + 1;
  if (std::isfinite(least)) style.digits = std::min(9, std::max(style.digits, place(least)));
  return style;
}

std::string Number(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string text = fmt::format("{:.{}f}", value, digits);
  // "-0.00" is zero.
  return text.find_first_of("123456789") == std::string::npos && text[0] == '-' ? text.substr(1)
                                                                                : text;
}

std::string AxesLabel(const CellInput& cell,
                      const std::map<std::string, std::set<std::string>>& of_last) {
  std::string label;
  for (const AxisSetting& axis : cell.axes) {
    const std::string last = LastPart(axis.path);
    const bool unique = of_last.at(last).size() == 1;
    label += (label.empty() ? "" : ", ") + (unique ? last : axis.path) + "=" + axis.value;
  }
  return label;
}

}  // namespace

std::string Percent(double fraction, int digits) { return Number(100 * fraction, digits) + " %"; }

std::string Value(const analysis::Estimate& estimate) {
  if (!estimate.value) return "-";
  const Style style = StyleOf(estimate);
  return Number(*estimate.value * style.factor, style.digits) + style.suffix;
}

std::string WithInterval(const analysis::Estimate& estimate) {
  if (!estimate.value) return "-";
  if (!estimate.low || !estimate.high) return Value(estimate);
  const Style style = StyleOf(estimate);
  return fmt::format("{} [{}, {}]", Value(estimate),
                     Number(*estimate.low * style.factor, style.digits),
                     Number(*estimate.high * style.factor, style.digits));
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

std::string HardwareName(const std::string& hardware) {
  return hardware.empty() ? "any" : hardware;
}

void SetLabels(std::vector<CellFacts>& cells) {
  std::map<std::string, std::set<std::string>> of_last;
  std::set<std::string> stacks;
  std::set<uint32_t> blocks;
  for (const CellFacts& cell : cells) {
    for (const AxisSetting& axis : cell.input->axes) of_last[LastPart(axis.path)].insert(axis.path);
    stacks.insert(cell.input->stack);
    blocks.insert(cell.input->block);
  }
  for (CellFacts& cell : cells) {
    cell.axes_label = AxesLabel(*cell.input, of_last);
    cell.label = cell.input->plan + ", " + HardwareName(cell.input->hardware);
    if (stacks.size() > 1) cell.label += ", " + cell.input->stack;
    if (!cell.axes_label.empty()) cell.label += ", " + cell.axes_label;
    if (blocks.size() > 1) cell.label += fmt::format(", block {}", cell.input->block);
  }
}

}  // namespace noisefloor::report
