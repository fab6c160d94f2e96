// A YAML text as a tree in which everything has its place. The only file that meets yaml-cpp.
//
// Narrower than YAML on purpose: one document, no anchors, no aliases (so no alias bombs), no
// tags, no tabs in indentation. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace noisefloor::sweep_file {

struct Place {  // From 1, as editors count.
  int line = 1;
  int column = 1;
  friend auto operator<=>(const Place&, const Place&) = default;
};

struct Mistake {
  Place place;
  std::string path;  // "train.epochs"; empty: of the file as a whole.
  std::string message;
};

struct YamlNode {
  enum class Kind { kNothing, kPlain, kQuoted, kList, kMap } kind = Kind::kNothing;
  Place place;
  std::string text = {};                                 // Of a plain or quoted scalar.
  std::vector<YamlNode> items = {};                      // Of a list; the values of a map.
  std::vector<std::pair<std::string, Place>> keys = {};  // Of a map, beside `items`.

  bool IsScalar() const { return kind == Kind::kPlain || kind == Kind::kQuoted; }
};

struct YamlLimits {
  size_t bytes = 1 << 20;
  size_t nodes = 200'000;
};

// Appends what is wrong to `mistakes`; then the tree is not to be used.
YamlNode ParseYaml(std::string_view text, const YamlLimits& limits, std::vector<Mistake>& mistakes);

// What was found, for messages: "a list", "nothing", "the text \"3\"", "0x10".
std::string Found(const YamlNode& node);

}  // namespace noisefloor::sweep_file
