#include "coordinator/sweep_file/sweep_reader.h"

#include <algorithm>

#include "fmt/format.h"

#include "common/base/nearest.h"
#include "coordinator/sweep_file/yaml_scalar.h"

namespace noisefloor::sweep_file {

void SweepReader::Refuse(Place place, std::string path, std::string message) {
  mistakes.push_back({place, std::move(path), std::move(message)});
}

bool IsVaried(const v1::Sweep& sweep, const std::string& setting) {
  return std::ranges::any_of(sweep.axes(), [&](const v1::Axis& axis) {
    return std::ranges::any_of(
        axis.columns(), [&](const v1::AxisColumn& column) { return column.path() == setting; });
  });
}

void SweepReader::RefuseUnknownKey(Place place, const std::string& path, std::string_view nearest) {
  // {learning_rate: 0,05} is read as learning_rate: 0 and a key 05.
  const std::string_view last = std::string_view(path).substr(path.rfind('.') + 1);
  if (last.find_first_not_of("0123456789") == std::string_view::npos) {
    return Refuse(place, path,
                  fmt::format("expected a key, got {0}; in a decimal number a point stands before "
                              "it: 0.{0}, not 0,{0}",
                              last));
  }
  Refuse(place, path,
         nearest.empty() ? "unknown key" : fmt::format("unknown key; did you mean {}?", nearest));
}

void SweepReader::EachKey(
    const YamlNode& map, const std::string& prefix,
    const std::function<void(const std::string&, Place, const YamlNode&)>& visit) {
  std::map<std::string, Place> first;
  for (size_t i = 0; i < map.keys.size(); ++i) {
    const auto& [key, place] = map.keys[i];
    const auto [before, fresh] = first.emplace(key, place);
    if (fresh) {
      visit(key, place, map.items[i]);
    } else {
      Refuse(
          place, prefix.empty() ? key : prefix + "." + key,
          fmt::format("expected each key once, got it again after line {}", before->second.line));
    }
  }
}

bool SweepReader::IsListOf(const YamlNode& node, const std::string& path, std::string_view what,
                           size_t most) {
  if (node.kind != YamlNode::Kind::kList || node.items.empty()) {
    Refuse(node.place, path, fmt::format("expected a list of {}, got {}", what, Found(node)));
    return false;
  }
  if (node.items.size() > most) {
    Refuse(node.place, path,
           fmt::format("expected at most {} {}, got {}", most, what, node.items.size()));
    return false;
  }
  return true;
}

std::string SweepReader::Text(const YamlNode& node, const std::string& path, size_t most) {
  if (node.IsScalar() && !node.text.empty() && node.text.size() <= most) return node.text;
  const std::string got =
      node.IsScalar() && node.text.size() > most ? std::to_string(node.text.size()) : Found(node);
  Refuse(node.place, path, fmt::format("expected a text of 1 to {} bytes, got {}", most, got));
  return "";
}

uint32_t SweepReader::Count(const YamlNode& node, const std::string& path, uint32_t most,
                            uint32_t least) {
  const auto value = AsUnsigned(node);
  if (value && *value >= least && *value <= most) return static_cast<uint32_t>(*value);
  Refuse(node.place, path,
         fmt::format("expected an integer from {} to {}, got {}", least, most, Found(node)));
  return 0;
}

std::string DidYouMean(std::string_view wrong, std::span<const std::string_view> known) {
  const std::string_view nearest = Nearest(wrong, known);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

}  // namespace noisefloor::sweep_file
