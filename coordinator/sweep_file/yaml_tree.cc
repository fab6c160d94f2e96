#include "coordinator/sweep_file/yaml_tree.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "fmt/format.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/mark.h"
#include "yaml-cpp/parser.h"

#include "coordinator/sweep_file/yaml_diagnosis.h"

namespace noisefloor::sweep_file {

namespace {

using Kind = YamlNode::Kind;

Place ToPlace(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

// Follows the text as a comment: without it the parser closes the last quote by itself.
constexpr std::string_view kEndMark = "# end";
constexpr size_t kMostDepth = 50;  // Of lists and maps in each other; the parser's stack is finite.

struct TooDeep : std::runtime_error {
  explicit TooDeep(Place where) : std::runtime_error("too deep"), place(where) {}
  Place place;
};

// Builds the tree from the parser's events. After the first mistake it only counts.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(size_t node_limit, std::vector<Mistake>& mistakes)
      : node_limit_(node_limit), mistakes_(mistakes) {}

  YamlNode TakeRoot() { return std::move(root_); }
  Place Start() const { return start_; }

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = ToPlace(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, "?", anchor, Kind::kNothing, "");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "expected a value, got an alias (*name); write the value out");
    Add(mark, "?", 0, Kind::kNothing, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!";
    Add(mark, quoted ? "?" : tag, anchor, quoted ? Kind::kQuoted : Kind::kPlain, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  void Refuse(const YAML::Mark& mark, std::string message) {
    if (mistakes_.size() < 50) mistakes_.push_back({ToPlace(mark), "", std::move(message)});
  }

  void Check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) Refuse(mark, "expected a value, got an anchor (&name); write the value out");
    if (!tag.empty() && tag != "?") {
      Refuse(mark, fmt::format("expected a value, got the tag {}; leave it out", tag));
    }
    if (++nodes_ == node_limit_ + 1) {
      Refuse(mark, fmt::format("expected at most {} values in a sweep file", node_limit_));
    }
  }

  void Add(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind,
           const std::string& text) {
    Check(mark, tag, anchor);
    if (mistakes_.empty()) Put({.kind = kind, .place = ToPlace(mark), .text = text}, mark);
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind) {
    Check(mark, tag, anchor);
    if (open_.size() == kMostDepth) throw TooDeep(ToPlace(mark));
    open_.push_back({.kind = kind, .place = ToPlace(mark)});
    pending_.emplace_back();
    has_pending_.push_back(false);
  }

  void Close() {
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    pending_.pop_back();
    has_pending_.pop_back();
    if (mistakes_.empty()) Put(std::move(node), YAML::Mark::null_mark());
  }

  // As the root, the next item of the open list, or the next key or value of the open map.
  void Put(YamlNode node, const YAML::Mark& mark) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& parent = open_.back();
    if (parent.kind == Kind::kMap && !has_pending_.back()) {
      PutKey(node, mark);
      return;
    }
    if (parent.kind == Kind::kMap) {
      if (node.kind == Kind::kNothing) node.place = pending_.back().second;
      parent.keys.push_back(std::move(pending_.back()));
      has_pending_.back() = false;
    }
    parent.items.push_back(std::move(node));
  }

  void PutKey(const YamlNode& node, const YAML::Mark& mark) {
    if (!node.IsScalar()) {
      mistakes_.push_back({node.place, "", "expected a key, got " + Found(node)});
      return;
    }
    pending_.back() = {node.text, node.place};
    has_pending_.back() = true;
  }

  const size_t node_limit_;
  std::vector<Mistake>& mistakes_;
  size_t nodes_ = 0;
  Place start_;
  YamlNode root_;
  std::vector<YamlNode> open_;                          // The lists and maps not yet closed,
  std::vector<std::pair<std::string, Place>> pending_;  // beside each the key that waits,
  std::vector<bool> has_pending_;                       // if one does.
};

// Length of the UTF-8 sequence that begins at `i`, 0 when it is none.
size_t Utf8Length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// What the parser would understand differently from what a person sees.
void CheckCharacters(std::string_view text, std::vector<Mistake>& mistakes) {
  Place place;
  bool indenting = true;
  for (size_t i = 0; i < text.size() && mistakes.size() < 20;) {
    const size_t length = Utf8Length(text, i);
    const char c = text[i];
    if (length == 0) {
      mistakes.push_back({place, "",
                          fmt::format("expected UTF-8 text, got the byte 0x{:02x}",
                                      static_cast<unsigned char>(c))});
      return;
    }
    if (c == '\t' && indenting) {
      mistakes.push_back({place, "", "expected spaces in the indentation, got a tab"});
      indenting = false;
    } else if ((c >= 0 && c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == 0x7f) {
      mistakes.push_back(
          {place, "", fmt::format("expected text, got the control character 0x{:02x}", c)});
    }
    indenting = c == '\n' || (indenting && c == ' ');
    place = c == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
    i += length;
  }
}

// The end of the text for what lies behind it.
Place Within(std::string_view text, Place place) {
  const int last_line = 1 + static_cast<int>(std::ranges::count(text, '\n'));
  if (place.line < last_line) return place;
  const size_t line_start = text.rfind('\n') + 1;  // 0 when there is none.
  return {last_line, std::min(place.column, static_cast<int>(text.size() - line_start) + 1)};
}

void Run(std::string_view text, TreeBuilder& builder, std::vector<Mistake>& mistakes) {
  try {
    const bool open_line = !text.empty() && text.back() != '\n';
    std::istringstream stream{std::string(text) + (open_line ? "\n" : "") + std::string(kEndMark)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    if (!mistakes.empty()) return;
    std::vector<Mistake> ignored;
    TreeBuilder rest(1, ignored);
    if (parser.HandleNextDocument(rest)) {
      mistakes.push_back({rest.Start(), "", "expected one document, got a second (---)"});
    }
  } catch (const TooDeep& error) {
    mistakes.push_back(
        {error.place, "",
         fmt::format("nested too deep: expected at most {} lists and maps inside one another",
                     kMostDepth)});
  } catch (const YAML::Exception& error) {
    const std::optional<Mistake> why = WhyNotYaml(text);
    const bool map = error.msg == "end of map not found";
    const std::string otherwise =
        "not YAML: " + (map ? "this line is indented like no other of its map" : error.msg);
    mistakes.push_back(why.value_or(Mistake{Within(text, ToPlace(error.mark)), "", otherwise}));
  } catch (const std::exception& error) {
    mistakes.push_back({{}, "", fmt::format("not YAML: {}", error.what())});
  }
}

}  // namespace

YamlNode ParseYaml(std::string_view text, const YamlLimits& limits,
                   std::vector<Mistake>& mistakes) {
  if (text.size() > limits.bytes) {
    mistakes.push_back({{},
                        "",
                        fmt::format("expected a sweep file of at most {} bytes, got {}",
                                    limits.bytes, text.size())});
    return {};
  }
  CheckCharacters(text, mistakes);
  if (!mistakes.empty()) return {};
  TreeBuilder builder(limits.nodes, mistakes);
  Run(text, builder, mistakes);
  return mistakes.empty() ? builder.TakeRoot() : YamlNode{};
}

namespace {

constexpr size_t kShown = 60;  // Characters of a value in a message.

std::string FoundList(const YamlNode& node) {
  if (node.items.empty()) return "an empty list";
  std::string text;
  for (const YamlNode& item : node.items) {
    if (!item.IsScalar() || text.size() > kShown) return "a list";
    text += (text.empty() ? "[" : ", ") + item.text;
  }
  return text + "]";
}

}  // namespace

std::string Found(const YamlNode& node) {
  const bool fits = node.text.size() <= kShown;
  std::string shown = fits ? node.text : fmt::format("{:.{}}...", node.text, kShown);
  switch (node.kind) {
    case Kind::kNothing: return "nothing";
    case Kind::kPlain: return shown;
    case Kind::kQuoted:
      return shown.empty() ? "an empty text" : fmt::format("the text \"{}\"", shown);
    case Kind::kList: return FoundList(node);
    case Kind::kMap: return node.items.empty() ? "an empty map" : "a map";
  }
  return "corrupt";
}

}  // namespace noisefloor::sweep_file
