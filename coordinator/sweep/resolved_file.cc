#include "coordinator/sweep/resolved_file.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "coordinator/sweep/extend.h"

namespace noisefloor::sweep {

namespace {

using Path = std::vector<std::string_view>;

// In double quotes, where YAML has escapes for everything that could end or change the text.
std::string Quote(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string Written(const SettingValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? ToText(value) : Quote(*text);
}

// "[a, b]" of what `write` makes of each.
template <typename Items, typename Write>
std::string List(const Items& items, const Write& write) {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : ", ") + write(item);
  return "[" + list + "]";
}

std::string RuleText(const LaneRule& rule) {
  if (rule.levels.empty()) return std::string(Name(rule.state));
  const auto number = [](uint32_t level) { return std::to_string(level); };
  return "{levels: " + List(rule.levels, number) + "}";
}

Path Split(std::string_view path) {
  Path parts;
  while (true) {
    const size_t dot = path.find('.');
    parts.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

void AddLine(std::string& text, size_t depth, std::string_view key, std::string_view value) {
  text.append(2 * depth, ' ').append(key).append(value.empty() ? ":" : ": ");
  text.append(value).append("\n");
}

// Settings are ordered by section, so that each section is opened once.
void AddTraining(const Sweep& sweep, std::string& text) {
  Path open;
  for (const auto& [whole, value] : sweep.base) {
    Path path = Split(whole);
    const std::string_view name = path.back();
    path.pop_back();
    size_t common = 0;
    while (common < std::min(open.size(), path.size()) && open[common] == path[common]) ++common;
    for (size_t i = common; i < path.size(); ++i) AddLine(text, i, path[i], "");
    AddLine(text, path.size(), name, Written(value));
    open = std::move(path);
  }
}

std::string Values(const AxisColumn& column) { return List(column.values, Written); }

// Axes of several settings are zipped; then all are, so that they stay in order.
void AddAxes(const Sweep& sweep, std::string& text) {
  if (sweep.axes.empty()) return;
  AddLine(text, 0, "axes", "");
  const bool zipped =
      std::ranges::any_of(sweep.axes, [](const Axis& axis) { return axis.columns.size() > 1; });
  if (zipped) AddLine(text, 1, "zip", "");
  for (const Axis& axis : sweep.axes) {
    for (size_t c = 0; c < axis.columns.size(); ++c) {
      const AxisColumn& column = axis.columns[c];
      const std::string item = c == 0 ? "- " : "  ";
      AddLine(text, zipped ? 2 : 1, (zipped ? item : "") + column.path, Values(column));
    }
  }
}

std::string Plan(const Sweep& sweep, const NoisePlan& plan) {
  std::string text = "{name: " + Quote(plan.name);
  const LaneRules* built_in = BuiltInPlan(plan.name);
  if (built_in == nullptr) {
    for (const NoiseSource source : kAllNoiseSources) {
      if (!IsTold(source, RuleOf(plan.rules, source).state)) continue;
      text.append(", ")
          .append(Name(source))
          .append(": ")
          .append(RuleText(RuleOf(plan.rules, source)));
    }
  }
  return text + ", blocks: " + std::to_string(BlocksOf(sweep, plan)) +
         ", replicates: " + std::to_string(ReplicatesOf(sweep, plan)) + "}";
}

void AddPlaces(const Sweep& sweep, std::string& text) {
  const bool any = sweep.hardware == std::vector<std::string>{""};
  AddLine(text, 0, "hardware", any ? "any" : List(sweep.hardware, Quote));
  if (sweep.stacks != std::vector<std::string>{""}) {
    AddLine(text, 0, "stacks", List(sweep.stacks, Quote));
  }
}

// A person has extended it further: as a file it has as many as it has.
bool IsBeyondItsMost(const Sweep& sweep) {
  return std::ranges::any_of(sweep.plans, [&](const NoisePlan& plan) {
    return IsForUntil(sweep, plan) && ReplicatesOf(sweep, plan) > sweep.until->most;
  });
}

}  // namespace

std::string ResolvedFile(const Sweep& sweep) {
  std::string text;
  if (!sweep.before.empty()) text += kExtendedNote;
  AddLine(text, 0, "name", Quote(sweep.name));
  if (KindOf(sweep.base) == Kind::kMeasure) AddLine(text, 0, "kind", Name(Kind::kMeasure));
  AddLine(text, 0, "seed", std::to_string(sweep.seed));
  if (!sweep.notes.empty()) AddLine(text, 0, "notes", Quote(sweep.notes));
  if (!sweep.tags.empty()) AddLine(text, 0, "tags", "");
  for (const auto& [key, value] : sweep.tags) AddLine(text, 1, Quote(key), Quote(value));
  AddTraining(sweep, text);
  AddAxes(sweep, text);
  AddLine(text, 0, "noise", "");
  for (const NoisePlan& plan : sweep.plans) text += "  - " + Plan(sweep, plan) + "\n";
  AddPlaces(sweep, text);
  AddLine(text, 0, "replicates", std::to_string(sweep.replicates));
  AddLine(text, 0, "blocks", std::to_string(sweep.blocks));
  if (sweep.reference_accuracy) {
    AddLine(text, 0, "reference_accuracy", Written(*sweep.reference_accuracy));
  }
  if (sweep.until && !IsBeyondItsMost(sweep)) {
    AddLine(text, 0, "until",
            "{figure: " + std::string(Name(sweep.until->figure)) +
                ", half_width: " + Written(sweep.until->half_width) +
                ", most: " + std::to_string(sweep.until->most) + "}");
  }
  return text;
}

}  // namespace noisefloor::sweep
