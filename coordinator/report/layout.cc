#include "coordinator/report/layout.h"

#include <algorithm>

namespace noisefloor::report {
namespace {

constexpr size_t kGap = 2;  // Before each column.

// Columns [begin, end) behind the first one.
std::string Part(const std::vector<std::string>& header, const TextRows& rows,
                 const std::vector<size_t>& widths, size_t begin, size_t end) {
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line = std::string(kGap, ' ') + row[0];
    line.append(widths[0] - ScreenWidth(row[0]), ' ');
    for (size_t k = begin; k < end; ++k) {
      line.append(kGap + widths[k] - ScreenWidth(row[k]), ' ');
      line += row[k];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add(header);
  for (const auto& row : rows) add(row);
  return text;
}

}  // namespace

size_t ScreenWidth(std::string_view text) {
  size_t width = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\x1b') escape = true;
    if (!escape && (c & 0xC0) != 0x80) ++width;
    if (c == 'm') escape = false;
  }
  return width;
}

std::string AlignColumns(const std::vector<std::string>& header, const TextRows& rows,
                         size_t columns) {
  std::vector<size_t> widths;
  for (size_t k = 0; k < header.size(); ++k) {
    widths.push_back(ScreenWidth(header[k]));
    for (const auto& row : rows) widths[k] = std::max(widths[k], ScreenWidth(row[k]));
  }
  std::string text;
  size_t begin = 1;
  do {
    size_t width = kGap + widths[0];
    size_t end = begin;
    while (end < widths.size()) {
      width += kGap + widths[end];
      if (columns > 0 && width > columns && end > begin) break;
      ++end;
    }
    text += (text.empty() ? "" : "\n") + Part(header, rows, widths, begin, end);
    begin = end;
  } while (begin < widths.size());
  return text;
}

std::string WrapParagraph(std::string_view text, size_t columns, size_t indent) {
  std::string out;
  std::string line(indent, ' ');
  bool has_word = false;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const bool full = columns > 0 && ScreenWidth(line) + 1 + ScreenWidth(word) > columns;
    if (has_word && full) {
      out += line + "\n";
      line.assign(indent + 2, ' ');
      has_word = false;
    }
    if (has_word) line += " ";
    line += word;
    has_word = true;
  }
  return out + line + "\n";
}

}  // namespace noisefloor::report
