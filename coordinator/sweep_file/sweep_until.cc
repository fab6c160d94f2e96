// "until: {figure: churn, half_width: 0.5%, most: 60}"
#include <array>
#include <optional>
#include <set>
#include <string>

#include "fmt/format.h"

#include "common/base/nearest.h"
#include "common/base/share.h"
#include "common/base/sweep_limits.h"
#include "coordinator/sweep_file/sweep_reader.h"

namespace noisefloor::sweep_file {

namespace {

constexpr size_t kMostFigure = 100;  // Bytes. Which there are the coordinator knows.
constexpr std::array<std::string_view, 3> kUntilKeys = {"figure", "half_width", "most"};

void ReadHalfWidth(SweepReader& reader, const YamlNode& node, v1::Until& until) {
  const std::optional<double> width = node.IsScalar() ? ParseShare(node.text) : std::nullopt;
  if (width && *width >= sweep::kLeastHalfWidth && *width < sweep::kMostHalfWidth)
    return until.set_half_width(*width);
  reader.Refuse(
      node.place, "until.half_width",
      "expected a share of the answers from 0.01% to below 10%, such as 0.5%, got " + Found(node));
}

}  // namespace

void ReadUntil(SweepReader& reader, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMap) {
    return reader.Refuse(
        node.place, "until",
        "expected {figure: churn, half_width: 0.5%, most: 60}, got " + Found(node));
  }
  v1::Until& until = *reader.sweep.mutable_until();
  std::set<std::string> given;
  reader.EachKey(node, "until", [&](const std::string& key, Place place, const YamlNode& value) {
    const std::string path = "until." + key;
    reader.places.emplace(path, value.place);
    given.insert(key);
    if (key == "figure") return until.set_figure(reader.Text(value, path, kMostFigure));
    if (key == "half_width") return ReadHalfWidth(reader, value, until);
    if (key == "most") return until.set_most(reader.Count(value, path, sweep::kMaxMembers));
    reader.RefuseUnknownKey(place, path, Nearest(key, kUntilKeys));
  });
  for (const std::string_view key : kUntilKeys) {
    if (given.contains(std::string(key))) continue;
    reader.Refuse(node.place, "until", fmt::format("expected {} in it, got none", key));
  }
}

}  // namespace noisefloor::sweep_file
