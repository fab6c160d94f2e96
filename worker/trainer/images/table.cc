#include "worker/trainer/images/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "common/files/sha256.h"
#include "worker/trainer/images/image_tree.h"

namespace noisefloor::trainer {

namespace {

absl::Status At(const std::string& path, int64_t line, std::string_view what) {
  return InvalidInput(fmt::format("{}:{}: {}", path, line, what));
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Lines of a text; each is checked for length and encoding before it is given.
class Lines {
 public:
  Lines(std::string path, std::string_view text) : path_(std::move(path)), rest_(text) {}

  int64_t number() const { return number_; }
  bool at_end() const { return rest_.empty(); }
  absl::StatusOr<std::string_view> Next() {
    ++number_;
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > kMostLineBytes) {
      return At(path_, number_,
                fmt::format("{} bytes; expected at most {}", line.size(), kMostLineBytes));
    }
    if (!IsUtf8(line)) return At(path_, number_, "not UTF-8");
    if (line.find('\0') != std::string_view::npos) return At(path_, number_, "a byte 0");
    return line;
  }

 private:
  const std::string path_;
  std::string_view rest_;
  int64_t number_ = 0;
};

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
  if (cell.size() <= kMostCellBytes) return std::nullopt;
  return fmt::format("a cell of {} bytes; expected at most {}", cell.size(), kMostCellBytes);
}

absl::StatusOr<std::vector<std::string>> CellsOf(const std::string& path, int64_t number,
                                                 std::string_view line) {
  if (line.empty()) return At(path, number, "an empty line");
  std::vector<std::string> cells;
  for (;;) {
    if (cells.size() == kMostColumns) {
      return At(path, number, fmt::format("more than {} columns", kMostColumns));
    }
    const auto wrong = TakeCell(line, cells.emplace_back());
    if (wrong) return At(path, number, *wrong);
    if (line.empty()) return cells;
    line.remove_prefix(1);
  }
}

absl::StatusOr<Subset> PartOf(std::string_view text) {
  if (text == "train") return Subset::kTrain;
  if (text == "test") return Subset::kTest;
  if (text == "unused") return Subset::kUnused;
  return InvalidInput(fmt::format("split '{}'; expected train, test or unused", text));
}

absl::Status CheckNames(const std::string& path, int64_t line,
                        const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) return At(path, line, fmt::format("column {} has no name", i + 1));
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      return At(path, line, fmt::format("column {} is there twice", names[i]));
    }
  }
  return absl::OkStatus();
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
  Lines lines(files.partition_path, files.partition);
  while (!lines.at_end()) {
    NF_ASSIGN_OR_RETURN(const std::string_view line, lines.Next());
    const auto words = Words(line);
    if (words.size() != 2 || words[1].size() != 1 || words[1][0] < '0' || words[1][0] > '2') {
      return At(files.partition_path, lines.number(), "expected a file and 0, 1 or 2");
    }
    const Subset part = words[1] == "0"   ? Subset::kTrain
                        : words[1] == "2" ? Subset::kTest
                                          : Subset::kUnused;
    if (!parts.emplace(words[0], part).second) {
      return At(files.partition_path, lines.number(), fmt::format("{} is there twice", words[0]));
    }
  }
  return parts;
}

absl::StatusOr<TableRow> CelebaRow(const std::string& path, int64_t number, std::string_view line,
                                   size_t attributes) {
  const auto words = Words(line);
  if (words.size() != attributes + 1) {
    return At(
        path, number,
        fmt::format("{} values; expected a file and {} attributes", words.size(), attributes));
  }
  TableRow row = {.file = fmt::format("img_align_celeba/{}", words[0]), .line = number};
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] != "1" && words[i] != "-1") {
      return At(path, number, fmt::format("attribute {} is '{}'; expected 1 or -1", i, words[i]));
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
  if (text.empty()) return At(path, 1, "an empty file; expected a line of column names");
  Lines lines(path, text);
  NF_ASSIGN_OR_RETURN(const std::string_view head, lines.Next());
  if (head.starts_with("\xef\xbb\xbf")) return At(path, 1, "it begins with a BOM; expected none");
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> names, CellsOf(path, 1, head));
  NF_RETURN_IF_ERROR(CheckNames(path, 1, names));
  const auto place = [&](std::string_view name) {
    return static_cast<size_t>(std::ranges::find(names, name) - names.begin());
  };
  const size_t file = place("file"), split = place("split");
  for (const auto& [name, at] : {std::pair("file", file), std::pair("split", split)}) {
    if (at < names.size()) continue;
    return At(path, 1, fmt::format("no column {}; there are {}", name, Listed(names)));
  }
  ImageTable table;
  table.path = path;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i != file && i != split) table.columns.push_back(names[i]);
  }
  while (!lines.at_end()) {
    NF_ASSIGN_OR_RETURN(const std::string_view line, lines.Next());
    NF_ASSIGN_OR_RETURN(std::vector<std::string> cells, CellsOf(path, lines.number(), line));
    if (cells.size() != names.size()) {
      return At(path, lines.number(),
                fmt::format("{} cells; expected {}", cells.size(), names.size()));
    }
    TableRow row = {.file = cells[file], .line = lines.number()};
    const absl::Status fine = CheckPath(row.file);
    if (!fine.ok()) return At(path, lines.number(), fmt::format("file: {}", Message(fine)));
    const auto part = PartOf(cells[split]);
    if (!part.ok()) return At(path, lines.number(), Message(part.status()));
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
  Lines lines(files.attributes_path, files.attributes);
  NF_ASSIGN_OR_RETURN(const std::string_view head, lines.Next());
  int64_t count = -1;
  const auto parsed = std::from_chars(head.data(), head.data() + head.size(), count);
  if (parsed.ec != std::errc() || parsed.ptr != head.data() + head.size() || count < 0) {
    return At(table.path, 1, "expected the number of pictures");
  }
  NF_ASSIGN_OR_RETURN(const std::string_view names, lines.Next());
  for (const std::string_view name : Words(names)) table.columns.emplace_back(name);
  if (table.columns.empty() || table.columns.size() > kMostColumns) {
    return At(table.path, 2,
              fmt::format("{} attributes; expected 1 to {}", table.columns.size(), kMostColumns));
  }
  NF_RETURN_IF_ERROR(CheckNames(table.path, 2, table.columns));
  while (!lines.at_end()) {
    NF_ASSIGN_OR_RETURN(const std::string_view line, lines.Next());
    NF_ASSIGN_OR_RETURN(TableRow row,
                        CelebaRow(table.path, lines.number(), line, table.columns.size()));
    const auto part = parts.find(std::string(FileName(row.file)));
    if (part == parts.end()) {
      return At(table.path, lines.number(),
                fmt::format("{} is not in {}", FileName(row.file), files.partition_path));
    }
    row.part = part->second;
    table.rows.push_back(std::move(row));
  }
  if (static_cast<int64_t>(table.rows.size()) != count) {
    return At(table.path, 1,
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
