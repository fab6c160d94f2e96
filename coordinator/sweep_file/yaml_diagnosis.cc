#include "coordinator/sweep_file/yaml_diagnosis.h"

#include <string>
#include <vector>

#include "fmt/format.h"

namespace noisefloor::sweep_file {

namespace {

struct Opened {
  char what;
  Place place;
};

// Reads the text line by line as the parser does, but only for what opens and closes.
class Scan {
 public:
  std::optional<Mistake> Read(std::string_view text) {
    while (!text.empty() && !found_) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      ReadLine(line);
      ++line_;
    }
    if (found_) return found_;
    if (quote_) return At(quote_->place, "the quote that opens here is never closed");
    if (open_.empty()) return without_colon_;
    return At(open_.back().place,
              fmt::format("the {} that opens here is never closed", open_.back().what));
  }

 private:
  static Mistake At(Place place, const std::string& message) {
    return {place, "", "not YAML: " + message};
  }

  void ReadLine(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);  // Of an editor on Windows.
    const size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) return;
    if (block_) {
      if (indent > *block_) return;  // The lines of a text that | or > began.
      block_.reset();
    }
    const bool plain = !quote_ && open_.empty();
    bool colon = false;
    size_t end = line.size();
    for (size_t i = quote_ ? 0 : indent; i < end && !found_; ++i) {
      if (quote_) {
        ReadQuoted(line, i);
      } else if (line[i] == '#' && (i == 0 || line[i - 1] == ' ')) {
        end = i;
      } else {
        colon = colon || (line[i] == ':' && (i + 1 == line.size() || line[i + 1] == ' '));
        ReadCharacter(line, i);
      }
    }
    if (!plain || indent >= end) return;
    std::string_view content = line.substr(indent, end - indent);
    content = content.substr(0, content.find_last_not_of(' ') + 1);
    JudgeLine(content, indent, colon);
  }

  // A quote opens where a value or key begins; a bracket there, or anywhere inside others.
  void ReadCharacter(std::string_view line, size_t i) {
    const size_t before = i == 0 ? std::string_view::npos : line.find_last_not_of(' ', i - 1);
    const bool begins = before == std::string_view::npos ||
                        std::string_view(":,[{-").find(line[before]) != std::string_view::npos;
    const Place place{line_, static_cast<int>(i) + 1};
    const char c = line[i];
    if ((c == '"' || c == '\'') && begins) {
      quote_ = Opened{c, place};
    } else if ((c == '[' || c == '{') && (begins || !open_.empty())) {
      open_.push_back({c, place});
    } else if ((c == ']' || c == '}') && !open_.empty()) {
      const char wanted = open_.back().what == '[' ? ']' : '}';
      if (c == wanted) {
        open_.pop_back();
      } else {
        found_ = At(place, fmt::format("expected {} for the {} in line {}, got {}", wanted,
                                       open_.back().what, open_.back().place.line, c));
      }
    }
  }

  void ReadQuoted(std::string_view line, size_t& i) {
    if (line[i] == '\\' && quote_->what == '"') {
      ++i;
    } else if (line[i] == quote_->what) {
      const bool doubled = quote_->what == '\'' && i + 1 < line.size() && line[i + 1] == '\'';
      if (doubled) {
        ++i;
      } else {
        quote_.reset();
      }
    }
  }

  // A line beside the keys above it that is none itself.
  void JudgeLine(std::string_view content, size_t indent, bool colon) {
    const bool item = content.starts_with("-") || content.starts_with("?");
    if (colon || item) {
      if (content.ends_with('|') || content.ends_with('>')) block_ = indent;
      if (!item) key_indent_ = indent;
    } else if (key_indent_ && indent <= *key_indent_ && !without_colon_) {
      without_colon_ = At({line_, static_cast<int>(indent) + 1},
                          fmt::format("expected KEY: VALUE, got {:.60}", content));
    }
  }

  int line_ = 1;
  std::optional<Mistake> found_;
  std::optional<Mistake> without_colon_;
  std::optional<Opened> quote_;
  std::vector<Opened> open_;
  std::optional<size_t> block_;       // Indentation of the key of a block text.
  std::optional<size_t> key_indent_;  // Of the last key.
};

}  // namespace

std::optional<Mistake> WhyNotYaml(std::string_view text) { return Scan().Read(text); }

}  // namespace noisefloor::sweep_file
