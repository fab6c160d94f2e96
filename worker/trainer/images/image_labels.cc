#include "worker/trainer/images/image_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <utility>

#include "common/files/atomic_file.h"
#include "common/files/directory.h"

namespace noisefloor::trainer {

namespace {

constexpr uint64_t kMostTableBytes = uint64_t{1} << 30;
constexpr size_t kMostValues = 65535;

constexpr const char* kCsv = "labels.csv";
constexpr const char* kCelebaAttributes = "list_attr_celeba.txt";
constexpr const char* kCelebaPartition = "list_eval_partition.txt";

std::string PlaceOf(const ImageTable& table, const TableRow& row) {
  return row.line == 0 ? fmt::format("{}/{}", table.path, row.file)
                       : fmt::format("{}:{}", table.path, row.line);
}

absl::Status Wrong(const ImageTable& table, const TableRow& row, std::string_view what) {
  return InvalidInput(fmt::format("{}: {}", PlaceOf(table, row), what));
}

std::vector<std::string> NamesIn(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    names.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return names;
}

// Places of columns by their names.
absl::StatusOr<std::vector<size_t>> ColumnsOf(const ImageTable& table, std::string_view setting,
                                              const std::vector<std::string>& names) {
  std::vector<size_t> places;
  for (const std::string& name : names) {
    const auto at = std::ranges::find(table.columns, name);
    if (at == table.columns.end()) {
      std::string there;
      for (const std::string& column : table.columns) there += (there.empty() ? "" : ", ") + column;
      return InvalidInput(fmt::format("{}: no column '{}' in {}; there are {}", setting, name,
                                      table.path, there.empty() ? "none" : there));
    }
    const auto place = static_cast<size_t>(at - table.columns.begin());
    if (std::ranges::find(places, place) != places.end()) {
      return InvalidInput(fmt::format("{}: '{}' is there twice", setting, name));
    }
    places.push_back(place);
  }
  return places;
}

bool IsNone(std::string_view text) {
  if (text.size() != 3) return false;
  return (text[0] | 0x20) == 'n' && (text[1] | 0x20) == 'a' && (text[2] | 0x20) == 'n';
}

absl::Status CheckValue(const ImageTable& table, const TableRow& row, size_t column) {
  const std::string& value = row.cells[column];
  if (!value.empty() && !IsNone(value)) return absl::OkStatus();
  return Wrong(table, row,
               fmt::format("{} is {}", table.columns[column],
                           value.empty() ? "empty" : fmt::format("'{}'; expected a value", value)));
}

bool IsInteger(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// The different values of a column in pictures that are used, sorted.
absl::StatusOr<std::vector<std::string>> ValuesOf(const ImageTable& table, size_t column) {
  std::map<std::string, int64_t> values;
  bool numbers = true;
  for (const TableRow& row : table.rows) {
    if (row.part == Subset::kUnused) continue;
    NF_RETURN_IF_ERROR(CheckValue(table, row, column));
    const auto [at, is_new] = values.emplace(row.cells[column], 0);
    if (is_new) numbers = IsInteger(at->first, at->second) && numbers;
    if (values.size() > kMostValues) {
      return Wrong(
          table, row,
          fmt::format("{} has more than {} different values", table.columns[column], kMostValues));
    }
  }
  std::vector<std::pair<std::string, int64_t>> sorted(values.begin(), values.end());
  if (numbers) std::ranges::stable_sort(sorted, {}, &std::pair<std::string, int64_t>::second);
  std::vector<std::string> texts;
  for (auto& [text, number] : sorted) texts.push_back(std::move(text));
  return texts;
}

using Codes = std::unordered_map<std::string, uint16_t>;

Codes CodesOf(const std::vector<std::string>& values) {
  Codes codes;
  for (size_t i = 0; i < values.size(); ++i) codes[values[i]] = static_cast<uint16_t>(i);
  return codes;
}

// Rows by the place of their picture: each picture has one, each row has a picture.
absl::StatusOr<std::vector<const TableRow*>> RowsOf(const ImageTree& tree,
                                                    const ImageTable& table) {
  std::unordered_map<std::string_view, size_t> places;
  places.reserve(tree.entries.size());
  for (size_t i = 0; i < tree.entries.size(); ++i) places.emplace(tree.entries[i].path, i);
  std::vector<const TableRow*> rows(tree.entries.size());
  for (const TableRow& row : table.rows) {
    const auto at = places.find(row.file);
    if (at == places.end()) {
      return Wrong(table, row, fmt::format("{}: no such picture in {}", row.file, tree.folder));
    }
    if (rows[at->second] != nullptr) {
      return Wrong(table, row,
                   fmt::format("{}: there already in line {}", row.file, rows[at->second]->line));
    }
    rows[at->second] = &row;
  }
  const auto without = std::ranges::find(rows, nullptr);
  if (without == rows.end()) return rows;
  const TreeEntry& entry = tree.entries[static_cast<size_t>(without - rows.begin())];
  return InvalidInput(fmt::format("{}: no line of it in {}", NameOf(tree, entry), table.path));
}

absl::Status CheckParts(const ImageTable& table) {
  for (const auto& [part, name] :
       {std::pair(Subset::kTrain, "train"), std::pair(Subset::kTest, "test")}) {
    if (std::ranges::count(table.rows, part, &TableRow::part) == 0) {
      return InvalidInput(fmt::format("{}: no {} pictures", table.path, name));
    }
  }
  return absl::OkStatus();
}

absl::Status PutClasses(const ImageTable& table, size_t column,
                        const std::vector<const TableRow*>& rows, ImageLabels& labels) {
  NF_ASSIGN_OR_RETURN(labels.classes, ValuesOf(table, column));
  if (labels.classes.size() < 2) {
    return InvalidInput(fmt::format("{}: {} has one value, '{}'; expected at least two classes",
                                    table.path, table.columns[column], labels.classes[0]));
  }
  const Codes codes = CodesOf(labels.classes);
  std::vector<const TableRow*> tested(labels.classes.size());
  std::vector<bool> trained(labels.classes.size());
  labels.label.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (labels.parts[i] == Subset::kUnused) continue;
    const uint16_t code = codes.at(rows[i]->cells[column]);
    labels.label[i] = code;
    if (labels.parts[i] == Subset::kTrain) trained[code] = true;
    if (labels.parts[i] == Subset::kTest && tested[code] == nullptr) tested[code] = rows[i];
  }
  for (size_t k = 0; k < trained.size(); ++k) {
    if (trained[k]) continue;
    return Wrong(table, *tested[k],
                 fmt::format("class '{}' has no train pictures", labels.classes[k]));
  }
  return absl::OkStatus();
}

absl::Status PutAttributes(const ImageTable& table, const std::vector<size_t>& columns,
                           const std::vector<const TableRow*>& rows, ImageLabels& labels) {
  for (const size_t column : columns) labels.attributes.push_back(table.columns[column]);
  labels.label.resize(rows.size());
  labels.attribute.reserve(rows.size() * columns.size());
  for (const TableRow* row : rows) {
    for (const size_t column : columns) {
      const std::string& value = row->cells[column];
      if (row->part != Subset::kUnused && value != "0" && value != "1") {
        return Wrong(table, *row,
                     fmt::format("{} is '{}'; expected 0 or 1", table.columns[column], value));
      }
      labels.attribute.push_back(value == "1" ? 1 : 0);
    }
  }
  return absl::OkStatus();
}

absl::Status PutGroups(const ImageTable& table, const std::vector<size_t>& columns,
                       const std::vector<const TableRow*>& rows, ImageLabels& labels) {
  labels.group.resize(rows.size() * columns.size());
  for (size_t g = 0; g < columns.size(); ++g) {
    NF_ASSIGN_OR_RETURN(std::vector<std::string> values, ValuesOf(table, columns[g]));
    const Codes codes = CodesOf(values);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (labels.parts[i] == Subset::kUnused) continue;
      labels.group[i * columns.size() + g] = codes.at(rows[i]->cells[columns[g]]);
    }
    labels.groups.push_back({table.columns[columns[g]], std::move(values)});
  }
  return absl::OkStatus();
}

std::vector<std::string> PathsOf(const ImageTree& tree) {
  std::vector<std::string> paths;
  for (const TreeEntry& entry : tree.entries) paths.push_back(entry.path);
  return paths;
}

}  // namespace

absl::StatusOr<ImageTable> TableOf(const ImageTree& tree) {
  if (tree.entries.empty()) {
    return InvalidInput(tree.folder + ": no pictures; expected files .jpg, .jpeg or .png");
  }
  const std::string csv = tree.folder + "/" + kCsv;
  if (PathExists(csv)) {
    NF_ASSIGN_OR_RETURN(const std::string text, ReadFile(csv, kMostTableBytes));
    return ParseCsv(csv, text);
  }
  CelebaFiles celeba = {.attributes_path = tree.folder + "/" + kCelebaAttributes,
                        .partition_path = tree.folder + "/" + kCelebaPartition};
  if (PathExists(celeba.attributes_path)) {
    NF_ASSIGN_OR_RETURN(const std::string attributes,
                        ReadFile(celeba.attributes_path, kMostTableBytes));
    NF_ASSIGN_OR_RETURN(const std::string partition,
                        ReadFile(celeba.partition_path, kMostTableBytes));
    celeba.attributes = attributes;
    celeba.partition = partition;
    return ParseCeleba(celeba);
  }
  const bool folders = std::ranges::any_of(
      tree.entries, [](const TreeEntry& entry) { return entry.path.starts_with("train/"); });
  return folders ? TableOfFolders(tree.folder, PathsOf(tree))
                 : TableOfUtkNames(tree.folder, PathsOf(tree));
}

absl::StatusOr<ImageLabels> LabelsOf(const ImageTree& tree, const ImageTable& table,
                                     const ImageSettings& settings) {
  const std::string named = settings.labels.empty() ? "label" : settings.labels;
  NF_ASSIGN_OR_RETURN(
      const std::vector<size_t> columns,
      ColumnsOf(table, "data.labels", settings.attributes ? NamesIn(named) : std::vector{named}));
  NF_ASSIGN_OR_RETURN(const std::vector<size_t> groups,
                      ColumnsOf(table, "data.groups", NamesIn(settings.groups)));
  NF_ASSIGN_OR_RETURN(const std::vector<const TableRow*> rows, RowsOf(tree, table));
  NF_RETURN_IF_ERROR(CheckParts(table));
  ImageLabels labels;
  for (const TableRow* row : rows) labels.parts.push_back(row->part);
  if (settings.attributes) {
    NF_RETURN_IF_ERROR(PutAttributes(table, columns, rows, labels));
  } else {
    NF_RETURN_IF_ERROR(PutClasses(table, columns[0], rows, labels));
  }
  NF_RETURN_IF_ERROR(PutGroups(table, groups, rows, labels));
  return labels;
}

}  // namespace noisefloor::trainer
