// Tables that people or other programs wrote as CSV (RFC 4180). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/files/text_lines.h"

namespace noisefloor {

// Reads a table whose first line names its columns: cells separated by commas; a cell with a comma
// or a quote within is put in quotes, quotes within it twice; no cell holds an end of line. No
// comments, no empty lines, no BOM, spaces count. At most 1,000 columns, 64 KiB a line, 200 bytes a
// cell. Every refusal is InvalidArgument as PATH:LINE: what is wrong.
class CsvReader {
 public:
  static constexpr size_t kMostColumns = 1000;
  static constexpr size_t kMostCellBytes = 200;

  // `text` is the content of `path`, and must outlive the reader.
  static absl::StatusOr<CsvReader> Open(std::string path, std::string_view text);

  const std::vector<std::string>& columns() const { return columns_; }  // Each name once.
  bool at_end() const { return lines_.at_end(); }
  int64_t line() const { return lines_.number(); }  // Of the row that was given last, from 1.
  absl::StatusOr<std::vector<std::string>> Next();  // As many cells as there are columns.
  absl::Status Wrong(std::string_view what) const { return lines_.Wrong(what); }

 private:
  explicit CsvReader(TextLines lines) : lines_(std::move(lines)) {}

  TextLines lines_;
  std::vector<std::string> columns_;
};

// InvalidArgument where a name is empty or there twice.
absl::Status CheckColumnNames(const std::string& path, int64_t line,
                              const std::vector<std::string>& names);

}  // namespace noisefloor
