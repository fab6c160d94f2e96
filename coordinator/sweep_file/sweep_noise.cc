// The noise plans of a sweep file.
#include <algorithm>
#include <array>

#include "fmt/format.h"

#include "common/base/nearest.h"
#include "common/base/noise_source.h"
#include "common/base/sweep_limits.h"
#include "common/rpc/kinds.h"
#include "coordinator/sweep_file/sweep_reader.h"

namespace noisefloor::sweep_file {

namespace {

constexpr std::array<std::string_view, 4> kBuiltInPlans = {"control", "algo", "impl", "algo+impl"};
constexpr std::array<std::string_view, 3> kStates = {"off", "fixed", "free"};
constexpr size_t kMaxPlanName = 100;

bool IsBuiltIn(std::string_view name) {
  return std::ranges::find(kBuiltInPlans, name) != kBuiltInPlans.end();
}

std::string_view NearestPlanKey(std::string_view key) {
  if (key == "plan") return "name";
  std::vector<std::string_view> known = {"name",  "base",   "replicates",  "blocks",
                                         "cross", "levels", "pick_freeze", "repeats"};
  for (const NoiseSource source : kAllNoiseSources) known.push_back(Name(source));
  return Nearest(key, known);
}

std::string ReadBuiltInName(SweepReader& reader, const std::string& path, const YamlNode& node) {
  if (node.IsScalar() && IsBuiltIn(node.text)) return node.text;
  const std::string hint = node.IsScalar() ? DidYouMean(node.text, kBuiltInPlans) : "";
  reader.Refuse(node.place, path,
                "expected one of control, algo, impl, algo+impl, got " + Found(node) + hint);
  return "";
}

// "{levels: [0, 0, 1, 1]}"
void ReadLevelsRule(SweepReader& reader, v1::NoisePlan& plan, const std::string& path,
                    NoiseSource source, const YamlNode& node) {
  v1::SourceRule& rule = *plan.add_rules();
  rule.set_source(std::string(Name(source)));
  rule.set_state(v1::SOURCE_STATE_FREE);
  reader.EachKey(node, path, [&](const std::string& key, Place place, const YamlNode& value) {
    const std::string value_path = path + "." + key;
    if (key != "levels") return reader.RefuseUnknownKey(place, value_path, "levels");
    reader.places[value_path] = value.place;
    ReadLevels(reader, rule, value_path, value);
  });
  if (node.items.empty()) reader.Refuse(node.place, path, "expected levels: [0, 1, ...]");
}

void ReadRule(SweepReader& reader, v1::NoisePlan& plan, const std::string& path, NoiseSource source,
              const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kMap) return ReadLevelsRule(reader, plan, path, source, node);
  const auto state = node.IsScalar() ? ParseSourceState(node.text) : std::nullopt;
  if (!state) {
    // "true" is as near to "free" as "fre" is, and means something else.
    const bool boolean = node.text == "true" || node.text == "false";
    const std::string hint = node.IsScalar() && !boolean ? DidYouMean(node.text, kStates) : "";
    reader.Refuse(node.place, path,
                  "expected one of off, fixed, free or {levels: [...]}, got " + Found(node) + hint);
    return;
  }
  v1::SourceRule& rule = *plan.add_rules();
  rule.set_source(std::string(Name(source)));
  rule.set_state(ToProto(*state));
}

void ReadPlanKey(SweepReader& reader, v1::NoisePlan& plan, const std::string& plan_path,
                 const std::string& key, Place place, const YamlNode& node) {
  const std::string path = plan_path + "." + key;
  reader.places[path] = node.place;
  if (key == "name") {
    plan.set_name(reader.Text(node, path, kMaxPlanName));
  } else if (key == "base") {
    plan.set_base(ReadBuiltInName(reader, path, node));
  } else if (key == "replicates") {
    plan.set_replicates(reader.Count(node, path, sweep::kMaxMembers));
  } else if (key == "blocks") {
    plan.set_blocks(reader.Count(node, path, sweep::kMaxBlocks));
  } else if (const auto source = ParseNoiseSource(key)) {
    ReadRule(reader, plan, path, *source, node);
  } else {
    reader.RefuseUnknownKey(place, path, NearestPlanKey(key));
  }
}

// `name`: of a plan that states none; "": it has to.
v1::NoisePlan ReadOwnPlan(SweepReader& reader, const std::string& path, const YamlNode& node,
                          const std::string& name = "") {
  v1::NoisePlan plan;
  const size_t mistakes_before = reader.mistakes.size();
  bool named = false;
  bool changed = false;  // Not only how often it is repeated.
  CrossingNodes crossing;
  reader.EachKey(node, path, [&](const std::string& key, Place place, const YamlNode& value) {
    named = named || key == "name";
    changed = changed || key == "base" || key == "cross" || key == "levels" ||
              key == "pick_freeze" || ParseNoiseSource(key).has_value();
    if (key == "pick_freeze") {
      crossing.pick_freeze = &value;
    } else if (key == "repeats") {
      crossing.repeats = &value;
    } else if (key == "cross") {
      crossing.cross = &value;
    } else if (key == "levels") {
      crossing.levels = &value;
    } else {
      ReadPlanKey(reader, plan, path, key, place, value);
    }
  });
  ReadCrossing(reader, plan, path, crossing);
  if (!named && !name.empty()) {
    plan.set_name(name);
  } else if (!named) {
    reader.Refuse(node.place, path, "expected a name for this plan: {name: ..., ...}");
  } else if (IsBuiltIn(plan.name()) && changed) {
    reader.Refuse(
        node.place, path + ".name",
        fmt::format("expected a name of your own, got {}, which is a built-in plan", plan.name()));
  }
  // A slip in a built-in plan's name would make it a control.
  const bool counted = plan.replicates() != 0 || plan.blocks() != 0;
  if (named && counted && !changed && !plan.name().empty() && !IsBuiltIn(plan.name())) {
    reader.Refuse(reader.places[path + ".name"], path + ".name",
                  fmt::format("expected control, algo, impl or algo+impl, or a base or a source of "
                              "a plan of your own, got only {}{}",
                              plan.name(), DidYouMean(plan.name(), kBuiltInPlans)));
  }
  if (!named && !changed && mistakes_before == reader.mistakes.size()) {
    reader.Refuse(
        node.place, path,
        "expected cross, pick_freeze, a base or the state of a source, or nothing varies");
  }
  // Without rules and base it would be taken for a built-in plan's name.
  if (plan.rules().empty() && plan.base().empty() && !IsBuiltIn(plan.name()) &&
      mistakes_before == reader.mistakes.size()) {
    plan.set_base("control");
  }
  return plan;
}

v1::NoisePlan ReadPlan(SweepReader& reader, const std::string& path, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kMap) return ReadOwnPlan(reader, path, node);
  v1::NoisePlan plan;
  if (node.IsScalar() && IsBuiltIn(node.text)) {
    plan.set_name(node.text);
    return plan;
  }
  const std::string hint = node.IsScalar() ? DidYouMean(node.text, kBuiltInPlans) : "";
  reader.Refuse(node.place, path,
                "expected control, algo, impl, algo+impl or a map {name: ..., init: free, ...}, "
                "got " +
                    Found(node) + hint);
  return plan;
}

}  // namespace

void ReadNoise(SweepReader& reader, const YamlNode& node) {
  if (!reader.IsListOf(node, "noise", "noise plans", sweep::kMaxPlans)) return;
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string path = fmt::format("noise[{}]", i);
    reader.places[path] = node.items[i].place;
    v1::NoisePlan plan = ReadPlan(reader, path, node.items[i]);
    const auto [before, fresh] = first.emplace(plan.name(), i);
    if (!fresh && !plan.name().empty()) {
      reader.Refuse(node.items[i].place, path,
                    fmt::format("expected different names, got {} again, as in noise[{}]",
                                plan.name(), before->second));
    }
    *reader.sweep.add_noise() = std::move(plan);
  }
}

// One more plan, whose name is its own where it states none.
void ReadDesign(SweepReader& reader, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMap) {
    return reader.Refuse(
        node.place, "design",
        "expected a map {cross: [init, data_order], levels: 2, blocks: 6}, got " + Found(node));
  }
  reader.design = fmt::format("noise[{}]", reader.sweep.noise_size());
  v1::NoisePlan plan = ReadOwnPlan(reader, "design", node, "design");
  for (const v1::NoisePlan& other : reader.sweep.noise()) {
    if (!plan.name().empty() && other.name() == plan.name()) {
      reader.Refuse(
          node.place, "design",
          fmt::format("expected another name than {}, which a plan of noise has", plan.name()));
    }
  }
  *reader.sweep.add_noise() = std::move(plan);
}

}  // namespace noisefloor::sweep_file
