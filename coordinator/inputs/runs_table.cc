#include "coordinator/inputs/runs_table.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "fmt/format.h"

#include "common/base/nearest.h"
#include "common/base/sha256_text.h"
#include "common/base/sweep_limits.h"
#include "common/files/atomic_file.h"
#include "common/files/csv_reader.h"
#include "coordinator/inputs/layout.h"

namespace noisefloor::inputs {

namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;

std::optional<double> NumberOf(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What a column does with a cell; what is wrong with it in words, or "".
using PutCell = std::function<std::string(const std::string& cell, RunRow& row)>;

PutCell Into(std::string RunRow::*field) {
  return [field](const std::string& cell, RunRow& row) -> std::string {
    if (!cell.empty()) row.*field = cell;
    return "";
  };
}

// Of top1 and top5 a share of the answers: 87.1 is meant for 0.871.
PutCell IntoMetric(const std::string& name) {
  return [name](const std::string& cell, RunRow& row) -> std::string {
    if (cell.empty()) return "";
    const std::optional<double> value = NumberOf(cell);
    const bool share = name != "loss";
    if (!value || (share && !(*value >= 0 && *value <= 1))) {
      return fmt::format("{} '{}'; expected a number{}", name, cell, share ? " from 0 to 1" : "");
    }
    row.metrics[name] = *value;
    return "";
  };
}

std::string PutBlock(const std::string& cell, RunRow& row) {
  if (cell.empty()) return "";
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), row.block);
  if (error == std::errc() && end == cell.data() + cell.size() && row.block < sweep::kMaxBlocks)
    return "";
  return fmt::format("block '{}'; expected a whole number from 0 to {}", cell,
                     sweep::kMaxBlocks - 1);
}

std::string PutSeconds(const std::string& cell, RunRow& row) {
  if (cell.empty()) return "";
  const std::optional<double> value = NumberOf(cell);
  if (!value || !(*value >= 0) || std::isinf(*value)) {
    return fmt::format("seconds '{}'; expected a number of 0 or more", cell);
  }
  row.seconds = *value;
  return "";
}

// "Free" and "OFF" are those words, too.
PutCell IntoSource(NoiseSource source) {
  return [source](const std::string& cell, RunRow& row) -> std::string {
    const std::string word = absl::AsciiStrToLower(cell);
    if (!cell.empty()) row.sources[source] = word == "free" || word == "off" ? word : cell;
    return "";
  };
}

std::string PutWeights(const std::string& cell, RunRow& row) {
  row.weights_sha256 = absl::AsciiStrToLower(cell);
  if (cell.empty() || IsSha256(row.weights_sha256)) return "";
  return fmt::format("weights_sha256 '{}'; expected 64 hexadecimal digits", cell);
}

PutCell IntoAxis(const std::string& path) {
  return [path](const std::string& cell, RunRow& row) -> std::string {
    row.axes.push_back({path, cell});
    return "";
  };
}

PutCell ColumnOf(const std::string& name) {
  if (name == "run") return Into(&RunRow::name);
  if (name == "predictions") return Into(&RunRow::predictions);
  if (name == "hardware") return Into(&RunRow::hardware);
  if (name == "stack") return Into(&RunRow::stack);
  if (name == "plan") return Into(&RunRow::plan);
  if (name == "block") return PutBlock;
  if (name == "top1" || name == "top5" || name == "loss") return IntoMetric(name);
  if (name == "weights_sha256") return PutWeights;
  if (name == "unit") return Into(&RunRow::unit);
  if (name == "seconds") return PutSeconds;
  if (const std::optional<NoiseSource> source = ParseNoiseSource(name)) return IntoSource(*source);
  return IntoAxis(name);
}

}  // namespace

std::string_view MeantColumn(std::string_view axis) {
  std::vector<std::string_view> known = {"run",  "predictions", "hardware", "stack",
                                         "plan", "block",       "top1",     "top5",
                                         "loss", "unit",        "seconds",  "weights_sha256"};
  for (const NoiseSource source : kAllNoiseSources) known.push_back(Name(source));
  return Nearest(axis, known);
}

absl::StatusOr<RunTable> ReadRunTable(const std::string& folder) {
  RunTable table;
  table.path = fmt::format("{}/{}", folder, kRunsFile);
  NF_ASSIGN_OR_RETURN(table.text, ReadFile(table.path, kMostBytes));
  NF_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::Open(table.path, table.text));
  std::vector<PutCell> columns;
  std::set<std::string> names;
  bool tells_predictions = false;
  for (const std::string& column : csv.columns()) {
    const std::string name(absl::StripAsciiWhitespace(column));
    columns.push_back(ColumnOf(name));
    if (names.insert(name).second) continue;
    return AtLine(table.path, 1, fmt::format("column {} is there twice", name));
  }
  if (!names.contains("run")) return AtLine(table.path, 1, "no column run, the name of each run");
  tells_predictions = names.contains("predictions");
  std::set<std::string> runs;
  while (!csv.at_end()) {
    NF_ASSIGN_OR_RETURN(const std::vector<std::string> cells, csv.Next());
    RunRow& row = table.rows.emplace_back();
    row.line = csv.line();
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string cell(absl::StripAsciiWhitespace(cells[i]));
      const std::string wrong = columns[i](cell, row);
      if (!wrong.empty()) return csv.Wrong(wrong);
    }
    if (row.name.empty()) return csv.Wrong("a run without a name");
    if (!runs.insert(row.name).second) {
      return csv.Wrong(fmt::format("run {} is there twice", row.name));
    }
    if (!tells_predictions) row.predictions = row.name + ".npy";
  }
  if (table.rows.empty()) return AtLine(table.path, 1, "no runs; expected a line for each");
  return table;
}

}  // namespace noisefloor::inputs
