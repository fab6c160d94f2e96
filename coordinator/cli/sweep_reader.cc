#include "coordinator/cli/sweep_reader.h"

#include "fmt/format.h"

#include "coordinator/cli/yaml_scalar.h"

namespace noisefloor::cli {

void SweepReader::Refuse(Place place, std::string path, std::string message) {
  mistakes.push_back({place, std::move(path), std::move(message)});
}

void SweepReader::RefuseUnknownKey(Place place, const std::string& path, std::string_view nearest) {
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

uint32_t SweepReader::Count(const YamlNode& node, const std::string& path, uint32_t most) {
  const auto value = AsUnsigned(node);
  if (value && *value >= 1 && *value <= most) return static_cast<uint32_t>(*value);
  Refuse(node.place, path,
         fmt::format("expected an integer from 1 to {}, got {}", most, Found(node)));
  return 0;
}

}  // namespace noisefloor::cli
