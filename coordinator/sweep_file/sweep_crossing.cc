// Levels of the sources of a noise plan: a list by hand, the product of some sources, or some
// sources changed one at a time and all but one at a time (pick and freeze).
#include <algorithm>

#include "fmt/format.h"

#include "common/base/noise_source.h"
#include "common/base/sweep_limits.h"
#include "coordinator/sweep_file/sweep_reader.h"
#include "coordinator/sweep_file/yaml_scalar.h"

namespace noisefloor::sweep_file {

namespace {

std::vector<std::string_view> SeededNames() {
  std::vector<std::string_view> names;
  for (const NoiseSource source : kAllNoiseSources) {
    if (!IsPhysical(source)) names.push_back(Name(source));
  }
  return names;
}

// One source of a crossing.
struct Factor {
  std::string source;
  uint32_t levels = 0;
};

bool HasRule(const v1::NoisePlan& plan, const std::string& source) {
  return std::ranges::any_of(plan.rules(),
                             [&](const v1::SourceRule& rule) { return rule.source() == source; });
}

void ReadSource(SweepReader& reader, const v1::NoisePlan& plan, const std::string& path,
                const YamlNode& node, std::vector<Factor>& factors) {
  const auto source = node.IsScalar() ? ParseNoiseSource(node.text) : std::nullopt;
  if (!source || IsPhysical(*source)) {
    std::string got = Found(node);
    if (source) got += ", which has no draws that levels could share";
    if (node.IsScalar() && !source) got += DidYouMean(node.text, SeededNames());
    return reader.Refuse(node.place, path, "expected a seeded noise source, got " + got);
  }
  const bool twice = std::ranges::find(factors, node.text, &Factor::source) != factors.end();
  if (twice || HasRule(plan, node.text)) {
    return reader.Refuse(node.place, path,
                         fmt::format("expected each source once, got {} {}", node.text,
                                     twice ? "again" : "beside a rule of its own"));
  }
  factors.push_back({node.text, 0});
}

// One number for all factors, or one for each.
void ReadLevelCounts(SweepReader& reader, const std::string& path, const YamlNode& node,
                     std::vector<Factor>& factors) {
  if (node.kind != YamlNode::Kind::kList) {
    const uint32_t levels = reader.Count(node, path, sweep::kMaxLevels, 2);
    for (Factor& factor : factors) factor.levels = levels;
    return;
  }
  if (node.items.size() != factors.size()) {
    return reader.Refuse(node.place, path,
                         fmt::format("expected one number for each of {} crossed sources, got {}",
                                     factors.size(), node.items.size()));
  }
  for (size_t i = 0; i < factors.size(); ++i) {
    factors[i].levels =
        reader.Count(node.items[i], fmt::format("{}[{}]", path, i), sweep::kMaxLevels, 2);
  }
}

// `key`: "cross" or "pick_freeze", whose list `node` is.
std::vector<Factor> ReadFactors(SweepReader& reader, const v1::NoisePlan& plan,
                                const std::string& path, const char* key, const YamlNode& node) {
  std::vector<Factor> factors;
  const std::string list = fmt::format("{}.{}", path, key);
  if (!reader.IsListOf(node, list, "seeded noise sources", kAllNoiseSources.size())) {
    return factors;
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    const YamlNode& item = node.items[i];
    ReadSource(reader, plan, fmt::format("{}[{}]", list, i), item, factors);
    if (item.IsScalar()) reader.places[path + "." + item.text] = item.place;
  }
  return factors;
}

// A plan has as many replicates as its design has points, or a multiple of them.
void SetReplicates(SweepReader& reader, v1::NoisePlan& plan, const std::string& path,
                   uint32_t points, std::string_view what) {
  if (plan.replicates() == 0) plan.set_replicates(points);
  if (plan.replicates() % points == 0) return;
  reader.Refuse(
      reader.places[path + ".replicates"], path + ".replicates",
      fmt::format("expected a multiple of {}, the {}, got {}", points, what, plan.replicates()));
}

// As axes do: the last factor varies fastest.
void AddRules(const std::vector<Factor>& factors, v1::NoisePlan& plan) {
  uint32_t run = 1;  // How many replicates in a row have the same level.
  for (size_t i = factors.size(); i-- > 0;) {
    v1::SourceRule& rule = *plan.add_rules();
    rule.set_source(factors[i].source);
    rule.set_state(v1::SOURCE_STATE_FREE);
    for (uint32_t r = 0; r < run * factors[i].levels; ++r) rule.add_levels(r / run);
    run *= factors[i].levels;
  }
}

void ReadCross(SweepReader& reader, v1::NoisePlan& plan, const std::string& path,
               const CrossingNodes& nodes) {
  if (nodes.cross == nullptr || nodes.levels == nullptr) {
    return reader.Refuse((nodes.cross != nullptr ? nodes.cross : nodes.levels)->place, path,
                         "expected cross and levels together: {name: ..., cross: [init, "
                         "data_order], levels: 2}");
  }
  const size_t mistakes_before = reader.mistakes.size();
  std::vector<Factor> factors = ReadFactors(reader, plan, path, "cross", *nodes.cross);
  if (mistakes_before != reader.mistakes.size()) return;
  ReadLevelCounts(reader, path + ".levels", *nodes.levels, factors);
  if (mistakes_before != reader.mistakes.size()) return;
  uint64_t combinations = 1;
  for (const Factor& factor : factors) {
    combinations *= factor.levels;
    if (combinations <= sweep::kMaxLevels) continue;
    return reader.Refuse(
        nodes.levels->place, path + ".levels",
        fmt::format("expected at most {} combinations of levels, got more", sweep::kMaxLevels));
  }
  SetReplicates(reader, plan, path, static_cast<uint32_t>(combinations), "combinations of levels");
  AddRules(factors, plan);
}

// `repeats` members at level 0 of everything; then each source alone at level 1; then all but each.
// So every source alone, and with all that it acts through, is told by pairs of 1 + 2k members.
void ReadPickFreeze(SweepReader& reader, v1::NoisePlan& plan, const std::string& path,
                    const CrossingNodes& nodes) {
  constexpr size_t kLeastSources = 3;
  const size_t mistakes_before = reader.mistakes.size();
  const std::vector<Factor> factors =
      ReadFactors(reader, plan, path, "pick_freeze", *nodes.pick_freeze);
  const uint32_t repeats =
      nodes.repeats == nullptr
          ? 1
          : reader.Count(*nodes.repeats, path + ".repeats", sweep::kMaxLevels / 2);
  if (mistakes_before != reader.mistakes.size()) return;
  if (factors.size() < kLeastSources) {
    return reader.Refuse(
        nodes.pick_freeze->place, path + ".pick_freeze",
        fmt::format("expected three sources or more, got {}; cross them instead", factors.size()));
  }
  const size_t points = repeats + 2 * factors.size();
  for (size_t i = 0; i < factors.size(); ++i) {
    v1::SourceRule& rule = *plan.add_rules();
    rule.set_source(factors[i].source);
    rule.set_state(v1::SOURCE_STATE_FREE);
    for (uint32_t r = 0; r < repeats; ++r) rule.add_levels(0);
    for (size_t one = 0; one < factors.size(); ++one) rule.add_levels(one == i ? 1 : 0);
    for (size_t one = 0; one < factors.size(); ++one) rule.add_levels(one == i ? 0 : 1);
  }
  SetReplicates(reader, plan, path, static_cast<uint32_t>(points), "points of the design");
}

}  // namespace

void ReadLevels(SweepReader& reader, v1::SourceRule& rule, const std::string& path,
                const YamlNode& node) {
  if (!reader.IsListOf(node, path, "levels", sweep::kMaxLevels)) return;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const auto level = AsUnsigned(node.items[i]);
    if (level && *level < sweep::kMaxMembers) {
      rule.add_levels(static_cast<uint32_t>(*level));
      continue;
    }
    reader.Refuse(node.items[i].place, fmt::format("{}[{}]", path, i),
                  fmt::format("expected a level from 0 to {}, got {}", sweep::kMaxMembers - 1,
                              Found(node.items[i])));
  }
}

void ReadCrossing(SweepReader& reader, v1::NoisePlan& plan, const std::string& path,
                  const CrossingNodes& nodes) {
  const bool crosses = nodes.cross != nullptr || nodes.levels != nullptr;
  if (nodes.pick_freeze == nullptr) {
    if (nodes.repeats != nullptr) {
      return reader.Refuse(nodes.repeats->place, path + ".repeats",
                           "expected pick_freeze beside it, whose first point it repeats");
    }
    if (crosses) ReadCross(reader, plan, path, nodes);
    return;
  }
  if (crosses) {
    return reader.Refuse(nodes.pick_freeze->place, path + ".pick_freeze",
                         "expected it without cross and levels");
  }
  ReadPickFreeze(reader, plan, path, nodes);
}

}  // namespace noisefloor::sweep_file
