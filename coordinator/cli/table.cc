#include "coordinator/cli/table.h"

#include <algorithm>

#include "common/base/printable.h"
#include "coordinator/cli/terminal_text.h"

namespace noisefloor::cli {

namespace {

constexpr size_t kGap = 2;  // Between columns.

using Row = std::vector<std::string>;

// Characters on the screen: continuation bytes of UTF-8 take no place.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

bool IsNumeric(std::string_view text) {
  return text.find_first_not_of("0123456789.-+e %") == std::string_view::npos;
}

size_t LongestWord(std::string_view text) {
  size_t longest = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    longest = std::max(longest, Width(word));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return longest;
}

// At spaces; a word that is longer is cut.
std::vector<std::string> Broken(std::string_view text, size_t width) {
  if (Width(text) <= width) return {std::string(text)};
  std::vector<std::string> lines = {""};
  while (!text.empty()) {
    std::string word(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    while (Width(word) > width) {
      size_t end = 0;
      for (size_t shown = 0; shown < width; ++shown) {
        do ++end;
        while (end < word.size() && (word[end] & 0xC0) == 0x80);
      }
      if (!lines.back().empty()) lines.emplace_back();
      lines.back() = word.substr(0, end);
      lines.emplace_back();
      word.erase(0, end);
    }
    const bool fits = Width(lines.back()) + 1 + Width(word) <= width;
    if (!lines.back().empty() && !fits) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

struct Column {
  size_t width = 0;
  size_t least = 0;  // Of its longest word.
  bool numeric = true;
};

std::vector<Column> Measure(const std::vector<Row>& rows) {
  std::vector<Column> columns(rows[0].size());
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < columns.size(); ++c) {
      columns[c].width = std::max(columns[c].width, Width(rows[r][c]));
      columns[c].least = std::max(columns[c].least, LongestWord(rows[r][c]));
      if (r > 0 && !IsNumeric(rows[r][c])) columns[c].numeric = false;
    }
  }
  for (Column& column : columns) {
    if (rows.size() == 1) column.numeric = false;
    if (column.numeric) column.least = column.width;
  }
  return columns;
}

// Takes from the widest that can give until all fit or none can.
void Narrow(std::vector<Column>& columns, size_t limit) {
  size_t total = kGap * (columns.size() - 1);
  for (const Column& column : columns) total += column.width;
  for (; total > limit; --total) {
    Column* widest = nullptr;
    for (Column& column : columns) {
      const bool gives = column.width > column.least;
      if (gives && (widest == nullptr || column.width > widest->width)) widest = &column;
    }
    if (widest == nullptr) break;
    --widest->width;
  }
  // No table can be narrower than its first column and one more: their words are cut.
  columns[0].width = std::min(columns[0].width, std::max<size_t>(limit / 2, 1));
  const size_t rest =
      std::max<size_t>(limit, columns[0].width + kGap + 1) - columns[0].width - kGap;
  for (Column& column : columns) column.width = std::min(column.width, rest);
}

// The row in the first column and those of [begin, end), on as many lines as its tallest cell.
void PrintRow(std::ostream& out, const Row& row, const std::vector<Column>& columns, size_t begin,
              size_t end, bool bold) {
  std::vector<size_t> shown = {0};
  for (size_t c = begin; c < end; ++c) shown.push_back(c);
  std::vector<std::vector<std::string>> cells;
  size_t height = 1;
  for (const size_t c : shown) {
    cells.push_back(Broken(row[c], columns[c].width));
    height = std::max(height, cells.back().size());
  }
  for (size_t h = 0; h < height; ++h) {
    std::string line;
    for (size_t k = 0; k < shown.size(); ++k) {
      const std::string text = h < cells[k].size() ? cells[k][h] : "";
      const std::string padding(columns[shown[k]].width - Width(text), ' ');
      line += k == 0 ? "" : std::string(kGap, ' ');
      line += columns[shown[k]].numeric ? padding + text : text + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (bold) {
      out << Style::kBold << line << Style::kPlain << "\n";
    } else {
      out << line << "\n";
    }
  }
}

}  // namespace

void Table::Add(Row cells) {
  for (std::string& cell : cells) cell = PrintableLine(cell);
  rows_.push_back(std::move(cells));
}

void Table::Print(const Context& context) const {
  Print(context.out, context.Colour(), context.out_columns);
}

void Table::Print(std::ostream& out, bool bold_titles, size_t columns) const {
  std::vector<Column> measured = Measure(rows_);
  if (columns > 0) Narrow(measured, columns);
  size_t begin = 1;
  do {
    size_t width = measured[0].width;
    size_t end = begin;
    while (end < measured.size()) {
      width += kGap + measured[end].width;
      if (columns > 0 && width > columns && end > begin) break;
      ++end;
    }
    if (begin > 1) out << "\n";
    for (size_t r = 0; r < rows_.size(); ++r) {
      PrintRow(out, rows_[r], measured, begin, end, bold_titles && r == 0);
    }
    begin = end;
  } while (begin < measured.size());
}

std::string Wrapped(std::string_view text, size_t columns) {
  std::string out;
  std::string line;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const bool full = columns > 0 && Width(line) + 1 + Width(word) > columns;
    if (!line.empty() && line != "  " && full) {
      out += line + "\n";
      line = "  ";
    }
    if (!line.empty() && line != "  ") line += " ";
    line += word;
  }
  return out + line + "\n";
}

}  // namespace noisefloor::cli
