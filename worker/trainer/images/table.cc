#include "worker/trainer/images/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "common/files/csv_reader.h"
#include "common/files/sha256.h"
#include "common/files/text_lines.h"
#include "worker/trainer/images/image_tree.h"

namespace noisefloor::trainer {

namespace {

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

absl::StatusOr<Subset> PartOf(std::string_view text) {
  if (text == "train") return Subset::kTrain;
  if (text == "test") return Subset::kTest;
  if (text == "unused") return Subset::kUnused;
  return InvalidInput(fmt::format("split '{}'; expected train, test or unused", text));
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; (at = line.find_first_not_of(' ', at)) != std::string_view::npos;) {
    const size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

absl::StatusOr<std::unordered_map<std::string, Subset>> PartitionOf(const CelebaFiles& files) {
  std::unordered_map<std::string, Subset> parts;
  TextLines lines(files.partition_path, files.partition);
  while (!lines.at_end()) {
    NF_ASSIGN_OR_RETURN(const std::string_view line, lines.Next());
    const auto words = Words(line);
    if (words.size() != 2 || words[1].size() != 1 || words[1][0] < '0' || words[1][0] > '2') {
      return AtLine(files.partition_path, lines.number(), "expected a file and 0, 1 or 2");
    }
    const Subset part = words[1] == "0"   ? Subset::kTrain
                        : words[1] == "2" ? Subset::kTest
                                          : Subset::kUnused;
    if (!parts.emplace(words[0], part).second) {
      return AtLine(files.partition_path, lines.number(),
                    fmt::format("{} is there twice", words[0]));
    }
  }
  return parts;
}

absl::StatusOr<TableRow> CelebaRow(const std::string& path, int64_t number, std::string_view line,
                                   size_t attributes) {
  const auto words = Words(line);
  if (words.size() != attributes + 1) {
    return AtLine(
        path, number,
        fmt::format("{} values; expected a file and {} attributes", words.size(), attributes));
  }
  TableRow row = {.file = fmt::format("img_align_celeba/{}", words[0]), .line = number};
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] != "1" && words[i] != "-1") {
      return AtLine(path, number,
                    fmt::format("attribute {} is '{}'; expected 1 or -1", i, words[i]));
    }
    row.cells.emplace_back(words[i] == "1" ? "1" : "0");
  }
  return row;
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsNumber(std::string_view text, int most) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most &&
         (text.size() == 1 || text[0] != '0');
}

}  // namespace

absl::StatusOr<ImageTable> ParseCsv(const std::string& path, std::string_view text) {
  NF_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::Open(path, text));
  const std::vector<std::string>& names = csv.columns();
  const auto place = [&](std::string_view name) {
    return static_cast<size_t>(std::ranges::find(names, name) - names.begin());
  };
  const size_t file = place("file"), split = place("split");
  for (const auto& [name, at] : {std::pair("file", file), std::pair("split", split)}) {
    if (at < names.size()) continue;
    return AtLine(path, 1, fmt::format("no column {}; there are {}", name, Listed(names)));
  }
  ImageTable table;
  table.path = path;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i != file && i != split) table.columns.push_back(names[i]);
  }
  while (!csv.at_end()) {
    NF_ASSIGN_OR_RETURN(std::vector<std::string> cells, csv.Next());
    TableRow row = {.file = cells[file], .line = csv.line()};
    const absl::Status fine = CheckPath(row.file);
    if (!fine.ok()) return csv.Wrong(fmt::format("file: {}", Message(fine)));
    const auto part = PartOf(cells[split]);
    if (!part.ok()) return csv.Wrong(Message(part.status()));
    row.part = *part;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i != file && i != split) row.cells.push_back(std::move(cells[i]));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

absl::StatusOr<ImageTable> ParseCeleba(const CelebaFiles& files) {
  NF_ASSIGN_OR_RETURN(const auto parts, PartitionOf(files));
  ImageTable table;
  table.path = files.attributes_path;
  TextLines lines(files.attributes_path, files.attributes);
  NF_ASSIGN_OR_RETURN(const std::string_view head, lines.Next());
  int64_t count = -1;
  const auto parsed = std::from_chars(head.data(), head.data() + head.size(), count);
  if (parsed.ec != std::errc() || parsed.ptr != head.data() + head.size() || count < 0) {
    return AtLine(table.path, 1, "expected the number of pictures");
  }
  NF_ASSIGN_OR_RETURN(const std::string_view names, lines.Next());
  for (const std::string_view name : Words(names)) table.columns.emplace_back(name);
  if (table.columns.empty() || table.columns.size() > CsvReader::kMostColumns) {
    return AtLine(table.path, 2,
                  fmt::format("{} attributes; expected 1 to {}", table.columns.size(),
                              CsvReader::kMostColumns));
  }
  NF_RETURN_IF_ERROR(CheckColumnNames(table.path, 2, table.columns));
  while (!lines.at_end()) {
    NF_ASSIGN_OR_RETURN(const std::string_view line, lines.Next());
    NF_ASSIGN_OR_RETURN(TableRow row,
                        CelebaRow(table.path, lines.number(), line, table.columns.size()));
    const auto part = parts.find(std::string(FileName(row.file)));
    if (part == parts.end()) {
      return AtLine(table.path, lines.number(),
                    fmt::format("{} is not in {}", FileName(row.file), files.partition_path));
    }
    row.part = part->second;
    table.rows.push_back(std::move(row));
  }
  if (static_cast<int64_t>(table.rows.size()) != count) {
    return AtLine(table.path, 1,
                  fmt::format("{} pictures said; {} lines follow", count, table.rows.size()));
  }
  return table;
}

absl::StatusOr<ImageTable> TableOfUtkNames(const std::string& folder,
                                           const std::vector<std::string>& paths) {
  ImageTable table = {.path = folder, .columns = {"age", "gender", "race"}};
  for (const std::string& path : paths) {
    const std::string_view name = FileName(path);
    std::vector<std::string> parts(1);
    for (const char c : name.substr(0, name.find('.'))) {
      if (c == '_') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    if (parts.size() != 4 || !IsNumber(parts[0], 150) || !IsNumber(parts[1], 1) ||
        !IsNumber(parts[2], 4)) {
      return InvalidInput(
          fmt::format("{}/{}: expected AGE_GENDER_RACE_DATE.jpg, with 0 to 150, 0 "
                      "or 1, and 0 to 4",
                      folder, path));
    }
    parts.pop_back();
    Sha256 hash;
    const bool test = hash.Update(name).Digest()[0] < 51;
    table.rows.push_back({path, test ? Subset::kTest : Subset::kTrain, std::move(parts), 0});
  }
  return table;
}

absl::StatusOr<ImageTable> TableOfFolders(const std::string& folder,
                                          const std::vector<std::string>& paths) {
  ImageTable table = {.path = folder, .columns = {"label"}};
  std::string_view test;  // The folder that tests are in.
  for (const std::string& path : paths) {
    const size_t first = path.find('/');
    const size_t second = first == std::string::npos ? first : path.find('/', first + 1);
    const std::string_view top = std::string_view(path).substr(0, first);
    if (second == std::string::npos || (top != "train" && top != "test" && top != "val")) {
      return InvalidInput(
          fmt::format("{}/{}: expected train/CLASS/FILE, test/CLASS/FILE or "
                      "val/CLASS/FILE",
                      folder, path));
    }
    if (top != "train" && !test.empty() && top != test) {
      return InvalidInput(fmt::format("{}: both test and val; expected one of them", folder));
    }
    if (top != "train") test = top;
    table.rows.push_back({path,
                          top == "train" ? Subset::kTrain : Subset::kTest,
                          {path.substr(first + 1, second - first - 1)},
                          0});
  }
  return table;
}

}  // namespace noisefloor::trainer
