#include "coordinator/sweep_file/sweep_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/nearest.h"
#include "common/base/sweep_limits.h"
#include "common/files/atomic_file.h"
#include "common/rpc/status.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/sweep_file/sweep_reader.h"
#include "coordinator/sweep_file/yaml_scalar.h"

namespace noisefloor::sweep_file {

namespace {

constexpr YamlLimits kLimits;
constexpr size_t kMostShown = 50;
constexpr size_t kMostNames = 64;
constexpr size_t kMostNameBytes = 100;
constexpr std::array<std::string_view, 2> kHardwareWords = {"all", "any"};

// Besides the settings and their sections.
constexpr std::array<std::string_view, 14> kKeys = {"name",
                                                    "kind",
                                                    "seed",
                                                    "axes",
                                                    "noise",
                                                    "design",
                                                    "hardware",
                                                    "stacks",
                                                    "replicates",
                                                    "blocks",
                                                    "reference_accuracy",
                                                    "until",
                                                    "notes",
                                                    "tags"};

const std::string& FirstOf(const std::pair<std::string, Place>& key) { return key.first; }

void ReadName(SweepReader& reader, const YamlNode& node) {
  const bool known_characters = std::ranges::all_of(node.text, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!node.IsScalar() || node.text.empty() || node.text.size() > 100 || !known_characters) {
    reader.Refuse(node.place, "name",
                  "expected 1 to 100 letters, digits, '-', '_' or '.', got " + Found(node));
    return;
  }
  reader.sweep.set_name(node.text);
}

void ReadSeed(SweepReader& reader, const YamlNode& node) {
  if (const auto value = AsUnsigned(node)) return reader.sweep.set_seed(*value);
  reader.Refuse(node.place, "seed",
                fmt::format("expected an integer from 0 to {}, got {}",
                            std::numeric_limits<uint64_t>::max(), Found(node)));
}

void ReadReference(SweepReader& reader, const YamlNode& node) {
  const auto value = AsNumber(node);
  if (value && *value > 0 && *value <= 1) return reader.sweep.set_reference_accuracy(*value);
  reader.Refuse(node.place, "reference_accuracy",
                "expected a number above 0 and at most 1 (0.85 for 85 %), got " + Found(node));
}

// A list of names, or one.
std::vector<std::string> ReadNames(SweepReader& reader, const std::string& path,
                                   const YamlNode& node) {
  std::vector<std::string> names;
  if (node.IsScalar()) return {reader.Text(node, path, kMostNameBytes)};
  if (!reader.IsListOf(node, path, "names", kMostNames)) return names;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string item_path = fmt::format("{}[{}]", path, i);
    reader.places[item_path] = node.items[i].place;
    const std::string name = reader.Text(node.items[i], item_path, kMostNameBytes);
    if (!name.empty() && std::ranges::find(names, name) != names.end()) {
      reader.Refuse(node.items[i].place, item_path,
                    "expected different names, got " + name + " again");
    }
    names.push_back(name);
  }
  return names;
}

void ReadHardware(SweepReader& reader, const YamlNode& node) {
  v1::HardwareChoice& choice = *reader.sweep.mutable_hardware();
  // Quoted, too, as in JSON; in a list they are names of classes.
  if (node.IsScalar() && (node.text == "all" || node.text == "any")) {
    choice.set_kind(node.text == "all" ? v1::HardwareChoice::KIND_ALL
                                       : v1::HardwareChoice::KIND_ANY);
    return;
  }
  if (!node.IsScalar() && node.kind != YamlNode::Kind::kList) {
    reader.Refuse(node.place, "hardware",
                  "expected all, any, a hardware class or a list of them, got " + Found(node));
    return;
  }
  choice.set_kind(v1::HardwareChoice::KIND_LIST);
  for (const std::string& name : ReadNames(reader, "hardware", node)) choice.add_classes(name);
  for (size_t i = 0; i < node.items.size(); ++i) {
    const YamlNode& item = node.items[i];
    if (item.kind != YamlNode::Kind::kPlain || ParseHardwareClass(item.text, false).ok()) continue;
    reader.Refuse(item.place, fmt::format("hardware[{}]", i),
                  fmt::format("expected {}, got {}", kHardwareClassNames, item.text));
  }
  const bool is_word = node.kind == YamlNode::Kind::kPlain && node.text.size() <= kMostNameBytes;
  if (!is_word || ParseHardwareClass(node.text, false).ok()) return;
  const std::string_view nearest = Nearest(node.text, kHardwareWords);
  reader.Refuse(
      node.place, "hardware",
      fmt::format("expected all, any, a list of classes, or {}, got {}{}", kHardwareClassNames,
                  node.text, nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

void ReadStacks(SweepReader& reader, const std::string& key, const YamlNode& node) {
  if (key == "stack" && node.kind == YamlNode::Kind::kList) {
    reader.Refuse(node.place, key, "expected one stack, got " + Found(node) + "; use stacks");
    return;
  }
  if (!reader.sweep.stacks().empty()) {
    reader.Refuse(node.place, key, "expected stack or stacks, got both");
    return;
  }
  for (const std::string& name : ReadNames(reader, key, node)) reader.sweep.add_stacks(name);
  reader.places.emplace("stacks", node.place);
}

void ReadTags(SweepReader& reader, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMap || node.items.size() > sweep::kMaxTags) {
    reader.Refuse(
        node.place, "tags",
        fmt::format(
            "expected a map of at most {} names to texts, got {}", sweep::kMaxTags,
            node.kind == YamlNode::Kind::kMap ? std::to_string(node.items.size()) : Found(node)));
    return;
  }
  reader.EachKey(node, "tags", [&](const std::string& key, Place, const YamlNode& value) {
    const bool empty = value.kind == YamlNode::Kind::kQuoted && value.text.empty();
    (*reader.sweep.mutable_tags())[key] =
        empty ? "" : reader.Text(value, "tags." + key, sweep::kMaxTagBytes);
  });
}

std::string_view FirstPart(std::string_view path) { return path.substr(0, path.find('.')); }

bool IsSetting(const SettingsSchema& schema, const std::string& key) {
  const std::string_view first = FirstPart(key);
  return schema.Find(key) != nullptr || schema.Find(first) != nullptr || schema.HasSection(first);
}

std::vector<std::string_view> KnownKeys(const SettingsSchema& schema) {
  std::vector<std::string_view> known(kKeys.begin(), kKeys.end());
  for (const SettingRule& rule : schema.rules()) {
    const std::string_view first = FirstPart(rule.path);
    if (known.back() != first) known.push_back(first);
  }
  return known;
}

// "optimizer" is a part of a setting's path before it is a slip of another key.
std::string_view NearestKey(const SettingsSchema& schema, const std::string& key) {
  const std::string_view setting = schema.Nearest(key);
  if (setting.ends_with("." + key)) return setting;
  const std::string_view nearest = Nearest(key, KnownKeys(schema));
  return nearest.empty() ? setting : nearest;
}

void ReadKey(SweepReader& reader, const std::string& key, Place place, const YamlNode& node) {
  reader.places.emplace(key, node.place);
  if (key == "name") return ReadName(reader, node);
  if (key == "kind") return ReadKind(reader, node);
  if (key == "seed") return ReadSeed(reader, node);
  if (key == "replicates") {
    return reader.sweep.set_replicates(reader.Count(node, key, sweep::kMaxMembers));
  }
  if (key == "blocks") return reader.sweep.set_blocks(reader.Count(node, key, sweep::kMaxBlocks));
  if (key == "reference_accuracy") return ReadReference(reader, node);
  if (key == "until") return ReadUntil(reader, node);
  if (key == "axes") return ReadAxes(reader, node);
  if (key == "noise") return ReadNoise(reader, node);
  if (key == "design") return;  // After all of `noise`.
  if (key == "hardware") return ReadHardware(reader, node);
  if (key == "stacks" || key == "stack") return ReadStacks(reader, key, node);
  if (key == "notes") return reader.sweep.set_notes(reader.Text(node, key, sweep::kMaxNotesBytes));
  if (key == "tags") return ReadTags(reader, node);
  if (IsSetting(*reader.schema, key)) return ReadSection(reader, key, place, node);
  reader.RefuseUnknownKey(place, key, NearestKey(*reader.schema, key));
}

void ReadAll(SweepReader& reader, const YamlNode& root) {
  if (root.kind != YamlNode::Kind::kMap) {
    reader.Refuse(root.place, "", "expected a map (name: ..., noise: ...), got " + Found(root));
    return;
  }
  const bool has_until = std::ranges::count(root.keys, "until", FirstOf) > 0;
  reader.sweep.set_replicates(has_until ? sweep::kUsualPilot : 1);
  reader.sweep.set_blocks(1);
  reader.sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_ALL);
  reader.EachKey(root, "", [&](const std::string& key, Place place, const YamlNode& node) {
    ReadKey(reader, key, place, node);
  });
  const auto design = std::ranges::find(root.keys, "design", FirstOf);
  if (design != root.keys.end()) {
    ReadDesign(reader, root.items[static_cast<size_t>(design - root.keys.begin())]);
  }
  FinishKind(reader);
  const auto required = [&](const std::string& key, const std::string& what) {
    const bool given = std::ranges::any_of(root.keys, [&](const auto& k) {
      return k.first == key || (key == "noise" && k.first == "design");
    });
    if (!given) reader.Refuse({}, key, "expected " + what + ", got nothing");
  };
  required("name", "a name for the sweep");
  required("noise", "a list of noise plans, such as [control, algo, impl]");
}

std::string Line(const std::string& file, const Mistake& mistake) {
  return fmt::format("{}:{}:{}: {}{}{}", file, mistake.place.line, mistake.place.column,
                     mistake.path, mistake.path.empty() ? "" : ": ", mistake.message);
}

absl::Status ToStatus(const std::string& file, std::vector<Mistake> mistakes) {
  std::ranges::stable_sort(mistakes, {}, &Mistake::place);
  std::string text;
  for (size_t i = 0; i < mistakes.size() && i < kMostShown; ++i) {
    text += (i == 0 ? "" : "\n") + Line(file, mistakes[i]);
  }
  if (mistakes.size() > kMostShown) {
    text += fmt::format("\n{}: and {} more mistakes", file, mistakes.size() - kMostShown);
  }
  return InvalidInput(text);
}

// The first stack that the file names, if it is one word; an empty node otherwise.
YamlNode FirstStack(const YamlNode& root) {
  for (size_t i = 0; i < root.keys.size(); ++i) {
    if (root.keys[i].first != "stack" && root.keys[i].first != "stacks") continue;
    const YamlNode& node = root.items[i];
    const bool lists = node.kind == YamlNode::Kind::kList && !node.items.empty();
    const YamlNode& first = lists ? node.items.front() : node;
    if (first.IsScalar()) return first;
  }
  return {};
}

}  // namespace

absl::StatusOr<SettingsSchemaRef> OwnSettings(const std::string& stack) {
  if (stack.empty() || std::ranges::find(kOwnStacks, stack) != kOwnStacks.end()) {
    return OwnSchema();
  }
  return MakeError(absl::StatusCode::kNotFound,
                   fmt::format("{} is none of the stacks that noisefloor ships ({}); a worker that "
                               "has it tells its coordinator the settings: submit it there, or run "
                               "it here with --trainer \"{}=COMMAND\"",
                               stack, fmt::join(kOwnStacks, ", "), stack));
}

Place PlaceOf(const Places& places, std::string path) {
  while (!path.empty()) {
    if (const auto it = places.find(path); it != places.end()) return it->second;
    const size_t end = path.find_last_of(".[");
    path.resize(end == std::string::npos ? 0 : end);
  }
  return {};
}

absl::StatusOr<Parsed> Parse(std::string_view text, const SchemaSource& settings) {
  SweepReader reader;
  const YamlNode root = ParseYaml(text, kLimits, reader.mistakes);
  if (!reader.mistakes.empty()) return Parsed{{}, {}, std::move(reader.mistakes)};
  const YamlNode stack = FirstStack(root);
  absl::StatusOr<SettingsSchemaRef> schema = settings(stack.text);
  if (absl::IsNotFound(schema.status())) {
    return Parsed{{}, {}, {{stack.place, "stacks", Message(schema.status())}}};
  }
  if (!schema.ok()) return schema.status();
  reader.schema = *std::move(schema);
  ReadAll(reader, root);
  return Parsed{std::move(reader.sweep), std::move(reader.places), std::move(reader.mistakes),
                std::move(reader.design)};
}

absl::StatusOr<SweepFile> ParseSweep(std::string_view text, const std::string& path,
                                     const SchemaSource& settings) {
  NF_ASSIGN_OR_RETURN(Parsed parsed, Parse(text, settings));
  if (!parsed.mistakes.empty()) return ToStatus(path, std::move(parsed.mistakes));
  return SweepFile{path, std::string(text), std::move(parsed.sweep), std::move(parsed.places),
                   std::move(parsed.design)};
}

absl::StatusOr<SweepFile> ReadSweepFile(const std::string& path, const SchemaSource& settings) {
  absl::StatusOr<std::string> text = ReadFile(path, kLimits.bytes);
  if (absl::IsOutOfRange(text.status())) {
    return InvalidInput(
        fmt::format("{}: expected a sweep file of at most {} bytes", path, kLimits.bytes));
  }
  if (!text.ok()) return text.status();
  return ParseSweep(*text, path, settings);
}

absl::Status WithPlaces(const absl::Status& status, const SweepFile& file) {
  const std::optional<v1::BadSweep> bad = BadSweepOf(status);
  if (!bad) return status;
  std::vector<Mistake> mistakes;
  for (const v1::FieldViolation& violation : bad->violations()) {
    std::string field = violation.field();
    if (!file.design.empty() && field.starts_with(file.design)) {
      field = "design" + field.substr(file.design.size());
    }
    mistakes.push_back({PlaceOf(file.places, field), field, violation.description()});
  }
  return ToStatus(file.path, std::move(mistakes));
}

}  // namespace noisefloor::sweep_file
