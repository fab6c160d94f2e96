// What the parts of the sweep file's reader share: the sweep that grows, places and mistakes.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/trainer_protocol/schema.h"
#include "coordinator/sweep_file/yaml_tree.h"
#include "noisefloor/v1/sweep.pb.h"

namespace noisefloor::sweep_file {

struct SweepReader {
  SettingsSchemaRef schema;  // Whose settings the sweep has. shared: immutable.
  v1::Sweep sweep;
  std::map<std::string, Place> places;
  std::vector<Mistake> mistakes;
  bool measures = false;  // The file says `kind: measure`.
  std::string design;     // "noise[2]": where `design` stands in the list; "": there is none.

  void Refuse(Place place, std::string path, std::string message);
  void RefuseUnknownKey(Place place, const std::string& path, std::string_view nearest);
  // Calls `visit` for every key of a map; a key given twice is refused, with its first place.
  void EachKey(const YamlNode& map, const std::string& prefix,
               const std::function<void(const std::string& key, Place, const YamlNode&)>& visit);
  // A list that is not empty and not longer than `most`, or a mistake and false.
  bool IsListOf(const YamlNode& node, const std::string& path, std::string_view what, size_t most);
  // A text of at most `most` bytes, or a mistake and empty.
  std::string Text(const YamlNode& node, const std::string& path, size_t most);
  // An integer from `least` to `most`, or a mistake and 0.
  uint32_t Count(const YamlNode& node, const std::string& path, uint32_t most, uint32_t least = 1);
};

// "; did you mean free?", or nothing where none is near.
std::string DidYouMean(std::string_view wrong, std::span<const std::string_view> known);

// Whether an axis says the values of this setting.
bool IsVaried(const v1::Sweep& sweep, const std::string& setting);

// "model: {...}" and so on: every setting below the section.
void ReadSection(SweepReader& reader, const std::string& path, Place key, const YamlNode& node);
void ReadAxes(SweepReader& reader, const YamlNode& node);

// "kind": train or measure. Once all of the file is read, FinishKind makes the settings say it.
void ReadKind(SweepReader& reader, const YamlNode& node);
void FinishKind(SweepReader& reader);
void ReadNoise(SweepReader& reader, const YamlNode& node);
void ReadUntil(SweepReader& reader, const YamlNode& node);
// "design: {cross: [...], levels: 2, blocks: 6}": one more plan, after those of `noise`.
void ReadDesign(SweepReader& reader, const YamlNode& node);

// The levels of one source.
void ReadLevels(SweepReader& reader, v1::SourceRule& rule, const std::string& path,
                const YamlNode& node);
// The design of a plan, where it says one; null: it does not.
struct CrossingNodes {
  const YamlNode* cross = nullptr;
  const YamlNode* levels = nullptr;
  const YamlNode* pick_freeze = nullptr;
  const YamlNode* repeats = nullptr;
};
// Adds the rules of the design to the plan at `path`, whose other keys are read: all combinations,
// or pick and freeze. As many replicates as it has points, where the plan states none.
void ReadCrossing(SweepReader& reader, v1::NoisePlan& plan, const std::string& path,
                  const CrossingNodes& nodes);

}  // namespace noisefloor::sweep_file
