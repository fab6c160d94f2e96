#include "common/files/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace noisefloor {

namespace {

// One cell at the head of `rest`, which is cut behind it; what is wrong, or nothing.
std::optional<std::string> TakeCell(std::string_view& rest, std::string& cell) {
  cell.clear();
  if (!rest.starts_with('"')) {
    const size_t end = std::min(rest.find(','), rest.size());
    cell = rest.substr(0, end);
    rest.remove_prefix(end);
    if (cell.find('"') != std::string::npos) return "a quote within a cell that is not quoted";
  } else {
    rest.remove_prefix(1);
    for (;;) {
      const size_t end = rest.find('"');
      if (end == std::string_view::npos) return "a quoted cell that does not end on its line";
      cell += rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (!rest.starts_with('"')) break;
      cell += '"';
      rest.remove_prefix(1);
    }
    if (!rest.empty() && rest[0] != ',') return "text after the end of a quoted cell";
  }
  if (cell.size() <= CsvReader::kMostCellBytes) return std::nullopt;
  return fmt::format("a cell of {} bytes; expected at most {}", cell.size(),
                     CsvReader::kMostCellBytes);
}

absl::StatusOr<std::vector<std::string>> CellsOf(const TextLines& lines, std::string_view line) {
  if (line.empty()) return lines.Wrong("an empty line");
  std::vector<std::string> cells;
  for (;;) {
    if (cells.size() == CsvReader::kMostColumns) {
      return lines.Wrong(fmt::format("more than {} columns", CsvReader::kMostColumns));
    }
    const auto wrong = TakeCell(line, cells.emplace_back());
    if (wrong) return lines.Wrong(*wrong);
    if (line.empty()) return cells;
    line.remove_prefix(1);
  }
}

}  // namespace

absl::Status CheckColumnNames(const std::string& path, int64_t line,
                              const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) return AtLine(path, line, fmt::format("column {} has no name", i + 1));
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      return AtLine(path, line, fmt::format("column {} is there twice", names[i]));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CsvReader> CsvReader::Open(std::string path, std::string_view text) {
  if (text.empty()) return AtLine(path, 1, "an empty file; expected a line of column names");
  CsvReader reader{TextLines(std::move(path), text)};
  NF_ASSIGN_OR_RETURN(const std::string_view head, reader.lines_.Next());
  if (head.starts_with("\xef\xbb\xbf")) {
    return reader.Wrong("it begins with a BOM; expected none");
  }
  NF_ASSIGN_OR_RETURN(reader.columns_, CellsOf(reader.lines_, head));
  NF_RETURN_IF_ERROR(CheckColumnNames(reader.lines_.path(), 1, reader.columns_));
  return reader;
}

absl::StatusOr<std::vector<std::string>> CsvReader::Next() {
  NF_ASSIGN_OR_RETURN(const std::string_view line, lines_.Next());
  NF_ASSIGN_OR_RETURN(std::vector<std::string> cells, CellsOf(lines_, line));
  if (cells.size() == columns_.size()) return cells;
  return Wrong(fmt::format("{} cells; expected {}", cells.size(), columns_.size()));
}

}  // namespace noisefloor
