// The settings of the base training and of the axes.
#include <algorithm>

#include "fmt/format.h"

#include "common/base/sweep_limits.h"
#include "common/rpc/settings.h"
#include "coordinator/sweep_file/sweep_reader.h"
#include "coordinator/sweep_file/yaml_scalar.h"

namespace noisefloor::sweep_file {

namespace {

constexpr size_t kMaxAxisValues = 10'000;

void ReadSetting(SweepReader& reader, const SettingRule& rule, Place key, const YamlNode& node) {
  const std::string& path = rule.path;
  const bool seen_below = std::ranges::any_of(
      reader.sweep.training(), [&](const v1::Setting& setting) { return setting.path() == path; });
  if (seen_below) {
    reader.Refuse(key, path, "expected once, got a second value");
    return;
  }
  const auto value = AsSetting(rule, node);
  if (!value.ok()) {
    reader.Refuse(node.place, path, Message(value.status()));
    return;
  }
  reader.places[path] = node.place;
  v1::Setting& setting = *reader.sweep.add_training();
  setting.set_path(path);
  *setting.mutable_value() = ToProto(*value);
}

// One column of an axis: the path and its values.
struct Column {
  const SettingRule* rule = nullptr;
  v1::AxisColumn proto;
};

void RefuseAxis(SweepReader& reader, const std::string& path, Place key,
                const std::string& place_path) {
  const std::vector<SettingRule>& rules = reader.schema->rules();
  const auto below = std::ranges::find_if(
      rules, [&](const SettingRule& rule) { return rule.path.starts_with(path + "."); });
  if (below != rules.end()) {
    reader.Refuse(
        key, place_path,
        fmt::format("expected one setting, such as {}, got the section {}", below->path, path));
  } else if (path == "seed" || path == "replicates") {
    reader.Refuse(key, place_path,
                  path +
                      " is the sweep's own and no axis; replicates and blocks repeat a cell "
                      "with other draws");
  } else {
    reader.RefuseUnknownKey(key, place_path, reader.schema->Nearest(path));
  }
}

Column ReadColumn(SweepReader& reader, const std::string& path, Place key, const YamlNode& node,
                  const std::string& place_prefix) {
  Column column;
  column.rule = reader.schema->Find(path);
  const std::string place_path = place_prefix + path;
  if (column.rule == nullptr) {
    RefuseAxis(reader, path, key, place_path);
    return column;
  }
  reader.places[place_path] = node.place;
  if (!reader.IsListOf(node, place_path, "values", kMaxAxisValues)) return column;
  column.proto.set_path(path);
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string item_path = fmt::format("{}[{}]", place_path, i);
    reader.places[item_path] = node.items[i].place;
    // The coordinator does not know which axes were zipped.
    reader.places.emplace(fmt::format("axes.{}[{}]", path, i), node.items[i].place);
    const auto value = AsSetting(*column.rule, node.items[i]);
    if (!value.ok()) {
      reader.Refuse(node.items[i].place, item_path, Message(value.status()));
    } else {
      *column.proto.add_values() = ToProto(*value);
    }
  }
  return column;
}

// The same path may be varied once only, over all axes.
void AddAxis(SweepReader& reader, v1::Axis axis, Place place, const std::string& path) {
  if (axis.columns().empty()) return;
  for (const v1::AxisColumn& column : axis.columns()) {
    if (!IsVaried(reader.sweep, column.path())) continue;
    reader.Refuse(place, path,
                  fmt::format("expected each setting on one axis, got {} on two", column.path()));
    return;
  }
  // The coordinator names axes by number.
  const std::string number = fmt::format("axes[{}]", reader.sweep.axes_size());
  reader.places[number] = place;
  for (int c = 0; c < axis.columns_size(); ++c) {
    const std::string& column = axis.columns(c).path();
    reader.places.emplace("axes." + column, place);
    reader.places[fmt::format("{}.columns[{}]", number, c)] = place;
  }
  *reader.sweep.add_axes() = std::move(axis);
}

void ReadZip(SweepReader& reader, const std::string& path, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMap || node.items.empty()) {
    reader.Refuse(node.place, path,
                  "expected a map of settings to lists of equal length, got " + Found(node));
    return;
  }
  v1::Axis axis;
  std::string first;
  size_t length = 0;
  reader.EachKey(node, path, [&](const std::string& key, Place place, const YamlNode& values) {
    Column column = ReadColumn(reader, key, place, values, path + ".");
    if (column.rule == nullptr || values.kind != YamlNode::Kind::kList) return;
    reader.places.emplace("axes." + key, values.place);
    if (first.empty()) {
      first = key;
      length = values.items.size();
    } else if (values.items.size() != length) {
      reader.Refuse(values.place, path + "." + key,
                    fmt::format("expected {} values, as many as {} has, got {}", length, first,
                                values.items.size()));
    }
    *axis.add_columns() = std::move(column.proto);
  });
  AddAxis(reader, std::move(axis), node.place, path);
}

void ReadZips(SweepReader& reader, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kList) return ReadZip(reader, "axes.zip", node);
  if (!reader.IsListOf(node, "axes.zip", "maps", sweep::kMaxAxes)) return;
  for (size_t i = 0; i < node.items.size(); ++i) {
    ReadZip(reader, fmt::format("axes.zip[{}]", i), node.items[i]);
  }
}

}  // namespace

void ReadSection(SweepReader& reader, const std::string& path, Place key, const YamlNode& node) {
  if (const SettingRule* rule = reader.schema->Find(path)) {
    return ReadSetting(reader, *rule, key, node);
  }
  const bool group = reader.schema->HasSection(path);
  if (node.kind == YamlNode::Kind::kMap && (group || !node.items.empty())) {
    reader.places.emplace(path, key);
    reader.EachKey(node, path, [&](const std::string& name, Place place, const YamlNode& value) {
      ReadSection(reader, path + "." + name, place, value);
    });
  } else if (group) {
    reader.Refuse(node.place, path, "expected a map of settings, got " + Found(node));
  } else {
    reader.RefuseUnknownKey(key, path, reader.schema->Nearest(path));
  }
}

void ReadAxes(SweepReader& reader, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMap || node.items.empty()) {
    reader.Refuse(node.place, "axes",
                  "expected a map of settings to lists of values, got " + Found(node));
    return;
  }
  reader.EachKey(node, "axes", [&](const std::string& key, Place place, const YamlNode& values) {
    if (key == "zip") return ReadZips(reader, values);
    Column column = ReadColumn(reader, key, place, values, "axes.");
    if (column.proto.path().empty()) return;
    v1::Axis axis;
    *axis.add_columns() = std::move(column.proto);
    AddAxis(reader, std::move(axis), values.place, "axes." + key);
  });
  const auto count = static_cast<uint32_t>(reader.sweep.axes_size());
  if (count <= sweep::kMaxAxes) return;
  reader.Refuse(node.place, "axes",
                fmt::format("expected at most {} axes, got {}", sweep::kMaxAxes, count));
}

}  // namespace noisefloor::sweep_file
