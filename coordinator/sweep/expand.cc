// A sweep's cells, its members' specifications, and the text its hash is taken over.
#include <algorithm>

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/sweep/extend.h"
#include "coordinator/sweep/infer.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::sweep {

namespace {

size_t Length(const Axis& axis) { return axis.columns.front().values.size(); }

// The settings at one point of the axes; the last axis walks fastest.
std::vector<Setting> SettingsAt(const std::vector<Axis>& axes, uint64_t point) {
  std::vector<size_t> places(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    places[i] = point % Length(axes[i]);
    point /= Length(axes[i]);
  }
  std::vector<Setting> settings;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const AxisColumn& column : axes[i].columns) {
      settings.emplace_back(column.path, column.values[places[i]]);
    }
  }
  return settings;
}

uint64_t PointCount(const Sweep& sweep) {
  uint64_t count = 1;
  for (const Axis& axis : sweep.axes) count *= Length(axis);
  return count;
}

std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return escaped;
}

void AppendLine(std::string& text, std::string_view key, std::string_view value) {
  text.append(key).append("=").append(Escape(value)).append("\n");
}

// The first block that an extent adds on the class to those of the one before; null: there is none.
uint32_t FirstNewBlock(const Extent* before, size_t plan, const std::string& hardware) {
  if (before == nullptr || std::ranges::count(before->hardware, hardware) == 0) return 0;
  return before->plans[plan].blocks;
}

// One point and one plan on every place that `extent` has and `before` had not.
void AddCells(const Sweep& sweep, const std::vector<Setting>& settings, size_t index,
              const Extent& extent, const Extent* before, std::vector<Cell>& cells) {
  const NoisePlan& plan = sweep.plans[index];
  const uint32_t first = sweep.subject ? sweep.subject->block : 0;
  for (const std::string& hardware : extent.hardware) {
    for (const std::string& stack : sweep.stacks) {
      for (uint32_t block = FirstNewBlock(before, index, hardware);
           block < extent.plans[index].blocks; ++block) {
        cells.push_back({static_cast<uint32_t>(cells.size()), settings, plan.name, plan.rules,
                         hardware, stack, first + block, ReplicatesOf(sweep, plan)});
      }
    }
  }
}

// A trainer without that setting is not told; the coordinator compares what it says all the same.
void SetIdentity(Settings& settings, std::string_view identity) {
  if (identity.empty() || FindSetting(settings, kDataIdentity) == nullptr) return;
  PutSetting(settings, kDataIdentity, std::string(identity));
}

// Cells that one block of one plan has.
uint64_t PlaceCount(const Sweep& sweep) {
  return PointCount(sweep) * sweep.hardware.size() * sweep.stacks.size();
}

// Written only where plans differ, so that the same numbers give the same text whether the sweep or
// its plans state them.
bool PlansDiffer(const Sweep& sweep) {
  const NoisePlan& first = sweep.plans.front();
  return std::ranges::any_of(sweep.plans, [&](const NoisePlan& plan) {
    return ReplicatesOf(sweep, plan) != ReplicatesOf(sweep, first) ||
           BlocksOf(sweep, plan) != BlocksOf(sweep, first);
  });
}

void AppendCounts(std::string& text, const Sweep& sweep, const NoisePlan& plan) {
  AppendLine(text, "replicates", std::to_string(ReplicatesOf(sweep, plan)));
  AppendLine(text, "blocks", std::to_string(BlocksOf(sweep, plan)));
}

}  // namespace

uint32_t ReplicatesOf(const Sweep& sweep, const NoisePlan& plan) {
  return plan.replicates == 0 ? sweep.replicates : plan.replicates;
}

uint32_t BlocksOf(const Sweep& sweep, const NoisePlan& plan) {
  return plan.blocks == 0 ? sweep.blocks : plan.blocks;
}

uint64_t CellCount(const Sweep& sweep) {
  if (sweep.inference) return sweep.inference->cells.size() * sweep.hardware.size();
  uint64_t blocks = 0;
  for (const NoisePlan& plan : sweep.plans) blocks += BlocksOf(sweep, plan);
  return PlaceCount(sweep) * blocks;
}

uint64_t MemberCount(const Sweep& sweep) {
  uint64_t repeats = 0;
  if (sweep.inference) {
    for (const SubjectCell& cell : sweep.inference->cells) repeats += cell.weights.size();
    return repeats * sweep.hardware.size();
  }
  for (const NoisePlan& plan : sweep.plans) {
    repeats += uint64_t{BlocksOf(sweep, plan)} * ReplicatesOf(sweep, plan);
  }
  return PlaceCount(sweep) * repeats;
}

std::vector<Cell> Expand(const Sweep& sweep) {
  if (sweep.inference) return InferenceCells(sweep);
  std::vector<Cell> cells;
  cells.reserve(CellCount(sweep));
  const uint64_t points = PointCount(sweep);
  const Extent now = ExtentOf(sweep);
  for (size_t stage = 0; stage <= sweep.before.size(); ++stage) {
    const Extent& extent = stage == sweep.before.size() ? now : sweep.before[stage];
    const Extent* before = stage == 0 ? nullptr : &sweep.before[stage - 1];
    for (uint64_t point = 0; point < points; ++point) {
      const std::vector<Setting> settings = SettingsAt(sweep.axes, point);
      for (size_t plan = 0; plan < sweep.plans.size(); ++plan) {
        AddCells(sweep, settings, plan, extent, before, cells);
      }
    }
  }
  return cells;
}

const AxisColumn* FindColumn(const Sweep& sweep, std::string_view path) {
  for (const Axis& axis : sweep.axes) {
    const auto column = std::ranges::find(axis.columns, path, &AxisColumn::path);
    if (column != axis.columns.end()) return &*column;
  }
  return nullptr;
}

const SettingValue* CellSetting(const Sweep& sweep, const Cell& cell, std::string_view path) {
  const SettingValue* varied = FindSetting(cell.axes, path);
  return varied != nullptr ? varied : FindSetting(sweep.base, path);
}

std::string CellText(const Sweep& sweep, const Cell& cell, std::string_view path) {
  const SettingValue* value = CellSetting(sweep, cell, path);
  return value == nullptr ? "" : ToText(*value);
}

CellReader::CellReader(const Sweep& sweep) : base_(Understood({.settings = sweep.base})) {}

std::optional<Specification> CellReader::Of(const Cell& cell) const {
  std::optional<Specification> specification = base_;
  if (!specification) return std::nullopt;
  for (const auto& [path, value] : cell.axes) {
    if (!SetField(*specification, path, value).ok()) return std::nullopt;
  }
  for (const NoiseSource source : kAllNoiseSources) {
    specification->Source(source).state = RuleOf(cell.rules, source).state;
  }
  return specification;
}

Training MemberTraining(const Sweep& sweep, const Cell& cell, uint32_t replicate,
                        std::string_view hardware, std::string_view stack,
                        std::string_view identity) {
  Training training{
      .settings = sweep.base, .hardware_class = std::string(hardware), .stack = std::string(stack)};
  for (const auto& [path, value] : cell.axes) PutSetting(training.settings, path, value);
  SetIdentity(training.settings, identity);
  const uint32_t draw = sweep.subject ? sweep.subject->member.replicate : replicate;
  for (const NoiseSource source : kAllNoiseSources) {
    SourceSpec& noise = training.Source(source);
    noise.state = RuleOf(cell.rules, source).state;
    noise.lane = LaneOf(RuleOf(cell.rules, source), cell.block, draw);
    noise.seed = DeriveSeed(sweep.seed, source, noise.lane);
  }
  return training;
}

std::string DataSetOf(const std::function<std::string(std::string_view path)>& text) {
  std::string name = text(kDataName);
  const std::string size = text("data.image_size");
  if (size.empty() || size == "0") return name;
  name += " (" + size + " px, " + text("train.loss");
  for (const std::string part : {"labels", "groups"}) {
    const std::string columns = text("data." + part);
    if (!columns.empty()) name += "; " + part + " " + columns;
  }
  return name + ")";
}

int64_t DevicesOf(const Sweep& sweep, const Cell& cell) {
  const SettingValue* devices = CellSetting(sweep, cell, kDevices);
  const auto* count = devices == nullptr ? nullptr : std::get_if<int64_t>(devices);
  return count == nullptr ? 0 : *count;
}

bool HasDevicesOf(const Sweep& sweep, const std::string& hardware) {
  const auto has = [&](const SettingValue& value) {
    const auto* devices = std::get_if<int64_t>(&value);
    return devices == nullptr || HasDevices(hardware, *devices);
  };
  if (const AxisColumn* column = FindColumn(sweep, kDevices)) {
    return std::ranges::all_of(column->values, has);
  }
  const SettingValue* devices = FindSetting(sweep.base, kDevices);
  return devices == nullptr || has(*devices);
}

std::string CellDataSet(const Sweep& sweep, const Cell& cell) {
  return DataSetOf([&](std::string_view path) { return CellText(sweep, cell, path); });
}

EvaluationKey EvaluationOf(const std::function<std::string(std::string_view path)>& text) {
  return {DataSetOf(text), text(kTestExamples)};
}

SpecificationTemplate TemplateOf(const Sweep& sweep, const Cell& cell, std::string_view identity) {
  const Training first = MemberTraining(sweep, cell, 0, cell.hardware, cell.stack, identity);
  return sweep.subject ? SpecificationTemplate::Fixed(first)
                       : SpecificationTemplate::Of(first, cell.rules, sweep.seed);
}

Sweep ReplayOf(const Sweep& original, const Cell& cell, const ReplayWish& wish) {
  Sweep replay;
  replay.kind = Kind::kReplay;
  replay.subject = {wish.of, cell.block};
  replay.name = "replay-" + ToText(wish.of);
  replay.seed = original.seed;
  replay.schema = original.schema;
  replay.base = original.base;
  for (const auto& [path, value] : cell.axes) PutSetting(replay.base, path, value);
  SetIdentity(replay.base, wish.identity);
  replay.plans = {{cell.plan, cell.rules}};
  replay.hardware = {wish.hardware};
  replay.stacks = {wish.stack};
  replay.replicates = wish.count;
  return replay;
}

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kTrain: return "train";
    case Kind::kReplay: return "replay";
    case Kind::kInfer: return "infer";
    case Kind::kMeasure: return "measure";
  }
  return "corrupt";
}

std::optional<Kind> ParseKind(std::string_view name) {
  for (const Kind kind : {Kind::kTrain, Kind::kReplay, Kind::kInfer, Kind::kMeasure}) {
    if (Name(kind) == name) return kind;
  }
  return std::nullopt;
}

Kind KindOf(const Settings& base) {
  const SettingValue* steps = FindSetting(base, kMeasureSteps);
  const auto* count = steps == nullptr ? nullptr : std::get_if<int64_t>(steps);
  return count != nullptr && *count > 0 ? Kind::kMeasure : Kind::kTrain;
}

namespace {

// Which weights: who trained them says nothing that their content does not.
void AppendInference(std::string& text, const Sweep& sweep) {
  AppendLine(text, Name(sweep.kind), ToText(sweep.inference->sweep));
  for (const SubjectCell& cell : sweep.inference->cells) {
    AppendLine(text, "cell", std::to_string(cell.cell));
    AppendLine(text, "cell.plan", cell.plan);
    AppendLine(text, "cell.stack", cell.stack);
    for (const GivenWeights& given : cell.weights) {
      AppendLine(text, "weights", std::to_string(given.replicate) + " " + given.sha256);
    }
  }
}

}  // namespace

std::string CanonicalText(const Sweep& sweep) {
  std::string text = "noisefloor sweep 1\n";
  if (sweep.subject) {
    AppendLine(text, Name(sweep.kind), ToText(sweep.subject->member));
  }
  if (sweep.inference) AppendInference(text, sweep);
  AppendLine(text, "name", sweep.name);
  AppendLine(text, "seed", std::to_string(sweep.seed));
  for (const auto& [path, value] : sweep.base) AppendLine(text, path, ToText(value));
  for (const Axis& axis : sweep.axes) {
    text += "axis\n";
    for (const AxisColumn& column : axis.columns) {
      AppendLine(text, "column", column.path);
      for (const SettingValue& value : column.values) AppendLine(text, "value", ToText(value));
    }
  }
  const bool plans_differ = PlansDiffer(sweep);
  for (const NoisePlan& plan : sweep.plans) {
    AppendLine(text, "plan", plan.name);
    if (plans_differ) AppendCounts(text, sweep, plan);
    for (const NoiseSource source : kAllNoiseSources) {
      const LaneRule& rule = RuleOf(plan.rules, source);
      if (!IsTold(source, rule.state)) continue;
      AppendLine(text, Name(source), Name(rule.state));
      for (const uint32_t level : rule.levels) AppendLine(text, "level", std::to_string(level));
    }
  }
  for (const std::string& hardware : sweep.hardware) AppendLine(text, "hardware", hardware);
  for (const std::string& stack : sweep.stacks) AppendLine(text, "stack", stack);
  if (!plans_differ) AppendCounts(text, sweep, sweep.plans.front());
  if (sweep.reference_accuracy) {
    AppendLine(text, "reference_accuracy", ToText(SettingValue(*sweep.reference_accuracy)));
  }
  if (sweep.until) {
    AppendLine(text, "until", Name(sweep.until->figure));
    AppendLine(text, "half_width", ToText(SettingValue(sweep.until->half_width)));
    AppendLine(text, "most", std::to_string(sweep.until->most));
  }
  return text;
}

}  // namespace noisefloor::sweep
